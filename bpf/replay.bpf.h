/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * replay.bpf.h - stage 7: the results that a duplicate is answered from, so that it is never run again.
 *
 * A QP's window is one element of an LRU map and is written in place. When there are more busy QPs than
 * windows, an element can be recycled for another QP while a packet still holds a pointer to it, so a
 * slot names its QP and its guard tells a slot whose words come from two writers. What is lost then is
 * the ability to answer a duplicate, never the truth of an answer.
 */
#ifndef XATOMIC_BPF_REPLAY_H
#define XATOMIC_BPF_REPLAY_H

#include "maps.bpf.h"
#include "packet.bpf.h"

static const struct xa_window empty_window;

static __always_inline struct xa_saved *slot_of(struct xa_window *window, const struct packet *p)
{
	/* The depth is a power of two; the second mask is for the verifier. */
	return &window->saved[p->psn & (p->qp->depth - 1) & (XA_MAX_DEPTH - 1)];
}

/* Slot to save a new result in, NULL when none is to be had. */
static __always_inline struct xa_saved *slot_to_save(const struct packet *p)
{
	struct xa_window *window;
	__u32 qpn = p->qp->qpn;

	window = bpf_map_lookup_elem(&replay, &qpn);
	if (!window) {
		bpf_map_update_elem(&replay, &qpn, &empty_window, BPF_NOEXIST);
		window = bpf_map_lookup_elem(&replay, &qpn);
	}
	return window ? slot_of(window, p) : NULL;
}

static __always_inline void save(struct xa_saved *slot, const struct packet *p, __u64 original)
{
	slot->original = original;
	slot->guard = original ^ xa_replay_mix(p->qp->qpn, p->psn, p->opcode);
	slot->va = load_be64(&atmeth(p)->va);
	slot->swap_add = load_be64(&atmeth(p)->swap_add);
	slot->compare = load_be64(&atmeth(p)->compare);
	slot->rkey = load_be32(&atmeth(p)->rkey);
	slot->qpn = p->qp->qpn;
	slot->psn = p->psn;
	slot->opcode = p->opcode;
}

/* Does the slot hold the result of this PSN on this QP, whole? */
static __always_inline bool slot_is_of(const struct xa_saved *slot, const struct packet *p)
{
	return slot->qpn == p->qp->qpn && slot->psn == p->psn;
}

static __always_inline bool slot_is_whole(const struct xa_saved *slot, __u64 original)
{
	return slot->guard == (original ^ xa_replay_mix(slot->qpn, slot->psn, slot->opcode));
}

/*
 * A duplicate is answered only when it is the saved request in all that counts: a slot may be one wrap of
 * the PSN old. Requesters leave the compare field of a FETCH_ADD unwritten.
 */
static __always_inline bool same_request(const struct xa_saved *slot, const struct packet *p)
{
	return slot->opcode == p->opcode && slot->va == load_be64(&atmeth(p)->va) &&
	       slot->rkey == load_be32(&atmeth(p)->rkey) &&
	       slot->swap_add == load_be64(&atmeth(p)->swap_add) &&
	       (p->opcode == XA_OP_FETCH_ADD || slot->compare == load_be64(&atmeth(p)->compare));
}

static __always_inline enum xa_reason find_saved(const struct packet *p, __u64 *original)
{
	struct xa_window *window;
	struct xa_saved *slot;
	__u32 qpn = p->qp->qpn;

	if (!p->is_atomic)
		return XA_REASON_duplicate_lost;
	window = bpf_map_lookup_elem(&replay, &qpn);
	if (!window)
		return XA_REASON_duplicate_lost;
	slot = slot_of(window, p);
	*original = slot->original;
	if (!slot_is_of(slot, p) || !slot_is_whole(slot, *original))
		return XA_REASON_duplicate_lost;
	return same_request(slot, p) ? XA_REASON_replayed : XA_REASON_duplicate_differs;
}

#endif
