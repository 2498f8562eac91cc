/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * access.bpf.h - stage 6: may this request touch that word? Only for a request with the expected PSN,
 * as only that may draw a fatal NAK. Order as in rxe: operation, QP access, rkey, PD, MR access, bounds,
 * alignment.
 */
#ifndef XATOMIC_BPF_ACCESS_H
#define XATOMIC_BPF_ACCESS_H

#include "maps.bpf.h"
#include "packet.bpf.h"

#define WORD_LEN 8

static __always_inline enum xa_reason check_mr(const struct xa_mr *mr, const struct packet *p,
					       __u64 va)
{
	__u64 offset = va - mr->iova;

	if (mr->pdn != p->qp->pdn)
		return XA_REASON_pd;
	if (!(mr->access & XA_ACCESS_ATOMIC))
		return XA_REASON_mr_access;
	/* Subtractions, since iova + length may be 2^64. */
	if (va < mr->iova || mr->length < WORD_LEN || offset > mr->length - WORD_LEN)
		return XA_REASON_bounds;
	if (va % WORD_LEN)
		return XA_REASON_alignment;
	return GO_ON;
}

/*
 * Finds the word of an atomic. The MR's own map is taken out of mr_words before mrs is cleared, so one
 * without words is already gone; rcu keeps the words alive until this packet is done.
 */
static __always_inline enum xa_reason find_word(const struct packet *p, __u64 **word)
{
	__u32 rkey = load_be32(&atmeth(p)->rkey), slot = rkey >> 8, index;
	__u64 va = load_be64(&atmeth(p)->va);
	enum xa_reason reason;
	struct xa_mr *mr;
	void *words;

	mr = bpf_map_lookup_elem(&mrs, &slot);
	if (!mr || mr->state != XA_MR_VALID || mr->rkey != rkey)
		return XA_REASON_rkey;
	words = bpf_map_lookup_elem(&mr_words, &slot);
	if (!words)
		return XA_REASON_rkey;
	reason = check_mr(mr, p, va);
	if (reason != GO_ON)
		return reason;
	index = (va - mr->iova) / WORD_LEN;
	*word = bpf_map_lookup_elem(words, &index);
	return *word ? GO_ON : XA_REASON_bounds;
}

static __always_inline enum xa_reason check_access(const struct packet *p, __u64 **word)
{
	if (!p->is_atomic)
		return XA_REASON_opcode;
	if (!(p->qp->access & XA_ACCESS_ATOMIC))
		return XA_REASON_qp_access;
	return find_word(p, word);
}

#endif
