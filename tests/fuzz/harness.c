/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

/* How often an ordinary run looks at what a packet should not have changed; powers of two. */
enum { EVERY_STATS = 64, EVERY_WINDOW = 16, EVERY_QPS = 256, EVERY_WORDS = 1024 };

bool harness_open(struct harness *h, const struct target_limits *limits, const char **why)
{
	memset(h, 0, sizeof(*h));
	h->limits = *limits;
	h->control = calloc(limits->max_qps, sizeof(*h->control));
	if (!h->control) {
		*why = "no memory";
		return false;
	}
	h->target = target_open(limits, why);
	if (!h->target)
		free(h->control);
	return h->target;
}

void harness_close(struct harness *h)
{
	target_close(h->target);
	free(h->control);
}

void harness_start(struct harness *h, uint64_t seed)
{
	enum model_fault fault = h->model.fault;

	memset(&h->model, 0, sizeof(h->model));
	h->model.fault = fault;
	h->model.gsi_room = TARGET_GSI_ROOM;
	h->model.drop_unknown = h->limits.unknown_qp == XA_UNKNOWN_QP_DROP;
	memset(h->control, 0, h->limits.max_qps * sizeof(*h->control));
	target_reset(h->target);
	gen_start(&h->gen, &h->model, &h->limits, seed);
	h->difference[0] = 0;
	h->done = 0;
}

static bool due(const struct harness *h, size_t every)
{
	return h->strict || (h->done & (every - 1)) == 0;
}

/*
 * With too few windows the LRU takes them from QPs as it likes. It does so only when one is put in, so
 * what is there before a packet is what that packet meets. A system call's look-up does not count as use.
 */
static void note_lost_windows(struct harness *h)
{
	for (unsigned slot = 0; h->limits.replay_windows && slot < h->gen.qps; slot++) {
		const struct model_qp *qp = &h->model.qps[slot];

		if (qp->used && qp->saved_count &&
		    !target_window_get(h->target, qp->attr.qpn, &h->window))
			model_qp_forget(&h->model, slot);
	}
}

static bool compare_all_qps(struct harness *h)
{
	for (unsigned slot = 0; slot < h->gen.qps; slot++)
		if (!compare_qp(h, slot))
			return false;
	return true;
}

static bool compare_rest(struct harness *h)
{
	if (due(h, EVERY_STATS) && !compare_stats(h))
		return false;
	if (due(h, EVERY_QPS) && !compare_all_qps(h))
		return false;
	if (due(h, EVERY_WORDS) && !compare_words(h))
		return false;
	if (!due(h, EVERY_WINDOW) || !h->result.qp)
		return true;
	note_lost_windows(h);
	return compare_window(h, h->result.qp - h->model.qps);
}

/* Also what never was a QP must still be as the control plane left it. */
static bool compare_end(struct harness *h)
{
	note_lost_windows(h);
	for (unsigned slot = 0; slot < h->gen.qps; slot++) {
		if (!compare_qp(h, slot) || !compare_window(h, slot))
			return false;
		h->control[h->gen.qp_index[slot]] = expected_qp(h, slot);
	}
	if (memcmp(h->control, target_qp(h->target, 0), h->limits.max_qps * sizeof(*h->control))) {
		strcpy(h->difference, "an entry of qps that is no QP has changed");
		return false;
	}
	return compare_stats(h) && compare_words(h) && compare_mrs(h) && compare_waiting(h);
}

/* As if a packet of the QP were being worked on by another CPU, for ever. */
static void set_lock(struct harness *h, bool locked)
{
	h->model.qps[h->step.slot].locked = locked;
	target_qp(h->target, h->gen.qp_index[h->step.slot])->ctl.lock = locked;
}

static void keep_waiting(struct harness *h)
{
	unsigned last = h->model.gsi_waiting - 1;

	if (!h->result.gsi_len)
		return;
	h->waiting[last].len = h->result.gsi_len;
	if (h->result.gsi_len <= XA_GSI_FRAME_MAX)
		memcpy(h->waiting[last].frame, h->step.frame, h->result.gsi_len);
}

static bool do_packet(struct harness *h)
{
	const struct step *step = &h->step;
	struct xa_event event;
	bool has_event;

	note_lost_windows(h);
	set_lock(h, step->locked);
	model_receive(&h->model, step->frame, step->len, &h->result);
	keep_waiting(h);
	target_run(h->target, step->frame, step->len, &h->reply);
	set_lock(h, false);
	has_event = target_event(h->target, &event);
	return compare_packet(h, has_event, &event);
}

bool harness_step(struct harness *h)
{
	h->done++;
	h->result.qp = NULL;
	if (h->step.op == OP_AGENT_READ)
		return compare_waiting(h);
	if (h->step.op != OP_PACKET)
		harness_apply(h);
	else if (!do_packet(h))
		return false;
	return compare_rest(h);
}

static void count(struct harness *h)
{
	for (int kind = 0; kind < XA_CLASS_COUNT; kind++)
		for (int reason = 0; reason < XA_REASON_COUNT; reason++)
			h->counters[kind][reason] += h->model.counters[kind][reason];
}

size_t harness_episode(struct harness *h, uint64_t seed, const uint32_t *keep, size_t steps,
		       bool verbose)
{
	size_t i;

	harness_start(h, seed);
	for (i = 0; i < steps; i++) {
		uint32_t number = keep ? keep[i] : i;

		gen_step(&h->gen, number, rng_mix(seed, number + 1), &h->step);
		if (verbose)
			print_step(h, number);
		if (!harness_step(h))
			return i;
	}
	count(h);
	return compare_end(h) ? HARNESS_NO_STEP : i - 1;
}
