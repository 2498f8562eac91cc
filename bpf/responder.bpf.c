// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * responder.bpf.c - the responder's half of RDMA atomics in XDP: the pipeline.
 *
 * parse -> QP -> ICRC -> lock -> PSN -> access -> execute -> save -> unlock -> reply. Each stage has a
 * header of its own; the first that has an objection names the reason, which decides the verdict.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "gsi.bpf.h"
#include "icrc.bpf.h"
#include "lock.bpf.h"
#include "maps.bpf.h"
#include "packet.bpf.h"
#include "parse.bpf.h"
#include "psn.bpf.h"
#include "qp.bpf.h"
#include "reply.bpf.h"
#include "report.bpf.h"

/* In XA_REASONS come first the acknowledged ones, then the others that are answered, fatal ones last. */
static __always_inline bool is_acknowledged(enum xa_reason reason)
{
	return reason <= XA_REASON_replayed;
}

static __always_inline bool is_answered(enum xa_reason reason)
{
	return reason <= XA_REASON_alignment;
}

/* Of those that are answered. */
static __always_inline bool is_fatal(enum xa_reason reason)
{
	return reason > XA_REASON_sequence;
}

/* Everything that a packet must pass before it may change anything. */
static __always_inline enum xa_reason admit(struct xdp_md *ctx, struct packet *p)
{
	enum xa_reason reason;

	reason = parse(p, (void *)(long)ctx->data);
	if (reason != GO_ON)
		return reason;
	reason = match_qp(p);
	if (reason != GO_ON)
		return reason;
	return check_icrc(ctx, p);
}

static __always_inline enum xa_reason serve(struct packet *p, struct answer *a)
{
	enum xa_reason reason = lock_qp(p);

	if (reason != GO_ON)
		return reason;
	reason = take_request(p, a);
	unlock_qp(p);
	return reason;
}

/* What is not ours goes to the host's stack untouched. Out of line: keeps the fast path's registers free. */
static __noinline int turn_away(enum xa_class class, enum xa_reason reason)
{
	count(class, reason);
	switch (reason) {
	case XA_REASON_not_roce:
	case XA_REASON_gsi:
	case XA_REASON_foreign:
		return XDP_PASS;
	case XA_REASON_unknown_qp:
		return unknown_qp == XA_UNKNOWN_QP_PASS ? XDP_PASS : XDP_DROP;
	default:
		return XDP_DROP;
	}
}

/* Out of line for the same reason. */
static __noinline int send_nak(struct xdp_md *ctx, const struct packet *p, enum xa_reason reason,
			       __u32 msn)
{
	struct answer a = {.msn = msn};

	if (is_fatal(reason))
		announce_error(p->qp);
	count(p->class, reason);
	return reply_nak(ctx, p, &a, reason);
}

/* With a copy of what a NAK needs of the packet, so that the packet itself need not be in memory. */
static __always_inline int refuse_with_nak(struct xdp_md *ctx, const struct packet *p,
					   enum xa_reason reason, __u32 msn)
{
	struct packet copy = {
		.qp = p->qp,
		.ctl = p->ctl,
		.l2_len = p->l2_len,
		.varying_crc = p->varying_crc,
		.psn = p->psn,
		.family = p->family,
		.class = p->class,
		.bth_flags = p->bth_flags,
	};

	return send_nak(ctx, &copy, reason, msn);
}

SEC("xdp")
int xatomic_rx(struct xdp_md *ctx)
{
	struct packet p = {
		.data_end = (void *)(long)ctx->data_end,
		.class = XA_CLASS_OTHER,
	};
	struct answer a = {};
	enum xa_reason reason = admit(ctx, &p);

	if (reason != GO_ON) {
		if (reason == XA_REASON_gsi)
			reason = take_gsi(ctx, p.l2_len, p.family, p.roce_len);
		return turn_away(p.class, reason);
	}
	reason = serve(&p, &a);
	if (is_acknowledged(reason)) {
		count(p.class, reason);
		return reply_ack(ctx, &p, &a);
	}
	if (!is_answered(reason))
		return turn_away(p.class, reason);
	return refuse_with_nak(ctx, &p, reason, a.msn);
}

char _license[] SEC("license") = "Dual BSD/GPL";
