/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_reply.c - what a reply takes over from its request and what it makes anew.
 */
#include "row.h"

#include <string.h>

#define TTL  "hop count is fresh: 64"
#define TOS  "DSCP is kept; congestion experienced (CE) is cleared, it was the request's"
#define ID   "identification and DF stay: ICRC covers them and any value is good"
#define CSUM "RFC 1071: carries are added until there is none"
#define FLOW "flow label stays, as the source port does (ECMP)"
#define QPN  "DestQP is the requester's QPN, known only from the connection"

static void fadd_again(struct scene *s)
{
	scene_make_duplicate(s, 3);
}

/* The header's words add up to so much that the sum carries in every fold, given the right identification. */
static void make_heavy(struct scene *s)
{
	s->packet.src[15] = 254;
	s->packet.dst[15] = 253;
	memcpy(s->qp.peer, s->packet.src, sizeof(s->qp.peer));
	memcpy(s->qp.local, s->packet.dst, sizeof(s->qp.local));
}

static const struct row rows[] = {
	{"TTL 1", TTL, R(executed), .before = {SET(packet.ttl, 1)}},
	{"TTL 0", TTL, R(executed), .before = {SET(packet.ttl, 0)}},
	{"TTL 255", TTL, R(executed), .before = {SET(packet.ttl, 255)}},
	{"DSCP 46", TOS, R(executed), .before = {SET(packet.tos, 0xb8)}},
	{"ECT(1)", TOS, R(executed), .before = {SET(packet.tos, 0x01)}},
	{"ECT(0)", TOS, R(executed), .before = {SET(packet.tos, 0x02)}},
	{"CE", TOS, R(executed), .before = {SET(packet.tos, 0x03)}},
	{"all of ToS", TOS, R(executed), .before = {SET(packet.tos, 0xff)}},
	{"DSCP 26 and ECT(0)", TOS, R(executed), .before = {SET(packet.tos, 0x6a)}},
	{"DSCP 26 and CE in a NAK", TOS, R(rkey),
	 .before = {SET(packet.tos, 0x6b), SET(packet.rkey, 0)}},
	{"CE in a sequence NAK", TOS, R(sequence),
	 .before = {SET(packet.tos, 0x03), SET(packet.psn, SCENE_PSN + 1)}},
	{"CE in a replay", TOS, R(replayed), .prepare = fadd_again,
	 .before = {SET(packet.tos, 0x57)}},
	{"DF clear", ID, R(executed), ONLY_V4, .before = {SET(packet.frag, 0)}},
	{"reserved flag set", ID, R(executed), ONLY_V4, .before = {SET(packet.frag, 0xc000)}},
	{"id 0", ID, R(executed), ONLY_V4, .before = {SET(packet.id, 0)}},
	{"id 0xffff", ID, R(executed), ONLY_V4, .before = {SET(packet.id, 0xffff)}},
	{"id 0xff00 in a NAK", ID, R(rkey), ONLY_V4,
	 .before = {SET(packet.id, 0xff00), SET(packet.rkey, 0)}},
	{"DF clear in a NAK", ID, R(rkey), ONLY_V4,
	 .before = {SET(packet.frag, 0), SET(packet.rkey, 0)}},
	{"checksum that carries in every fold", CSUM, R(executed), ONLY_V4, make_heavy,
	 .before = {SET(packet.id, 0x25bb)}},
	{"checksum of a NAK that carries in every fold", CSUM, R(rkey), ONLY_V4, make_heavy,
	 .before = {SET(packet.id, 0x25c3), SET(packet.rkey, 0)}},
	{"flow label", FLOW, R(executed), ONLY_V6, .before = {SET(packet.flow, 0x1face)}},
	{"flow label of all ones, all of the class", FLOW, R(executed), ONLY_V6,
	 .before = {SET(packet.flow, 0xfffff), SET(packet.tos, 0xff)}},
	{"source port in a NAK", FLOW, R(rkey),
	 .before = {SET(packet.sport, 0xffff), SET(packet.rkey, 0)}},
	{"requester's QPN 1", QPN, R(executed), .before = {SET(qp.rqpn, 1)}},
	{"requester's QPN 0xfffffe", QPN, R(executed), .before = {SET(qp.rqpn, 0xfffffe)}},
	{"MigReq in a NAK", "MigReq is copied", R(rkey),
	 .before = {SET(packet.flags, XA_BTH_MIGREQ), SET(packet.rkey, 0)}},
	{"SE and AckReq in a NAK", "SE and AckReq are 0 in every reply", R(rkey),
	 .before = {SET(packet.flags, XA_BTH_SE), SET(packet.ackreq, 0xff), SET(packet.rkey, 0)}},
	{"BECN in a NAK", "IBA C9-6: sent as 0", R(sequence),
	 .before = {SET(packet.resv8, 0xff), SET(packet.psn, SCENE_PSN + 1)}},
	{"limited P_Key in a NAK", "replies carry P_Key 0xffff", R(rkey),
	 .before = {SET(packet.pkey, 0x7fff), SET(packet.rkey, 0)}},
	{"UDP checksum in a NAK", "replies carry UDP checksum 0", R(rkey),
	 .before = {SET(packet.udp_csum, 0x1234), SET(packet.rkey, 0)}},
	{"two tags in a NAK", "tags stay", R(rkey),
	 .before = {SET(packet.vlans, 2), SET(packet.tpid[0], 0x88a8), SET(packet.rkey, 0)}},
	{"trailer in a NAK", "a trailer is cut off", R(rkey),
	 .before = {SET(packet.trailer, 33), SET(packet.rkey, 0)}},
	{"trailer in a sequence NAK to SEND", "a trailer is cut off", R(sequence),
	 .before = {SET(packet.trailer, 3), SET(packet.psn, SCENE_PSN + 9),
		    SET(packet.opcode, XA_OP_SEND_ONLY), SET(packet.body_len, 0)}},
};

TABLE(reply_table, rows);
