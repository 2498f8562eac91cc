/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_psn.c - expected, ahead, behind: the 24-bit circle, one sequence NAK, PSN and MSN in answers.
 */
#include "row.h"

#define CIRCLE   "rxe psn_compare: 2^23 - 1 PSNs are ahead, 2^23 behind"
#define SEQUENCE "rxe check_psn: one NAK 0x60 with the expected PSN"
#define ONCE     "rxe check_psn: silent until the expected PSN arrives"
#define ADVANCE  "rxe atomic_reply: expected PSN and MSN move on by one, modulo 2^24"
#define WINDOW   "unanswerable duplicates are dropped (rxe duplicate_request)"

static void duplicate(struct scene *s)
{
	scene_make_duplicate(s, 1);
}

static const struct row rows[] = {
	{"one ahead", SEQUENCE, R(sequence), .before = {SET(packet.psn, SCENE_PSN + 1)}},
	{"one ahead, CAS", SEQUENCE, R(sequence), .prepare = scene_make_cas,
	 .before = {SET(packet.psn, SCENE_PSN + 1)}},
	{"one ahead, SEND", SEQUENCE, R(sequence),
	 .before = {SET(packet.psn, SCENE_PSN + 1), SET(packet.opcode, XA_OP_SEND_ONLY)}},
	{"256 ahead", SEQUENCE, R(sequence), .before = {SET(packet.psn, SCENE_PSN + 256)}},
	{"farthest ahead", CIRCLE, R(sequence), .before = {SET(packet.psn, SCENE_PSN + 0x7fffff)}},
	{"2^23 away is behind", CIRCLE, R(duplicate_lost),
	 .before = {SET(packet.psn, SCENE_PSN + 0x800000)}},
	{"one less than 2^23 behind", CIRCLE, R(duplicate_lost),
	 .before = {SET(packet.psn, SCENE_PSN + 0x800001)}},
	{"one behind, never seen", WINDOW, R(duplicate_lost),
	 .before = {SET(packet.psn, SCENE_PSN - 1)}},
	{"one behind, SEND", WINDOW, R(duplicate_lost),
	 .before = {SET(packet.psn, SCENE_PSN - 1), SET(packet.opcode, XA_OP_SEND_ONLY)}},
	{"one behind, READ", WINDOW, R(duplicate_lost),
	 .before = {SET(packet.psn, SCENE_PSN - 1), SET(packet.opcode, XA_OP_READ_REQUEST)}},
	{"expected 0, got 0xffffff", CIRCLE, R(duplicate_lost),
	 .before = {SET(qp.ctl.epsn, 0), SET(packet.psn, 0xffffff)}},
	{"expected 0, got 1", CIRCLE, R(sequence),
	 .before = {SET(qp.ctl.epsn, 0), SET(packet.psn, 1)}},
	{"expected 0, got 0x7fffff", CIRCLE, R(sequence),
	 .before = {SET(qp.ctl.epsn, 0), SET(packet.psn, 0x7fffff)}},
	{"expected 0, got 0x800000", CIRCLE, R(duplicate_lost),
	 .before = {SET(qp.ctl.epsn, 0), SET(packet.psn, 0x800000)}},
	{"expected 0xffffff, got 0", CIRCLE, R(sequence),
	 .before = {SET(qp.ctl.epsn, 0xffffff), SET(packet.psn, 0)}},
	{"expected 0xffffff, got 0x7ffffe", CIRCLE, R(sequence),
	 .before = {SET(qp.ctl.epsn, 0xffffff), SET(packet.psn, 0x7ffffe)}},
	{"expected 0xffffff, got 0x7fffff", CIRCLE, R(duplicate_lost),
	 .before = {SET(qp.ctl.epsn, 0xffffff), SET(packet.psn, 0x7fffff)}},
	{"expected 0x800000, got 0", CIRCLE, R(duplicate_lost),
	 .before = {SET(qp.ctl.epsn, 0x800000), SET(packet.psn, 0)}},
	{"expected 0x7fffff, got 0xfffffe", CIRCLE, R(sequence),
	 .before = {SET(qp.ctl.epsn, 0x7fffff), SET(packet.psn, 0xfffffe)}},
	{"expected 0x7fffff, got 0xffffff", CIRCLE, R(duplicate_lost),
	 .before = {SET(qp.ctl.epsn, 0x7fffff), SET(packet.psn, 0xffffff)}},
	{"expected PSN 0xffffff wraps to 0", ADVANCE, R(executed),
	 .before = {SET(qp.ctl.epsn, 0xffffff), SET(packet.psn, 0xffffff)}},
	{"expected PSN 0", ADVANCE, R(executed),
	 .before = {SET(qp.ctl.epsn, 0), SET(packet.psn, 0)}},
	{"MSN 0xffffff wraps to 0", ADVANCE, R(executed), .before = {SET(qp.msn, 0xffffff)}},
	{"first MSN is 1", "IBA C9-148", R(executed), .before = {SET(qp.msn, 0)}},
	{"NAK carries the MSN as it is", "IBA C9-148", R(sequence),
	 .before = {SET(packet.psn, SCENE_PSN + 1), SET(qp.msn, 0xffffff)}},
	{"second one ahead", ONCE, R(ahead),
	 .before = {SET(packet.psn, SCENE_PSN + 2), SET(qp.ctl.nak_sent, 1)}},
	{"SEND ahead, NAK out", ONCE, R(ahead),
	 .before = {SET(packet.psn, SCENE_PSN + 2), SET(qp.ctl.nak_sent, 1),
		    SET(packet.opcode, XA_OP_SEND_ONLY)}},
	{"expected PSN arrives, NAK out", ONCE, R(executed), .before = {SET(qp.ctl.nak_sent, 1)}},
	{"duplicate answered while a NAK is out, which stays out", ONCE, R(replayed),
	 .prepare = duplicate, .before = {SET(qp.ctl.nak_sent, 1)}},
	{"lost duplicate while a NAK is out, which stays out", ONCE, R(duplicate_lost),
	 .before = {SET(qp.ctl.nak_sent, 1), SET(packet.psn, SCENE_PSN - 1)}},
	{"fatal fault at the expected PSN, NAK out", ONCE, R(rkey),
	 .before = {SET(qp.ctl.nak_sent, 1), SET(packet.rkey, 0)}},
	{"life of the QP is kept", "only the control plane counts lives", R(executed),
	 .before = {SET(qp.ctl.life, 0xff)}},
};

TABLE(psn_table, rows);
