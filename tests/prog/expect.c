/* SPDX-License-Identifier: BSD-2-Clause */
#include "expect.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <string.h>

static bool is_atomic(const struct packet *p)
{
	return p->opcode == XA_OP_CMP_SWAP || p->opcode == XA_OP_FETCH_ADD;
}

/* Packets are counted by operation from the moment that their QP is known. */
static enum xa_class class_of(const struct packet *p, enum xa_reason reason)
{
	if (p->qpn == XA_QPN_GSI)
		return XA_CLASS_OTHER;
	switch (reason) {
	case XA_REASON_not_roce:
	case XA_REASON_malformed:
	case XA_REASON_version:
	case XA_REASON_reserved_qpn:
	case XA_REASON_unknown_qp:
		return XA_CLASS_OTHER;
	default:
		if (!is_atomic(p))
			return XA_CLASS_OTHER;
		return p->opcode == XA_OP_CMP_SWAP ? XA_CLASS_CMP_SWAP : XA_CLASS_FETCH_ADD;
	}
}

static struct xa_saved *slot_of(struct scene *s)
{
	return &s->window.saved[s->packet.psn % s->qp.depth];
}

static void expect_execution(struct scene *s, struct outcome *out)
{
	const struct packet *p = &s->packet;
	uint64_t *word = &s->words[(p->va - s->mr.iova) / 8], original = *word;

	if (p->opcode == XA_OP_FETCH_ADD)
		*word += p->swap_add;
	else if (*word == p->compare)
		*word = p->swap_add;
	s->qp.ctl.epsn = xa_psn_add(s->qp.ctl.epsn, 1);
	s->qp.ctl.nak_sent = 0;
	s->qp.msn = (s->qp.msn + 1) & XA_PSN_MASK;
	if (!s->has_window)
		memset(&s->window, 0, sizeof(s->window));
	s->has_window = 1;
	saved_fill(slot_of(s), s->qp.qpn, p, original);
	out->answer.opcode = XA_OP_ATOMIC_ACKNOWLEDGE;
	out->answer.syndrome = XA_SYN_ACK_UNLIMITED;
	out->answer.original = original;
}

static void expect_replay(struct scene *s, struct outcome *out)
{
	s->qp.replayed++;
	out->answer.opcode = XA_OP_ATOMIC_ACKNOWLEDGE;
	out->answer.syndrome = XA_SYN_ACK_UNLIMITED;
	out->answer.original = slot_of(s)->original;
}

static void expect_nak(struct scene *s, struct outcome *out, uint8_t syndrome)
{
	const struct packet *p = &s->packet;

	out->answer.opcode = XA_OP_ACKNOWLEDGE;
	out->answer.syndrome = syndrome;
	s->qp.last_nak = (struct xa_nak){
		.va = is_atomic(p) ? p->va : 0,
		.rkey = is_atomic(p) ? p->rkey : 0,
		.psn = p->psn,
		.reason = out->reason,
		.opcode = p->opcode,
	};
}

static void expect_sequence_nak(struct scene *s, struct outcome *out)
{
	expect_nak(s, out, XA_SYN_NAK_SEQUENCE);
	out->answer.psn = s->qp.ctl.epsn;
	s->qp.ctl.nak_sent = 1;
	s->qp.sequence_naks++;
}

static void expect_fatal_nak(struct scene *s, struct outcome *out, uint8_t syndrome)
{
	bool is_access = syndrome == XA_SYN_NAK_REM_ACCESS;

	expect_nak(s, out, syndrome);
	s->qp.ctl.state = XA_QP_ERR;
	s->qp.ctl.nak_sent = 0;
	s->qp.fatal_naks++;
	out->has_event = true;
	out->event = (struct xa_event){
		.type = is_access ? XA_EVENT_QP_ACCESS_ERR : XA_EVENT_QP_REQ_ERR,
		.reason = out->reason,
		.lqpn = s->qp.qpn,
		.psn = s->packet.psn,
		.va = s->qp.last_nak.va,
		.rkey = s->qp.last_nak.rkey,
		.opcode = s->packet.opcode,
	};
}

/* What comes of a packet that has reached the PSN check. */
static void expect_request(struct scene *s, struct outcome *out)
{
	s->qp.requests++;
	switch (out->reason) {
	case XA_REASON_executed:
		expect_execution(s, out);
		break;
	case XA_REASON_replayed:
		expect_replay(s, out);
		break;
	case XA_REASON_sequence:
		expect_sequence_nak(s, out);
		break;
	case XA_REASON_opcode:
	case XA_REASON_qp_access:
	case XA_REASON_alignment:
		expect_fatal_nak(s, out, XA_SYN_NAK_INV_REQ);
		break;
	case XA_REASON_rkey:
	case XA_REASON_pd:
	case XA_REASON_mr_access:
	case XA_REASON_bounds:
		expect_fatal_nak(s, out, XA_SYN_NAK_REM_ACCESS);
		break;
	case XA_REASON_duplicate_differs:
	case XA_REASON_duplicate_lost:
		s->qp.duplicates_dropped++;
		break;
	default: /* ahead */
		break;
	}
	out->answer.msn = s->qp.msn;
}

static int verdict_of(enum xa_reason reason, enum xa_unknown_qp unknown_qp)
{
	enum { TX = XDP_TX, NAK = XDP_TX, PASS = XDP_PASS, DROP = XDP_DROP, CONFIG = -1 };
#define VERDICT(word, verdict, meaning) verdict,
	static const int verdicts[] = {XA_REASONS(VERDICT)};

	if (verdicts[reason] != CONFIG)
		return verdicts[reason];
	return unknown_qp == XA_UNKNOWN_QP_PASS ? XDP_PASS : XDP_DROP;
}

static bool reaches_psn_check(enum xa_reason reason)
{
	return verdict_of(reason, XA_UNKNOWN_QP_DROP) == XDP_TX || reason == XA_REASON_ahead ||
	       reason == XA_REASON_duplicate_differs || reason == XA_REASON_duplicate_lost;
}

void scene_expect(const struct scene *s, enum xa_reason reason, enum xa_unknown_qp unknown_qp,
		  struct scene *after, struct outcome *out)
{
	*after = *s;
	*out = (struct outcome){
		.reason = reason,
		.class = class_of(&s->packet, reason),
		.verdict = verdict_of(reason, unknown_qp),
		.answer = {.qpn = s->qp.rqpn, .psn = s->packet.psn},
	};
	if (reaches_psn_check(reason))
		expect_request(after, out);
}
