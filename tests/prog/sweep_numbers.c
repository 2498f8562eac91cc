/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_numbers.c - every bit of the numbers that decide: in the packet, with an ICRC that is right, and
 * in the state.
 */
#include <arpa/inet.h>

#include "sweep.h"

static const char *name_of(enum xa_family family)
{
	return family == XA_IPV4 ? "IPv4" : "IPv6";
}

typedef enum xa_reason (*change_bit)(struct scene *scene, unsigned int bit);

static enum xa_reason rkey_of_packet(struct scene *s, unsigned int bit)
{
	s->packet.rkey ^= 1u << bit;
	return XA_REASON_rkey;
}

static enum xa_reason rkey_of_mr(struct scene *s, unsigned int bit)
{
	s->mr.rkey ^= 1u << bit;
	return XA_REASON_rkey;
}

static enum xa_reason pdn_of_mr(struct scene *s, unsigned int bit)
{
	s->mr.pdn ^= 1u << bit;
	return XA_REASON_pd;
}

static enum xa_reason access_of_mr(struct scene *s, unsigned int bit)
{
	s->mr.access ^= 1u << bit;
	return s->mr.access & XA_ACCESS_ATOMIC ? XA_REASON_executed : XA_REASON_mr_access;
}

static enum xa_reason access_of_qp(struct scene *s, unsigned int bit)
{
	s->qp.access ^= 1u << bit;
	return s->qp.access & XA_ACCESS_ATOMIC ? XA_REASON_executed : XA_REASON_qp_access;
}

static enum xa_reason qpn_of_packet(struct scene *s, unsigned int bit)
{
	s->packet.qpn ^= 1u << bit;
	return XA_REASON_unknown_qp;
}

static enum xa_reason peer_of_qp(struct scene *s, unsigned int bit)
{
	unsigned int first = s->packet.family == XA_IPV4 ? XA_GID_V4_BYTE : 0;

	s->qp.peer[first + bit / 8] ^= 1u << bit % 8;
	return XA_REASON_peer;
}

static enum xa_reason local_of_qp(struct scene *s, unsigned int bit)
{
	unsigned int first = s->packet.family == XA_IPV4 ? XA_GID_V4_BYTE : 0;

	s->qp.local[first + bit / 8] ^= 1u << bit % 8;
	return XA_REASON_foreign;
}

static enum xa_reason pkey(struct scene *s, unsigned int bit)
{
	s->packet.pkey ^= 1u << bit;
	return bit == 15 ? XA_REASON_executed : XA_REASON_pkey;
}

static enum xa_reason va(struct scene *s, unsigned int bit)
{
	uint64_t offset;

	s->packet.va ^= 1ull << bit;
	offset = s->packet.va - SCENE_IOVA;
	if (s->packet.va < SCENE_IOVA || offset > SCENE_LENGTH - 8)
		return XA_REASON_bounds;
	return bit < 3 ? XA_REASON_alignment : XA_REASON_executed;
}

static enum xa_reason psn(struct scene *s, unsigned int bit)
{
	uint32_t ahead;

	s->packet.psn ^= 1u << bit;
	ahead = (s->packet.psn - SCENE_PSN) & XA_PSN_MASK;
	return ahead < 0x800000 ? XA_REASON_sequence : XA_REASON_duplicate_lost;
}

static enum xa_reason rqpn(struct scene *s, unsigned int bit)
{
	s->qp.rqpn ^= 1u << bit;
	return XA_REASON_executed;
}

static enum xa_reason msn(struct scene *s, unsigned int bit)
{
	s->qp.msn ^= 1u << bit;
	return XA_REASON_executed;
}

static enum xa_reason sport(struct scene *s, unsigned int bit)
{
	s->packet.sport ^= 1u << bit;
	return XA_REASON_executed;
}

static enum xa_reason addend(struct scene *s, unsigned int bit)
{
	s->packet.swap_add = 1ull << bit;
	return XA_REASON_executed;
}

static enum xa_reason compare(struct scene *s, unsigned int bit)
{
	scene_make_cas(s);
	s->packet.compare ^= 1ull << bit;
	return XA_REASON_executed;
}

static enum xa_reason addend_of_duplicate(struct scene *s, unsigned int bit)
{
	scene_make_duplicate(s, 1);
	s->packet.swap_add ^= 1ull << bit;
	return XA_REASON_duplicate_differs;
}

static enum xa_reason compare_of_duplicate_fadd(struct scene *s, unsigned int bit)
{
	scene_make_duplicate(s, 1);
	s->packet.compare ^= 1ull << bit;
	return XA_REASON_replayed;
}

static enum xa_reason compare_of_duplicate_cas(struct scene *s, unsigned int bit)
{
	scene_make_cas(s);
	scene_make_duplicate(s, 1);
	s->packet.compare ^= 1ull << bit;
	return XA_REASON_duplicate_differs;
}

static enum xa_reason va_of_duplicate(struct scene *s, unsigned int bit)
{
	scene_make_duplicate(s, 1);
	s->packet.va ^= 1ull << bit;
	return XA_REASON_duplicate_differs;
}

static enum xa_reason rkey_of_duplicate(struct scene *s, unsigned int bit)
{
	scene_make_duplicate(s, 1);
	s->packet.rkey ^= 1u << bit;
	return XA_REASON_duplicate_differs;
}

static struct xa_saved *saved_of(struct scene *s)
{
	scene_make_duplicate(s, 1);
	return &s->window.saved[s->packet.psn % SCENE_DEPTH];
}

static enum xa_reason saved_original(struct scene *s, unsigned int bit)
{
	saved_of(s)->original ^= 1ull << bit;
	return XA_REASON_duplicate_lost;
}

static enum xa_reason saved_guard(struct scene *s, unsigned int bit)
{
	saved_of(s)->guard ^= 1ull << bit;
	return XA_REASON_duplicate_lost;
}

static enum xa_reason saved_psn(struct scene *s, unsigned int bit)
{
	saved_of(s)->psn ^= 1u << bit;
	return XA_REASON_duplicate_lost;
}

static enum xa_reason saved_qpn(struct scene *s, unsigned int bit)
{
	saved_of(s)->qpn ^= 1u << bit;
	return XA_REASON_duplicate_lost;
}

static enum xa_reason saved_opcode(struct scene *s, unsigned int bit)
{
	saved_of(s)->opcode ^= 1u << bit;
	return bit < 8 ? XA_REASON_duplicate_lost : XA_REASON_duplicate_differs;
}

static const struct number {
	const char *name;
	change_bit change;
	unsigned int bits; /* 0: those of an address */
} numbers[] = {
	{"rkey of the packet", rkey_of_packet, 32},
	{"rkey of the region", rkey_of_mr, 32},
	{"domain of the region", pdn_of_mr, 32},
	{"access of the region", access_of_mr, 16},
	{"access of the QP", access_of_qp, 8},
	{"QPN of the packet", qpn_of_packet, 24},
	{"peer of the QP", peer_of_qp, 0},
	{"local address of the QP", local_of_qp, 0},
	{"P_Key", pkey, 16},
	{"address", va, 64},
	{"PSN", psn, 24},
	{"requester's QPN", rqpn, 24},
	{"MSN", msn, 24},
	{"source port", sport, 16},
	{"addend", addend, 64},
	{"compare value", compare, 64},
	{"addend of a duplicate", addend_of_duplicate, 64},
	{"compare field of a duplicate FETCH_ADD", compare_of_duplicate_fadd, 64},
	{"compare value of a duplicate CAS", compare_of_duplicate_cas, 64},
	{"address of a duplicate", va_of_duplicate, 64},
	{"rkey of a duplicate", rkey_of_duplicate, 32},
	{"saved original", saved_original, 64},
	{"saved guard", saved_guard, 64},
	{"saved PSN", saved_psn, 32},
	{"saved QPN", saved_qpn, 32},
	{"saved opcode", saved_opcode, 32},
};

void sweep_numbers(struct rig *rig, enum xa_family family)
{
	for (const struct number *n = numbers; n < numbers + sizeof(numbers) / sizeof(*n); n++) {
		unsigned int bits = n->bits ? n->bits : family == XA_IPV4 ? 32 : 128;
		struct sweep sweep = {0};

		for (unsigned int bit = 0; bit < bits; bit++) {
			enum xa_reason reason;
			struct scene s;

			scene_init(&s, family);
			reason = n->change(&s, bit);
			if (!sweep_case(&sweep, scene_check(rig, &s, reason, NULL, NULL),
					"bit %u, expected %s", bit, reason_name(reason)))
				break;
		}
		sweep_done(&sweep, "every bit of the %s, %s", n->name, name_of(family));
	}
}
