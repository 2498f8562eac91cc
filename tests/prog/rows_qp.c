/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_qp.c - whose packet it is and whether it may come in: QPN, addresses, transport, state, P_Key,
 * length, ICRC, lock. Nothing here leaves a mark but its counter.
 */
#include "row.h"

#define QPN_RULE "the QPN counts whole: index and generation"
#define RESERVED "IBA 3.5.3: QP 0 and 1 are the management's, 0xffffff is multicast"
#define FOREIGN  "a QPN of ours at another address is somebody else's"
#define TVER     "IBA 9.2.1: TVer other than 0 is dropped (rxe hdr_check)"
#define OPCODES  "a responder takes RC requests and nothing else"
#define STATE    "QP in error answers nothing (rxe_receiver drains)"
#define PEER     "rxe check_addr: source address is the QP's peer"
#define PKEY     "rxe pkey_match: 15 bits; a limited member may talk to a full one"
#define LENGTH   "atomics are 44 bytes long and have no pad"
#define ICRC     "IBA annex A17: ICRC over what routers leave alone"
#define IGNORED  "IBA C9-6: FECN, BECN and reserved bits are ignored on receipt"
#define LOCK     "a QP that stays locked is left alone after a bounded wait"

#define SRC_WORD(n) .before = {SET(packet.src[4 * (n) + 3], 0x99)}
#define DST_WORD(n) .before = {SET(packet.dst[4 * (n) + 3], 0x99)}

static const struct row rows[] = {
	{"TVer 1", TVER, R(version), .before = {SET(packet.flags, 0x01)}},
	{"TVer 2", TVER, R(version), .before = {SET(packet.flags, 0x02)}},
	{"TVer 4", TVER, R(version), .before = {SET(packet.flags, 0x04)}},
	{"TVer 8", TVER, R(version), .before = {SET(packet.flags, 0x08)}},

	{"QPN 0", RESERVED, R(reserved_qpn), .before = {SET(packet.qpn, 0)}},
	{"QPN 0 with a QP of that number", RESERVED, R(reserved_qpn),
	 .before = {SET(packet.qpn, 0), SET(qp.qpn, 0)}},
	{"QPN 1", RESERVED, R(gsi), .before = {SET(packet.qpn, 1)}},
	{"QPN 1 with a QP of that number", RESERVED, R(gsi),
	 .before = {SET(packet.qpn, 1), SET(qp.qpn, 1)}},
	{"QPN 1, UD SEND as the connection manager's", RESERVED, R(gsi),
	 .before = {SET(packet.qpn, 1), SET(packet.opcode, 0x64), SET(packet.body_len, 264)}},
	{"QPN 2 with a QP of that number", RESERVED, R(executed),
	 .before = {SET(packet.qpn, 2), SET(qp.qpn, 2)}},
	{"QPN 0xffffff", RESERVED, R(reserved_qpn), .before = {SET(packet.qpn, 0xffffff)}},
	{"QPN 0xffffff with a QP of that number", RESERVED, R(reserved_qpn),
	 .before = {SET(packet.qpn, 0xffffff), SET(qp.qpn, 0xffffff)}},
	{"QPN 0xfffffe with a QP of that number", RESERVED, R(executed),
	 .before = {SET(packet.qpn, 0xfffffe), SET(qp.qpn, 0xfffffe)}},
	{"QPN of an unused index", QPN_RULE, R(unknown_qp), .before = {SET(packet.qpn, 0x5a4c20)}},
	{"QPN of an unused index, generation 0", QPN_RULE, R(unknown_qp),
	 .before = {SET(packet.qpn, 0x20)}},
	{"QPN of the next generation", QPN_RULE, R(unknown_qp),
	 .before = {SET(packet.qpn, SCENE_QPN + SCENE_QPS)}},
	{"QPN of the generation before", QPN_RULE, R(unknown_qp),
	 .before = {SET(packet.qpn, SCENE_QPN - SCENE_QPS)}},
	{"QPN with another top bit", QPN_RULE, R(unknown_qp),
	 .before = {SET(packet.qpn, SCENE_QPN ^ 0x800000)}},
	{"QPN without its generation", QPN_RULE, R(unknown_qp),
	 .before = {SET(packet.qpn, SCENE_QPN % SCENE_QPS)}},
	{"QP in RESET", "a QP in RESET is nobody's", R(unknown_qp),
	 .before = {SET(qp.ctl.state, XA_QP_RESET)}},
	{"FECN, BECN and all reserved bits", IGNORED, R(executed),
	 .before = {SET(packet.resv8, 0xff)}},

	{"destination address, last byte", FOREIGN, R(foreign), DST_WORD(3)},
	{"destination address, first byte of IPv4", FOREIGN, R(foreign), ONLY_V4,
	 .before = {SET(packet.dst[12], 0x99)}},
	{"destination address, first word", FOREIGN, R(foreign), ONLY_V6, DST_WORD(0)},
	{"destination address, second word", FOREIGN, R(foreign), ONLY_V6, DST_WORD(1)},
	{"destination address, third word", FOREIGN, R(foreign), ONLY_V6, DST_WORD(2)},

	{"congestion notification", OPCODES, R(cnp), .before = {SET(packet.opcode, XA_OP_CNP)}},
	{"congestion notification as ConnectX sends it", OPCODES, R(cnp),
	 .before = {SET(packet.opcode, XA_OP_CNP), SET(packet.body_len, 16)}},
	{"READ RESPONSE FIRST", OPCODES, R(response),
	 .before = {SET(packet.opcode, XA_OP_READ_RESPONSE_FIRST)}},
	{"ATOMIC ACKNOWLEDGE", OPCODES, R(response),
	 .before = {SET(packet.opcode, XA_OP_ATOMIC_ACKNOWLEDGE), SET(packet.body_len, 12)}},
	{"UC", OPCODES, R(transport), .before = {SET(packet.opcode, 0x34)}},
	{"RD FETCH_ADD", OPCODES, R(transport), .before = {SET(packet.opcode, 0x54)}},
	{"UD", OPCODES, R(transport), .before = {SET(packet.opcode, 0x64)}},
	{"XRC FETCH_ADD", OPCODES, R(transport), .before = {SET(packet.opcode, 0xb4)}},
	{"XRC COMPARE_SWAP", OPCODES, R(transport), .before = {SET(packet.opcode, 0xb3)}},

	{"QP in error", STATE, R(qp_state), .before = {SET(qp.ctl.state, XA_QP_ERR)}},
	{"QP in error, PSN ahead", STATE, R(qp_state),
	 .before = {SET(qp.ctl.state, XA_QP_ERR), SET(packet.psn, SCENE_PSN + 1)}},
	{"QP in a state that is none", STATE, R(qp_state), .before = {SET(qp.ctl.state, 9)}},
	{"source address, last byte", PEER, R(peer), SRC_WORD(3)},
	{"source address, first byte of IPv4", PEER, R(peer), ONLY_V4,
	 .before = {SET(packet.src[12], 0x99)}},
	{"source address, first word", PEER, R(peer), ONLY_V6, SRC_WORD(0)},
	{"source address, second word", PEER, R(peer), ONLY_V6, SRC_WORD(1)},
	{"source address, third word", PEER, R(peer), ONLY_V6, SRC_WORD(2)},
	{"P_Key 0x7fff, limited member", PKEY, R(executed), .before = {SET(packet.pkey, 0x7fff)}},
	{"P_Key 0xfffe", PKEY, R(pkey), .before = {SET(packet.pkey, 0xfffe)}},
	{"P_Key 0xbfff", PKEY, R(pkey), .before = {SET(packet.pkey, 0xbfff)}},
	{"P_Key 0x1234", PKEY, R(pkey), .before = {SET(packet.pkey, 0x1234)}},
	{"P_Key 0", PKEY, R(pkey), .before = {SET(packet.pkey, 0)}},
	{"P_Key 0x8000", PKEY, R(pkey), .before = {SET(packet.pkey, 0x8000)}},

	{"PadCnt 1", LENGTH, R(length), .before = {SET(packet.flags, 0x10)}},
	{"PadCnt 2", LENGTH, R(length), .before = {SET(packet.flags, 0x20)}},
	{"PadCnt 3", LENGTH, R(length), .before = {SET(packet.flags, 0x30)}},
	{"CAS with PadCnt 1", LENGTH, R(length), .prepare = scene_make_cas,
	 .before = {SET(packet.flags, 0x10)}},
	{"four bytes short", LENGTH, R(length), .before = {SET(packet.body_len, 24)}},
	{"one byte short", LENGTH, R(length), .before = {SET(packet.body_len, 27)}},
	{"one byte long", LENGTH, R(length), .before = {SET(packet.body_len, 29)}},
	{"eight bytes long", LENGTH, R(length), .before = {SET(packet.body_len, 36)}},
	{"256 bytes long", LENGTH, R(length), .before = {SET(packet.body_len, 28 + 256)}},
	{"CAS one byte long", LENGTH, R(length), .prepare = scene_make_cas,
	 .before = {SET(packet.body_len, 29)}},
	{"ICRC, first bit", ICRC, R(icrc), .before = {SET(packet.icrc_xor, 1)}},
	{"ICRC, last bit", ICRC, R(icrc), .before = {SET(packet.icrc_xor, 0x80000000)}},
	{"ICRC inverted", ICRC, R(icrc), .before = {SET(packet.icrc_xor, 0xffffffff)}},
	{"CAS with wrong ICRC", ICRC, R(icrc), .prepare = scene_make_cas,
	 .before = {SET(packet.icrc_xor, 0x100)}},
	{"SEND with wrong ICRC", ICRC, R(icrc),
	 .before = {SET(packet.opcode, XA_OP_SEND_ONLY), SET(packet.icrc_xor, 0x10000)}},
	{"locked QP", LOCK, R(busy), .before = {SET(qp.ctl.lock, 1)}},
	{"locked QP, PSN ahead", LOCK, R(busy),
	 .before = {SET(qp.ctl.lock, 1), SET(packet.psn, SCENE_PSN + 1)}},
	{"locked QP, CAS", LOCK, R(busy), .prepare = scene_make_cas,
	 .before = {SET(qp.ctl.lock, 1)}},
};

TABLE(qp_table, rows);
