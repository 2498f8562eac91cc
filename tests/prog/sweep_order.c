/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_order.c - two faults at once: the one that is checked first decides.
 */
#include "row.h"
#include "sweep.h"

static void of_another_rkey(struct scene *s)
{
	scene_make_duplicate(s, 1);
	s->window.saved[s->packet.psn % SCENE_DEPTH].rkey ^= 1;
}

/* In the order of the checks. Faults of the same member of a scene are not combined. */
static const struct row faults[] = {
	{"group MAC", "", R(not_roce), .before = {SET(packet.dmac[0], 3)}},
	{"EtherType", "", R(not_roce), .before = {SET(packet.ethertype, 0x0806)}},
	{"version", "", R(not_roce), .before = {SET(packet.version, 9)}},
	{"protocol", "", R(not_roce), .before = {SET(packet.protocol, 6)}},
	{"fragment", "", R(not_roce), ONLY_V4, .before = {SET(packet.frag, 0x2000)}},
	{"port", "", R(not_roce), .before = {SET(packet.dport, 53)}},
	{"UDP length", "", R(malformed), .before = {SET(packet.udp_len_add, 1)}},
	{"IP length", "", R(malformed), .before = {SET(packet.ip_len_add, 1)}},
	{"TVer", "", R(version), .before = {SET(packet.flags, 1)}},
	{"QPN 1", "", R(gsi), .before = {SET(packet.qpn, 1)}},
	{"QPN 0", "", R(reserved_qpn), .before = {SET(packet.qpn, 0)}},
	{"other generation", "", R(unknown_qp), .before = {SET(qp.qpn, SCENE_QPN + SCENE_QPS)}},
	{"QP in RESET", "", R(unknown_qp), .before = {SET(qp.ctl.state, XA_QP_RESET)}},
	{"destination", "", R(foreign), .before = {SET(packet.dst[15], 0x77)}},
	{"CNP", "", R(cnp), .before = {SET(packet.opcode, XA_OP_CNP)}},
	{"response", "", R(response), .before = {SET(packet.opcode, XA_OP_ACKNOWLEDGE)}},
	{"transport", "", R(transport), .before = {SET(packet.opcode, 0x34)}},
	{"QP in error", "", R(qp_state), .before = {SET(qp.ctl.state, XA_QP_ERR)}},
	{"source", "", R(peer), .before = {SET(packet.src[15], 0x77)}},
	{"P_Key", "", R(pkey), .before = {SET(packet.pkey, 0xfffe)}},
	{"pad", "", R(length),
	 .before = {SET(packet.flags, 0x10), SET(packet.opcode, XA_OP_FETCH_ADD)}},
	{"length", "", R(length),
	 .before = {SET(packet.body_len, 29), SET(packet.opcode, XA_OP_FETCH_ADD)}},
	{"ICRC", "", R(icrc), .before = {SET(packet.icrc_xor, 1)}},
	{"lock", "", R(busy), .before = {SET(qp.ctl.lock, 1)}},
	{"ahead", "", R(sequence), .before = {SET(packet.psn, SCENE_PSN + 1)}},
	{"ahead again", "", R(ahead),
	 .before = {SET(packet.psn, SCENE_PSN + 1), SET(qp.ctl.nak_sent, 1)}},
	{"behind", "", R(duplicate_lost), .before = {SET(packet.psn, SCENE_PSN - 2)}},
	{"behind and not the same", "", R(duplicate_differs), BOTH, of_another_rkey,
	 .before = {SET(packet.psn, SCENE_PSN - 1), SET(packet.opcode, XA_OP_FETCH_ADD)}},
	{"SEND", "", R(opcode), .before = {SET(packet.opcode, XA_OP_SEND_ONLY)}},
	{"QP access", "", R(qp_access), .before = {SET(qp.access, 6)}},
	{"rkey", "", R(rkey), .before = {SET(packet.rkey, SCENE_RKEY ^ 2)}},
	{"region freed", "", R(rkey), .before = {SET(mr.state, XA_MR_FREE)}},
	{"region without words", "", R(rkey), .before = {SET(has_words, 0)}},
	{"domain", "", R(pd), .before = {SET(mr.pdn, 99)}},
	{"MR access", "", R(mr_access), .before = {SET(mr.access, 6)}},
	{"bounds", "", R(bounds), .before = {SET(mr.length, 16)}},
	{"alignment", "", R(alignment), .before = {SET(packet.va, SCENE_VA + 4)}},
};

enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

static bool share_a_member(const struct row *a, const struct row *b)
{
	for (int i = 0; i < SETS_MAX && a->before[i].size; i++)
		for (int j = 0; j < SETS_MAX && b->before[j].size; j++)
			if (a->before[i].offset == b->before[j].offset)
				return true;
	return false;
}

static bool both(struct rig *rig, const struct row *first, const struct row *second,
		 enum xa_family family)
{
	struct scene s;

	scene_init(&s, family);
	if (first->prepare)
		first->prepare(&s);
	if (second->prepare)
		second->prepare(&s);
	scene_apply(&s, first->before);
	scene_apply(&s, second->before);
	return scene_check(rig, &s, first->reason, NULL, NULL);
}

void sweep_order(struct rig *rig, enum xa_family family)
{
	int other = family == XA_IPV4 ? ONLY_V6 : ONLY_V4;
	struct sweep sweep = {0};

	for (int i = 0; i < FAULTS; i++) {
		for (int j = i + 1; j < FAULTS; j++) {
			const struct row *a = &faults[i], *b = &faults[j];

			if (share_a_member(a, b) || (int)a->family == other ||
			    (int)b->family == other)
				continue;
			if (!sweep_case(&sweep, both(rig, a, b, family), "%s, then %s", a->name,
					b->name))
				goto out;
		}
	}
out:
	sweep_done(&sweep, "the first of two faults decides, %s",
		   family == XA_IPV4 ? "IPv4" : "IPv6");
}
