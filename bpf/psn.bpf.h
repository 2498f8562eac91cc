/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * psn.bpf.h - stage 5: new, duplicate or ahead? And what each does to the QP. Runs under the QP's lock;
 * p->ctl is what unlock_qp() will publish.
 */
#ifndef XATOMIC_BPF_PSN_H
#define XATOMIC_BPF_PSN_H

#include "access.bpf.h"
#include "execute.bpf.h"
#include "packet.bpf.h"
#include "replay.bpf.h"

static __always_inline enum xa_syndrome syndrome_of(enum xa_reason reason)
{
	switch (reason) {
	case XA_REASON_executed:
	case XA_REASON_replayed:
		return XA_SYN_ACK_UNLIMITED;
	case XA_REASON_sequence:
		return XA_SYN_NAK_SEQUENCE;
	case XA_REASON_opcode:
	case XA_REASON_qp_access:
	case XA_REASON_alignment:
		return XA_SYN_NAK_INV_REQ;
	default:
		return XA_SYN_NAK_REM_ACCESS;
	}
}

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
static __always_inline enum xa_reason ahead(struct packet *p, struct answer *a)
{
	if (p->ctl.nak_sent)
		return XA_REASON_ahead;
	p->ctl.nak_sent = 1;
	p->qp->sequence_naks++;
	remember_nak(p, XA_REASON_sequence);
	a->psn = p->ctl.epsn;
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
	p->ctl.state = XA_QP_ERR;
	p->qp->fatal_naks++;
	remember_nak(p, reason);
	return reason;
}

static __always_inline enum xa_reason expected(struct packet *p, struct answer *a)
{
	enum xa_reason reason;
	struct xa_saved *slot;
	__u64 *word;

	p->ctl.nak_sent = 0;
	reason = check_access(p, &word);
	if (reason != GO_ON)
		return refuse(p, reason);
	slot = slot_to_save(p);
	if (!slot)
		return XA_REASON_busy;
	a->original = execute(p, word);
	save(slot, p, a->original);
	p->ctl.epsn = xa_psn_add(p->ctl.epsn, 1);
	p->qp->msn = xa_psn_add(p->qp->msn, 1);
	return XA_REASON_executed;
}

static __always_inline enum xa_reason take_request(struct packet *p, struct answer *a)
{
	__s32 distance = xa_psn_diff(p->psn, p->ctl.epsn);
	enum xa_reason reason;

	p->qp->requests++;
	a->psn = p->psn;
	if (distance > 0)
		reason = ahead(p, a);
	else if (distance < 0)
		reason = duplicate(p, a);
	else
		reason = expected(p, a);
	a->msn = p->qp->msn;
	a->syndrome = syndrome_of(reason);
	return reason;
}

#endif
