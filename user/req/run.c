/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>

#include "common/output.h"
#include "requester/device.h"
#include "connect.h"

/* One run of a command: the same operation `count` times on one queue pair. */
struct run {
	struct req_settings *settings;
	struct req_target target;
	struct xatomic_qp *qp;
	struct xatomic_wr wr;
	uint64_t replies[XATOMIC_MAX_RD_ATOMIC]; /* of operation n in n modulo window */
	uint64_t posted, done, succeeded;
	struct xatomic_wc failure; /* the first one; status 0: none */
};

/* A connection has two ends: an interrupted command tells the other one. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	interrupted = signal;
}

/* As many as fit into the window, unless something has gone wrong or all are posted. */
static int post(struct run *run)
{
	uint32_t window = run->settings->window;
	uint64_t before = run->posted;

	while (run->posted < run->settings->count && run->posted - run->done < window) {
		run->wr.wr_id = run->posted;
		run->wr.reply = &run->replies[run->posted % window];
		if (xatomic_post_send(run->qp, &run->wr))
			break;
		run->posted++;
	}
	return run->posted > before ? xatomic_ring_doorbell(run->qp) : 0;
}

static void print_original(const struct run *run, uint64_t original)
{
	struct json_object *object;

	if (!run->settings->global.json) {
		printf("%" PRIu64 "\n", original);
		return;
	}
	object = json_object_new_object();
	xa_put_number(object, "original", original);
	xa_print_json(&run->settings->global, object);
}

static void print_failure(const struct run *run, const struct xatomic_wc *wc)
{
	struct json_object *object;

	if (!run->settings->global.json)
		return;
	object = json_object_new_object();
	xa_put_text(object, "status", xatomic_wc_status_str(wc->status));
	xa_put_number(object, "psn", wc->psn);
	xa_print_json(&run->settings->global, object);
}

static void finish(struct run *run, const struct xatomic_wc *wc)
{
	run->done++;
	if (wc->status == XATOMIC_WC_SUCCESS) {
		run->succeeded++;
		print_original(run, run->replies[wc->wr_id % run->settings->window]);
		return;
	}
	if (!run->failure.status)
		run->failure = *wc;
	print_failure(run, wc);
}

/* Returns 0 or a negative errno of the socket. */
static int work(struct run *run)
{
	struct xatomic_wc wc[XATOMIC_MAX_RD_ATOMIC];
	int n = xatomic_poll_cq(run->qp, XATOMIC_MAX_RD_ATOMIC, wc);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		finish(run, &wc[i]);
	if (n || run->posted == run->done)
		return 0;
	n = xatomic_wait(run->qp, -1);
	return n < 0 && n != -EINTR ? n : 0;
}

static int loop(struct run *run)
{
	int error = 0;

	while (!error && !interrupted && run->done < run->settings->count) {
		if (!run->failure.status)
			error = post(run);
		else if (run->done == run->posted)
			break;
		if (!error)
			error = work(run);
	}
	return error;
}

/* What -v adds, in brackets. */
static void describe_counters(const struct run *run, uint64_t ns, char *text)
{
	struct xatomic_qp_info info;
	const struct xatomic_qp_counters *c = &info.counters;

	text[0] = '\0';
	if (!run->settings->global.verbose)
		return;
	xatomic_qp_query(run->qp, &info);
	snprintf(text, REQ_SENTENCE_LEN,
		 " [%.3f ms, %.0f operations per second; %" PRIu64 " requests, %" PRIu64
		 " resent; %" PRIu64 " timeouts, %" PRIu64 " sequence NAKs, %" PRIu64
		 " implied NAKs, %" PRIu64 " RNR NAKs; %" PRIu64 " responses ignored, %" PRIu64
		 " rejected; next PSN %" PRIu32 "]",
		 (double)ns / 1e6, (double)run->succeeded * 1e9 / (double)ns, c->requests,
		 c->resent, c->timeouts, c->sequence_naks, c->implied_naks, c->rnr_naks, c->ignored,
		 c->rejected, info.next_psn);
}

/* At most one line, whatever has happened. */
static int report(const struct run *run, int error, uint64_t ns)
{
	uint64_t count = run->settings->count;
	char text[REQ_SENTENCE_LEN], counters[REQ_SENTENCE_LEN];

	describe_counters(run, ns, counters);
	if (error)
		return xa_fail("sending on '%s' failed after %" PRIu64 " of %" PRIu64
			       " operations (%s); see 'ip link'%s",
			       run->settings->dev, run->succeeded, count, strerror(-error),
			       counters);
	if (run->failure.status) {
		req_explain(run->settings, &run->target, run->qp, &run->failure, text);
		return xa_fail("%s at PSN %" PRIu32 ", after %" PRIu64 " of %" PRIu64
			       " operations: %s%s",
			       xatomic_wc_status_str(run->failure.status), run->failure.psn,
			       run->succeeded, count, text, counters);
	}
	if (run->done < count)
		return xa_fail("interrupted after %" PRIu64 " of %" PRIu64 " operations; %" PRIu64
			       " more were under way, and each may have been executed or not%s",
			       run->succeeded, count, run->posted - run->done, counters);
	if (run->settings->global.verbose)
		xa_warn("%" PRIu64 " operations done%s", run->succeeded, counters);
	return XA_EXIT_DONE;
}

static int run_on_target(struct run *run)
{
	uint64_t begin;
	int status, error;

	run->wr.send_flags = XATOMIC_SEND_SIGNALED;
	run->wr.remote_addr = run->settings->addr;
	run->wr.rkey = run->settings->rkey;
	run->qp = req_open(run->settings, &run->target, NULL, run->settings->window);
	if (!run->qp)
		return xa_fail("%s", xatomic_error());
	begin = xa_clock_ns();
	error = loop(run);
	status = report(run, error, xa_clock_ns() - begin);
	xatomic_qp_close(run->qp);
	return status;
}

static int run_connected(struct run *run)
{
	const struct sigaction action = {.sa_handler = interrupt};
	struct cm_call call;
	int status;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	status = req_connect(run->settings, &interrupted, &call, &run->target);
	if (status)
		return status;
	status = run_on_target(run);
	if (!cm_hang_up(&call) && !status)
		xa_warn("the server did not confirm the end of the connection");
	return status;
}

static int run_operation(struct run *run)
{
	if (run->settings->connect)
		return run_connected(run);
	run->target = req_target_of(run->settings);
	return run_on_target(run);
}

int req_fadd(void *settings)
{
	struct run run = {.settings = settings};

	run.wr.opcode = XATOMIC_WR_ATOMIC_FETCH_AND_ADD;
	run.wr.compare_add = run.settings->add;
	return run_operation(&run);
}

int req_cswap(void *settings)
{
	struct run run = {.settings = settings};

	run.wr.opcode = XATOMIC_WR_ATOMIC_CMP_AND_SWP;
	run.wr.compare_add = run.settings->compare;
	run.wr.swap = run.settings->swap;
	return run_operation(&run);
}
