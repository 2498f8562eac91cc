/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "requester/device.h"

enum {
	WR_ID_LANE_SHIFT = 32,
	BATCH = 128, /* completions taken at a time */
	SPINS = 64,  /* polls in vain before the process sleeps */
	SLICE_NS = 10000000
};

static const uint64_t ns_per_s = 1000000000;

static int lost_interface(const struct perf *perf, int error)
{
	return xa_fail("sending on '%s' failed after %" PRIu64 " operations (%s); see 'ip link'",
		       perf->settings->dev, perf->ops, strerror(-error));
}

static void post(struct perf *perf, struct lane *lane, uint64_t now)
{
	uint32_t slot = lane->posted % perf->settings->outs;

	perf->wr.wr_id = (uint64_t)(lane - perf->lanes) << WR_ID_LANE_SHIFT | slot;
	perf->wr.remote_addr = lane->addr;
	perf->wr.reply = &lane->replies[slot];
	lane->started[slot] = now;
	/* There is room for as many as may be in flight. */
	xatomic_post_send(lane->qp, &perf->wr);
	lane->posted++;
	perf->posted++;
}

static bool wants_more(const struct perf *perf, const struct lane *lane, uint64_t now)
{
	if (perf->failure.status || perf->mismatch[0])
		return false;
	if (perf->settings->seconds)
		return now - perf->begin < perf->settings->seconds * ns_per_s;
	return lane->posted < perf->settings->iters;
}

/* The best rate of any slice that is long enough to tell. */
static void end_slice(struct perf *perf, uint64_t now)
{
	uint64_t ns = now - perf->slice_begin;
	double rate = (double)perf->slice_ops * (double)ns_per_s / (double)ns;

	if (ns < SLICE_NS)
		return;
	if (rate > perf->peak)
		perf->peak = rate;
	perf->slice_begin = now;
	perf->slice_ops = 0;
}

static void finish(struct perf *perf, const struct xatomic_wc *wc, uint64_t now)
{
	struct lane *lane = &perf->lanes[wc->wr_id >> WR_ID_LANE_SHIFT];
	uint32_t slot = wc->wr_id;

	lane->done++;
	if (wc->status) {
		if (!perf->failure.status) {
			perf->failure = *wc;
			perf->failed = lane;
		}
		return;
	}
	perf->ops++;
	perf->slice_ops++;
	histogram_add(&perf->latency, now - lane->started[slot]);
	if (perf->settings->verify)
		perf_verify_one(perf, lane, lane->replies[slot]);
	if (wants_more(perf, lane, now))
		post(perf, lane, now);
}

/* Spins for a while: sleeping takes longer than most answers. Returns as xatomic_device_poll(). */
static int poll_or_sleep(struct perf *perf, struct xatomic_wc *wc)
{
	int n = 0;

	for (int i = 0; i < SPINS && !n; i++)
		n = xatomic_device_poll(perf->device, BATCH, wc);
	if (n)
		return n;
	n = xatomic_device_wait(perf->device, -1);
	return n < 0 && n != -EINTR ? n : 0;
}

static int loop(struct perf *perf)
{
	struct xatomic_wc wc[BATCH];
	uint64_t done = 0;
	int error = 0, n;

	while (!error && done < perf->posted) {
		n = poll_or_sleep(perf, wc);
		if (n < 0)
			return n;
		perf->end = xa_clock_ns();
		for (int i = 0; i < n; i++)
			finish(perf, &wc[i], perf->end);
		done += n;
		end_slice(perf, perf->end);
		error = n ? xatomic_device_doorbell(perf->device) : 0;
	}
	return error;
}

static int run(struct perf *perf)
{
	uint32_t outs = perf->settings->outs;
	int error;

	perf->begin = perf->end = perf->slice_begin = xa_clock_ns();
	for (uint32_t i = 0; i < perf->count; i++)
		for (uint32_t n = 0; n < outs && wants_more(perf, &perf->lanes[i], perf->begin);
		     n++)
			post(perf, &perf->lanes[i], perf->begin);
	error = xatomic_device_doorbell(perf->device);
	if (!error)
		error = loop(perf);
	return error ? lost_interface(perf, error) : XA_EXIT_DONE;
}

int perf_explain(const struct perf *perf)
{
	const struct lane *lane = perf->failed;
	char text[REQ_SENTENCE_LEN];

	req_explain(perf->settings, &lane->target, lane->qp, &perf->failure, text);
	return xa_fail("%s at PSN %" PRIu32 " of QP %" PRIu32 ", after %" PRIu64 " operations: %s",
		       xatomic_wc_status_str(perf->failure.status), perf->failure.psn,
		       perf->failure.qp_num, perf->ops, text);
}

int perf_once(struct perf *perf, struct lane *lane, const struct xatomic_wr *wr)
{
	int error;

	xatomic_post_send(lane->qp, wr);
	error = xatomic_ring_doorbell(lane->qp);
	while (!error && xatomic_poll_cq(lane->qp, 1, &perf->failure) != 1) {
		error = xatomic_wait(lane->qp, -1);
		error = error < 0 && error != -EINTR ? error : 0;
	}
	if (error)
		return lost_interface(perf, error);
	perf->failed = lane;
	return perf->failure.status ? perf_explain(perf) : XA_EXIT_DONE;
}

static int open_lane(struct perf *perf, uint32_t i, const struct req_target *target)
{
	struct lane *lane = &perf->lanes[i];
	uint32_t outs = perf->settings->outs;

	if (target->depth && target->depth < outs)
		return xa_fail("QP %" PRIu32 " keeps %" PRIu32
			       " answers for requests that are sent again, fewer than the %" PRIu32
			       " that --outs has in flight; lower --outs, or add the queue pair "
			       "with --depth %" PRIu32,
			       target->rqpn, target->depth, outs, outs);
	lane->target = *target;
	lane->addr = perf->settings->addr + i * perf->settings->stride;
	lane->qp = req_open(perf->settings, target, perf->device, outs);
	return lane->qp ? XA_EXIT_DONE : xa_fail("%s", xatomic_error());
}

static int open_lanes(struct perf *perf, const struct req_target *targets)
{
	int status = XA_EXIT_DONE;

	perf->lanes = calloc(perf->count, sizeof(*perf->lanes));
	if (!perf->lanes)
		return xa_fail("there is no memory for %" PRIu32 " queue pairs; use fewer",
			       perf->count);
	perf->device = xatomic_device_open(perf->settings->dev, perf->settings->netns,
					   req_transport(perf->settings, XATOMIC_TRANSPORT_AUTO));
	if (!perf->device)
		return xa_fail("%s", xatomic_error());
	for (uint32_t i = 0; i < perf->count && !status; i++)
		status = open_lane(perf, i, &targets[i]);
	return status;
}

static void close_lanes(struct perf *perf)
{
	for (uint32_t i = 0; perf->lanes && i < perf->count; i++)
		xatomic_qp_close(perf->lanes[i].qp);
	xatomic_device_close(perf->device);
	free(perf->lanes);
}

/* How many queue pairs to use, in perf->count. */
static int choose(struct perf *perf, int found)
{
	const struct req_settings *settings = perf->settings;

	perf->count = settings->qps ? settings->qps : (uint32_t)found;
	if (perf->count <= (uint32_t)found)
		return XA_EXIT_DONE;
	return xa_fail("--qp wants %" PRIu32 " queue pairs and '%s' names %d; add some there, or "
		       "use fewer",
		       perf->count, settings->qp_file, found);
}

static int measure(struct perf *perf, const struct req_target *targets)
{
	int status = open_lanes(perf, targets);

	if (!status)
		status = perf_verify_begin(perf);
	if (!status)
		status = run(perf);
	if (!status && perf->failure.status)
		status = perf_explain(perf);
	if (!status)
		status = perf_verify_end(perf);
	return status ? status : perf_report(perf);
}

static void prepare(struct perf *perf, const struct req_settings *settings)
{
	bool is_swap = settings->op == REQ_OP_CSWAP;

	perf->settings = settings;
	perf->wr = (struct xatomic_wr){
		.opcode = is_swap ? XATOMIC_WR_ATOMIC_CMP_AND_SWP : XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = XATOMIC_SEND_SIGNALED,
		.rkey = settings->rkey,
		.compare_add = is_swap ? settings->compare : settings->add,
		.swap = settings->swap,
	};
}

int req_perf(void *data)
{
	struct req_settings *settings = data;
	struct req_target one, *targets = NULL;
	struct perf *perf;
	int found = 1, status = req_check_perf(settings);

	if (status)
		return status;
	if (settings->qp_file)
		found = req_read_targets(settings, &targets);
	if (found < 0)
		return XA_EXIT_FAILED;
	one = req_target_of(settings);
	perf = calloc(1, sizeof(*perf));
	if (perf) {
		prepare(perf, settings);
		status = choose(perf, found);
		if (!status)
			status = measure(perf, targets ? targets : &one);
		close_lanes(perf);
	} else {
		status = xa_fail("there is no memory for a measurement; free some");
	}
	free(perf);
	free(targets);
	return status;
}
