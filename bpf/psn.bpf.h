/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * psn.bpf.h - stage 5: new, duplicate or ahead? And what each does to the QP. Runs under the QP's lock;
 * p->ctl is what unlock_qp() will publish.
 */
#ifndef XATOMIC_BPF_PSN_H
#define XATOMIC_BPF_PSN_H

#include "access.bpf.h"
#include "ctl.bpf.h"
#include "execute.bpf.h"
#include "packet.bpf.h"
#include "replay.bpf.h"

static __always_inline void remember_nak(const struct packet *p, enum xa_reason reason)
{
	struct xa_nak *nak = &p->qp->last_nak;
	bool atomic = p->is_atomic;

	nak->va = atomic ? load_be64(&atmeth(p)->va) : 0;
	nak->rkey = atomic ? load_be32(&atmeth(p)->rkey) : 0;
	nak->psn = p->psn;
	nak->reason = reason;
	nak->opcode = p->opcode;
}

/* One sequence NAK, with the expected PSN, until that PSN arrives (rxe check_psn). */
static __always_inline enum xa_reason ahead(struct packet *p)
{
	if (p->ctl & CTL_NAK_SENT)
		return XA_REASON_ahead;
	p->ctl |= CTL_NAK_SENT;
	p->qp->sequence_naks++;
	remember_nak(p, XA_REASON_sequence);
	return XA_REASON_sequence;
}

/* Changes neither PSN, MSN nor a pending sequence NAK (spec: 3.5 and 4; rxe duplicate_request). */
static __always_inline enum xa_reason duplicate(struct packet *p, struct answer *a)
{
	enum xa_reason reason = find_saved(p, &a->original);

	if (reason == XA_REASON_replayed)
		p->qp->replayed++;
	else
		p->qp->duplicates_dropped++;
	return reason;
}

/* The refused request is not counted in the MSN and does not advance the PSN. */
static __always_inline enum xa_reason refuse(struct packet *p, enum xa_reason reason)
{
	p->ctl = with_state(p->ctl, XA_QP_ERR);
	p->qp->fatal_naks++;
	remember_nak(p, reason);
	return reason;
}

static __always_inline enum xa_reason expected(struct packet *p, struct answer *a)
{
	enum xa_reason reason;
	struct xa_saved *slot;
	__u64 *word;

	p->ctl &= ~CTL_NAK_SENT;
	reason = check_access(p, &word);
	if (reason != GO_ON)
		return refuse(p, reason);
	slot = slot_to_save(p);
	if (!slot)
		return XA_REASON_busy;
	a->original = execute(p, word);
	save(slot, p, a->original);
	p->ctl = with_next_psn(p->ctl);
	a->msn = xa_psn_add(a->msn, 1);
	p->qp->msn = a->msn;
	return XA_REASON_executed;
}

static __always_inline enum xa_reason take_request(struct packet *p, struct answer *a)
{
	__s32 distance = xa_psn_diff(p->psn, expected_psn(p->ctl));

	p->qp->requests++;
	a->msn = p->qp->msn;
	if (distance > 0)
		return ahead(p);
	if (distance < 0)
		return duplicate(p, a);
	return expected(p, a);
}

#endif
