/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

__attribute__((format(printf, 2, 3))) static bool differ(struct harness *h, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(h->difference, sizeof(h->difference), format, args);
	va_end(args);
	return false;
}

static bool differ_frames(struct harness *h, const char *what, const uint8_t *expected,
			  size_t expected_len)
{
	size_t at = 0, room = sizeof(h->difference);
	char *text = h->difference;

	while (at < expected_len && at < h->reply.len && expected[at] == h->reply.frame[at])
		at++;
	text += snprintf(text, room,
			 "%s of %zu bytes, got %zu; first difference at byte %zu:\n#   "
			 "expected ",
			 what, expected_len, h->reply.len, at);
	for (size_t i = 0; i < expected_len && i < 128; i++)
		text += sprintf(text, "%02x", expected[i]);
	text += sprintf(text, "\n#   got      ");
	for (size_t i = 0; i < h->reply.len && i < 128; i++)
		text += sprintf(text, "%02x", h->reply.frame[i]);
	return false;
}

static bool compare_verdict(struct harness *h)
{
	static const uint32_t actions[] = {
		[MODEL_PASS] = XDP_PASS, [MODEL_DROP] = XDP_DROP, [MODEL_TX] = XDP_TX};
	static const char *const names[] = {"ABORTED", "DROP", "PASS", "TX", "REDIRECT"};
	uint32_t expected = actions[h->result.verdict];

	if (h->reply.action == expected)
		return true;
	return differ(h, "verdict: expected %s, got %s", names[expected],
		      h->reply.action < 5 ? names[h->reply.action] : "nonsense");
}

/* What is passed on must be as it came; of what is dropped nothing is left. */
static bool compare_frame(struct harness *h)
{
	const uint8_t *expected = h->result.reply;
	size_t len = h->result.reply_len;

	if (h->result.verdict == MODEL_DROP)
		return true;
	if (h->result.verdict == MODEL_PASS) {
		expected = h->step.frame;
		len = h->step.len;
	}
	if (h->reply.len == len && memcmp(h->reply.frame, expected, len) == 0)
		return true;
	return differ_frames(h, h->result.verdict == MODEL_TX ? "reply" : "passed frame", expected,
			     len);
}

static enum xa_event_type event_type(enum xa_reason reason)
{
	switch (reason) {
	case XA_REASON_opcode:
	case XA_REASON_qp_access:
	case XA_REASON_alignment:
		return XA_EVENT_QP_REQ_ERR;
	default:
		return XA_EVENT_QP_ACCESS_ERR;
	}
}

static bool compare_event(struct harness *h, bool has_event, const struct xa_event *event)
{
	const struct model_nak *nak;

	if (has_event != h->result.fatal)
		return differ(h, "event: expected %d, got %d", h->result.fatal, has_event);
	if (!has_event)
		return true;
	nak = &h->result.qp->last_nak;
	if (event->type == event_type(nak->reason) && event->reason == nak->reason &&
	    event->lqpn == h->result.qp->attr.qpn && event->psn == nak->psn &&
	    event->va == nak->va && event->rkey == nak->rkey && event->opcode == nak->opcode)
		return true;
	return differ(h,
		      "event: expected reason %u psn %#x va %#" PRIx64 " rkey %#x opcode %#x, got "
		      "type %u reason %u lqpn %#x psn %#x va %#llx rkey %#x opcode %#x",
		      nak->reason, nak->psn, nak->va, nak->rkey, nak->opcode, event->type,
		      event->reason, event->lqpn, event->psn, event->va, event->rkey,
		      event->opcode);
}

static bool compare_word(struct harness *h)
{
	for (unsigned slot = 0; h->result.word && slot < MODEL_MRS; slot++) {
		ptrdiff_t word = h->result.word - h->model.mrs[slot].words;
		uint64_t got;

		if (word < 0 || word >= MODEL_WORDS)
			continue;
		got = target_mr_words(h->target, slot)[word];
		if (got != *h->result.word)
			return differ(
				h, "word %td of MR slot %u: expected %#" PRIx64 ", got %#" PRIx64,
				word, slot, *h->result.word, got);
	}
	return true;
}

bool compare_packet(struct harness *h, bool has_event, const struct xa_event *event)
{
	if (!compare_verdict(h) || !compare_frame(h) || !compare_event(h, has_event, event) ||
	    !compare_word(h))
		return false;
	return !h->result.qp || compare_qp(h, h->result.qp - h->model.qps);
}

static void overlay_nak(struct xa_qp *qp, const struct model_nak *nak)
{
	qp->last_nak = (struct xa_nak){
		.va = nak->va,
		.rkey = nak->rkey,
		.psn = nak->psn,
		.reason = nak->reason,
		.opcode = nak->opcode,
	};
}

struct xa_qp expected_qp(const struct harness *h, unsigned slot)
{
	const struct model_qp *model = &h->model.qps[slot];
	struct xa_qp qp = h->control[h->gen.qp_index[slot]];

	if (!model->used)
		return qp;
	qp.ctl.epsn = model->epsn;
	qp.ctl.state = model->error ? XA_QP_ERR : XA_QP_RTR;
	qp.ctl.nak_sent = model->nak_sent;
	qp.msn = model->msn;
	qp.requests = model->requests;
	qp.replayed = model->replayed;
	qp.duplicates_dropped = model->duplicates_dropped;
	qp.sequence_naks = model->sequence_naks;
	qp.fatal_naks = model->fatal_naks;
	if (model->sequence_naks || model->fatal_naks)
		overlay_nak(&qp, &model->last_nak);
	return qp;
}

static int qp_text(char *text, size_t room, const struct xa_qp *qp)
{
	return snprintf(
		text, room,
		"qpn %#x epsn %#x state %u nak_sent %u lock %u msn %u requests %llu replayed "
		"%llu dropped %llu sequence %u fatal %u last_nak {reason %u psn %#x va %#llx "
		"rkey %#x opcode %#x}",
		qp->qpn, qp->ctl.epsn, qp->ctl.state, qp->ctl.nak_sent, qp->ctl.lock, qp->msn,
		qp->requests, qp->replayed, qp->duplicates_dropped, qp->sequence_naks,
		qp->fatal_naks, qp->last_nak.reason, qp->last_nak.psn, qp->last_nak.va,
		qp->last_nak.rkey, qp->last_nak.opcode);
}

bool compare_qp(struct harness *h, unsigned slot)
{
	const struct xa_qp *got = target_qp(h->target, h->gen.qp_index[slot]);
	struct xa_qp expected = expected_qp(h, slot);
	char texts[2][400];

	if (memcmp(&expected, got, sizeof(expected)) == 0)
		return true;
	qp_text(texts[0], sizeof(texts[0]), &expected);
	qp_text(texts[1], sizeof(texts[1]), got);
	return differ(h, "QP slot %u:\n#   expected %s\n#   got      %s", slot, texts[0], texts[1]);
}

static bool compare_saved(struct harness *h, const struct model_qp *qp,
			  const struct model_saved *saved)
{
	const struct xa_saved *got = &h->window.saved[saved->psn % qp->attr.depth];
	uint64_t guard = saved->original ^ xa_replay_mix(qp->attr.qpn, saved->psn, saved->opcode);
	bool compares = saved->opcode == XA_OP_CMP_SWAP;

	if (got->original == saved->original && got->guard == guard && got->va == saved->va &&
	    got->swap_add == saved->swap_add && got->rkey == saved->rkey &&
	    got->qpn == qp->attr.qpn && got->psn == saved->psn && got->opcode == saved->opcode &&
	    (!compares || got->compare == saved->compare))
		return true;
	return differ(h,
		      "saved atomic of QPN %#x PSN %#x: expected original %#" PRIx64
		      " opcode %#x, got QPN %#x PSN %#x original %#llx opcode %#x guard %s",
		      qp->attr.qpn, saved->psn, saved->original, saved->opcode, got->qpn, got->psn,
		      got->original, got->opcode, got->guard == guard ? "right" : "wrong");
}

bool compare_window(struct harness *h, unsigned slot)
{
	const struct model_qp *qp = &h->model.qps[slot];

	if (!qp->used || qp->saved_count == 0)
		return true;
	if (!target_window_get(h->target, qp->attr.qpn, &h->window))
		return differ(h, "QPN %#x has no replay window", qp->attr.qpn);
	for (unsigned i = 0; i < qp->saved_count; i++)
		if (!compare_saved(h, qp, &qp->saved[i]))
			return false;
	return true;
}

bool compare_stats(struct harness *h)
{
	static const char *const classes[] = {"cmp_swap", "fetch_add", "other"};
	static const char *const reasons[] = {
#define REASON_NAME(word, verdict, meaning) #word,
		XA_REASONS(REASON_NAME)};
	struct xa_stats stats;
	const uint64_t(*got)[XA_REASON_COUNT] = (const void *)&stats;

	target_stats(h->target, &stats);
	for (int kind = 0; kind < XA_CLASS_COUNT; kind++)
		for (int reason = 0; reason < XA_REASON_COUNT; reason++)
			if (got[kind][reason] != h->model.counters[kind][reason])
				return differ(h,
					      "counter %s.%s: expected %" PRIu64 ", got %" PRIu64,
					      classes[kind], reasons[reason],
					      h->model.counters[kind][reason], got[kind][reason]);
	return true;
}

bool compare_words(struct harness *h)
{
	for (unsigned slot = 0; slot < MODEL_MRS; slot++) {
		const struct model_mr *mr = &h->model.mrs[slot];
		const uint64_t *got = target_mr_words(h->target, slot);

		if (!mr->used || !mr->mapped || memcmp(got, mr->words, mr->attr.length) == 0)
			continue;
		for (size_t word = 0; word < mr->attr.length / 8; word++)
			if (got[word] != mr->words[word])
				return differ(h,
					      "word %zu of MR slot %u: expected %#" PRIx64
					      ", got %#" PRIx64,
					      word, slot, mr->words[word], got[word]);
	}
	return true;
}

/* The program never writes to `mrs`. */
bool compare_mrs(struct harness *h)
{
	for (unsigned slot = 0; slot < MODEL_MRS; slot++) {
		const struct model_mr *mr = &h->model.mrs[slot];
		struct xa_mr got;

		target_mr_get(h->target, slot, &got);
		if (got.rkey != mr->attr.rkey || got.iova != mr->attr.iova ||
		    got.length != mr->attr.length || got.pdn != mr->attr.pdn ||
		    got.access != mr->attr.access || (got.state == XA_MR_VALID) != mr->used)
			return differ(h, "MR slot %u has changed by itself", slot);
	}
	return true;
}

bool compare_waiting(struct harness *h)
{
	struct xa_gsi_packet packet;
	unsigned count = h->model.gsi_waiting;

	h->model.gsi_waiting = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!target_gsi(h->target, &packet))
			return differ(h, "%u packets wait for the agent, expected %u", i, count);
		if (packet.length != h->waiting[i].len || packet.ifindex == 0 ||
		    memcmp(packet.frame, h->waiting[i].frame, packet.length) != 0)
			return differ(h, "packet %u for the agent is not what came (%u bytes)", i,
				      packet.length);
	}
	return !target_gsi(h->target, &packet) ||
	       differ(h, "more than %u packets wait for the agent", count);
}
