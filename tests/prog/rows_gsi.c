/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_gsi.c - packets for QP 1 while somebody takes them: whole and right ones get to him, no other.
 */
#include "row.h"

#define NOBODY "QPN 1 passes as long as nobody takes it"
#define OPCODE "the general service interface is a UD queue pair and takes SEND ONLY"
#define PKEY   "rxe pkey_match: 15 bits; a limited member may talk to a full one"
#define LENGTH "IBA 13.4.2: a management datagram is 256 bytes long, so it needs no pad"
#define ICRC   "IBA annex A17: ICRC over what routers leave alone"
#define ORDER  "what is wrong before the QPN is looked at is not for QP 1"
#define FREE   "what the QP or its peer is does not matter"
#define BODY   (XA_GSI_LEN - sizeof(struct xa_bth) - XA_ICRC_LEN)

/* scene_make_gsi() comes before the settings. */
#define GSI .prepare = scene_make_gsi

static const struct row rows[] = {
	{"datagram", NOBODY, R(gsi_agent), GSI},
	{"datagram, nobody", NOBODY, R(gsi), GSI, .before = {SET(has_agent, 0)}},
	{"atomic, nobody", NOBODY, R(gsi), .before = {SET(packet.qpn, 1)}},
	{"wrong ICRC, nobody", NOBODY, R(gsi), GSI,
	 .before = {SET(has_agent, 0), SET(packet.icrc_xor, 1)}},
	{"one tag", "tags stay in the frame", R(gsi_agent), GSI, .before = {SET(packet.vlans, 1)}},
	{"two tags", "tags stay in the frame", R(gsi_agent), GSI,
	 .before = {SET(packet.vlans, 2), SET(packet.tpid[0], 0x88a8)}},
	{"trailer", "what is behind the UDP payload is cut off", R(gsi_agent), GSI,
	 .before = {SET(packet.trailer, 9)}},
	{"source port, AckReq, SE, MigReq", FREE, R(gsi_agent), GSI,
	 .before = {SET(packet.sport, 0xffff), SET(packet.ackreq, 0x80), SET(packet.flags, 0xc0)}},
	{"FECN, BECN and all reserved bits", "IBA C9-6: ignored on receipt", R(gsi_agent), GSI,
	 .before = {SET(packet.resv8, 0xff), SET(packet.ackreq, 0x7f)}},
	{"TTL 1, ToS 0xff, UDP checksum", "not in the ICRC", R(gsi_agent), GSI,
	 .before = {SET(packet.ttl, 1), SET(packet.tos, 0xff), SET(packet.udp_csum, 0x1234)}},
	{"IPv4 checksum", "not in the ICRC", R(gsi_agent), ONLY_V4, scene_make_gsi,
	 .before = {SET(packet.ip_csum_xor, 1)}},
	{"flow label", "not in the ICRC", R(gsi_agent), ONLY_V6, scene_make_gsi,
	 .before = {SET(packet.flow, 0xfffff)}},
	{"identification and DF", ICRC, R(gsi_agent), ONLY_V4, scene_make_gsi,
	 .before = {SET(packet.id, 0xffff), SET(packet.frag, 0x4000)}},
	{"any PSN", FREE, R(gsi_agent), GSI, .before = {SET(packet.psn, 0xabcdef)}},
	{"other addresses", FREE, R(gsi_agent), GSI,
	 .before = {SET(packet.src[15], 0x99), SET(packet.dst[15], 0x98)}},
	{"with a QP of that number", FREE, R(gsi_agent), GSI, .before = {SET(qp.qpn, 1)}},

	{"UD SEND ONLY with immediate", OPCODE, R(transport), GSI,
	 .before = {SET(packet.opcode, 0x65)}},
	{"RC SEND ONLY", OPCODE, R(transport), GSI, .before = {SET(packet.opcode, 0x04)}},
	{"FETCH_ADD", OPCODE, R(transport), .before = {SET(has_agent, 1), SET(packet.qpn, 1)}},
	{"CNP", OPCODE, R(transport), GSI, .before = {SET(packet.opcode, XA_OP_CNP)}},
	{"UC SEND ONLY", OPCODE, R(transport), GSI, .before = {SET(packet.opcode, 0x24)}},
	{"P_Key 0x7fff, limited member", PKEY, R(gsi_agent), GSI,
	 .before = {SET(packet.pkey, 0x7fff)}},
	{"P_Key 0xfffe", PKEY, R(pkey), GSI, .before = {SET(packet.pkey, 0xfffe)}},
	{"P_Key 0x8000", PKEY, R(pkey), GSI, .before = {SET(packet.pkey, 0x8000)}},
	{"one byte short", LENGTH, R(length), GSI, .before = {SET(packet.body_len, BODY - 1)}},
	{"one byte long", LENGTH, R(length), GSI, .before = {SET(packet.body_len, BODY + 1)}},
	{"1024 bytes long", LENGTH, R(length), GSI, .before = {SET(packet.body_len, BODY + 1024)}},
	{"nothing but BTH", LENGTH, R(length), GSI, .before = {SET(packet.body_len, 0)}},
	{"PadCnt 1", LENGTH, R(length), GSI, .before = {SET(packet.flags, 0x10)}},
	{"PadCnt 2", LENGTH, R(length), GSI, .before = {SET(packet.flags, 0x20)}},
	{"ICRC, first bit", ICRC, R(icrc), GSI, .before = {SET(packet.icrc_xor, 1)}},
	{"ICRC, last bit", ICRC, R(icrc), GSI, .before = {SET(packet.icrc_xor, 0x80000000)}},
	{"TVer 1", ORDER, R(version), GSI, .before = {SET(packet.flags, 1)}},
	{"UDP length one long", ORDER, R(malformed), GSI, .before = {SET(packet.udp_len_add, 1)}},
	{"group MAC", ORDER, R(not_roce), GSI, .before = {SET(packet.dmac[0], 3)}},
	{"opcode before P_Key", "the first of two faults decides", R(transport), GSI,
	 .before = {SET(packet.opcode, 0x04), SET(packet.pkey, 0)}},
	{"P_Key before length", "the first of two faults decides", R(pkey), GSI,
	 .before = {SET(packet.pkey, 0), SET(packet.body_len, BODY + 4)}},
	{"length before ICRC", "the first of two faults decides", R(length), GSI,
	 .before = {SET(packet.body_len, BODY + 4), SET(packet.icrc_xor, 1)}},
};

TABLE(gsi_table, rows);
