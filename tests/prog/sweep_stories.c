/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_stories.c - what takes more than one packet: windows filling up, a gap and its repair, the end of
 * a QP.
 */
#include <linux/bpf.h>

#include "sweep.h"

#define STEP(word) scene_step(rig, &s, XA_REASON_##word)

static const char *name_of(enum xa_family family)
{
	return family == XA_IPV4 ? "IPv4" : "IPv6";
}

/* The n-th request of a story, alternating between the operations and walking over the words. */
static void set_request(struct scene *s, uint32_t first_psn, unsigned int n)
{
	struct packet *p = &s->packet;

	p->opcode = n % 2 ? XA_OP_CMP_SWAP : XA_OP_FETCH_ADD;
	p->psn = xa_psn_add(first_psn, n);
	p->va = SCENE_IOVA + 8 * (n % SCENE_WORDS);
	p->swap_add = 1000 + n;
	p->compare = n % 3 ? s->words[n % SCENE_WORDS] : 17;
}

/*
 * More atomics than the window holds, over the wrap of the PSN, then each of them again: the last `depth`
 * are answered with what they returned, the others are not, and nothing is executed.
 */
static void fill_window(struct rig *rig, enum xa_family family, unsigned int depth)
{
	struct packet sent[2 * XA_MAX_DEPTH + 8];
	unsigned int count = 2 * depth + 3;
	uint32_t first = XA_PSN_MASK - depth / 2;
	struct sweep sweep = {0};
	struct scene s;

	scene_init(&s, family);
	s.qp.depth = depth;
	s.qp.ctl.epsn = first;
	s.qp.msn = XA_PSN_MASK - 2;
	for (unsigned int n = 0; n < count; n++) {
		set_request(&s, first, n);
		sent[n] = s.packet;
		sweep_case(&sweep, STEP(executed), "request %u", n);
	}
	for (unsigned int n = 0; n < count; n++) {
		bool kept = n >= count - depth;

		s.packet = sent[n];
		if (!sweep_case(&sweep, kept ? STEP(replayed) : STEP(duplicate_lost),
				"request %u of %u again", n, count))
			break;
	}
	sweep_done(&sweep, "duplicates at every distance, depth %u, %s", depth, name_of(family));
}

static void gap(struct rig *rig, enum xa_family family)
{
	struct scene s;
	bool ok;

	scene_init(&s, family);
	ok = STEP(executed);
	s.packet.psn = SCENE_PSN + 3;
	ok &= STEP(sequence);
	s.packet.psn = SCENE_PSN + 2;
	ok &= STEP(ahead);
	s.packet.psn = SCENE_PSN + 3;
	ok &= STEP(ahead);
	s.packet.psn = SCENE_PSN;
	ok &= STEP(replayed);
	s.packet.psn = SCENE_PSN + 2;
	ok &= STEP(ahead);
	s.packet.psn = SCENE_PSN + 1;
	ok &= STEP(executed);
	s.packet.psn = SCENE_PSN + 3;
	ok &= STEP(sequence);
	s.packet.psn = SCENE_PSN + 2;
	ok &= STEP(executed);
	s.packet.psn = SCENE_PSN + 3;
	ok &= STEP(executed);
	tap_result(ok, "a gap: one NAK, silence, duplicates still answered, repair, %s",
		   name_of(family));
}

static void end_of_qp(struct rig *rig, enum xa_family family)
{
	struct scene s;
	bool ok;

	scene_init(&s, family);
	ok = STEP(executed);
	s.packet.psn++;
	s.packet.va = 0;
	ok &= STEP(bounds);
	ok &= STEP(qp_state);
	s.packet.va = SCENE_VA;
	ok &= STEP(qp_state);
	s.packet.psn++;
	ok &= STEP(qp_state);
	s.packet.psn = SCENE_PSN;
	ok &= STEP(qp_state);
	tap_result(ok, "a fatal NAK is the last word of a QP, %s", name_of(family));
}

/* The ring holds some 4000 events; nobody reads it here. */
static void full_ring(struct rig *rig)
{
	enum { RUNS = 6000 };
	uint8_t frame[PACKET_MAX], got[PACKET_MAX];
	unsigned int answered = 0;
	struct scene s;
	size_t len, got_len;

	scene_init(&s, XA_IPV4);
	s.packet.rkey = 0;
	len = packet_build(&s.packet, frame);
	scene_place(rig, &s);
	for (int i = 0; i < RUNS; i++) {
		responder_qp(&rig->responder, SCENE_QPN)->ctl = s.qp.ctl;
		answered += responder_run(&rig->responder, frame, len, got, &got_len) == XDP_TX;
	}
	tap_result(answered == RUNS && responder_events(&rig->responder) < RUNS,
		   "a full ring loses the event, not the NAK");
}

void sweep_stories(struct rig *rig, enum xa_family family)
{
	for (unsigned int depth = 1; depth <= XA_MAX_DEPTH; depth *= 2)
		fill_window(rig, family, depth);
	gap(rig, family);
	end_of_qp(rig, family);
	if (family == XA_IPV4)
		full_ring(rig);
}
