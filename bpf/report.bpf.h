/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report.bpf.h - what people learn of a packet: one counter each, and an event when a QP falls into error.
 */
#ifndef XATOMIC_BPF_REPORT_H
#define XATOMIC_BPF_REPORT_H

#include "maps.bpf.h"
#include "packet.bpf.h"

static __always_inline void count(enum xa_class class, enum xa_reason reason)
{
	__u32 first = 0, index = class * XA_REASON_COUNT + reason;
	struct xa_stats *all = bpf_map_lookup_elem(&stats, &first);

	/* struct xa_stats is an array of counters with a name each. */
	if (all && index < sizeof(*all) / sizeof(__u64))
		((__u64 *)all)[index]++;
}

/*
 * IBA C9-222.1.1: an affiliated asynchronous error. The NAK that led to it is the QP's last one, as it takes no more
 * packets. A full ring loses the event, not the packet.
 */
static __always_inline void announce_error(const struct xa_qp *qp)
{
	struct xa_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	const struct xa_nak *nak = &qp->last_nak;

	if (!event)
		return;
	event->time_ns = bpf_ktime_get_ns();
	event->type = nak_syndrome(nak->reason) == XA_SYN_NAK_REM_ACCESS ? XA_EVENT_QP_ACCESS_ERR
									 : XA_EVENT_QP_REQ_ERR;
	event->reason = nak->reason;
	event->lqpn = qp->qpn;
	event->psn = nak->psn;
	event->va = nak->va;
	event->rkey = nak->rkey;
	event->opcode = nak->opcode;
	bpf_ringbuf_submit(event, 0);
}

#endif
