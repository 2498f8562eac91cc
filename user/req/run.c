/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/output.h"
#include "settings.h"
#include "xatomic/requester.h"
#include "xatomic/wire.h"

enum { RNR_RETRY = 6, SENTENCE_LEN = 512 };

/* One run of a command: the same operation `count` times on one queue pair. */
struct run {
	const struct req_settings *settings;
	struct xatomic_qp *qp;
	struct xatomic_wr wr;
	uint64_t replies[XATOMIC_MAX_RD_ATOMIC]; /* of operation n in n modulo window */
	uint64_t posted, done, succeeded;
	struct xatomic_wc failure; /* the first one; status 0: none */
};

static int open_qp(struct run *run)
{
	const struct req_settings *settings = run->settings;
	struct xatomic_qp_attr attr;

	xatomic_qp_attr_init(&attr);
	attr.ifname = settings->dev;
	attr.netns = settings->netns;
	memcpy(&attr.peer, settings->peer.gid, sizeof(attr.peer));
	attr.qp_num = settings->lqpn;
	attr.dest_qp_num = settings->rqpn;
	attr.sq_psn = settings->sq_psn;
	attr.max_rd_atomic = settings->window;
	attr.max_send_wr = settings->window;
	attr.timeout = req_timeout(settings->timeout_us);
	attr.retry_cnt = settings->retry;
	/* Endless RNR retries, which verbs programs like, would make a command that never ends. */
	attr.rnr_retry = RNR_RETRY;
	run->qp = xatomic_qp_open(&attr);
	return run->qp ? XA_EXIT_DONE : xa_fail("%s", xatomic_error());
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

	while (!error && run->done < run->settings->count) {
		if (!run->failure.status)
			error = post(run);
		else if (run->done == run->posted)
			break;
		if (!error)
			error = work(run);
	}
	return error;
}

static void explain_silence(const struct run *run, char *text)
{
	const struct req_settings *settings = run->settings;
	char peer[INET6_ADDRSTRLEN], local[INET6_ADDRSTRLEN];
	const char *hint = xatomic_qp_hint(run->qp);
	struct xatomic_qp_info info;
	uint32_t tries = settings->retry + 1;
	struct xa_ip ip;
	int len;

	xatomic_qp_query(run->qp, &info);
	xa_ip_from_v6(&ip, &info.local);
	len = snprintf(text, SENTENCE_LEN,
		       "%s gave no answer within %" PRIu32 " %s of %.3g ms each; ",
		       xa_ip_text(&settings->peer, peer), tries, tries == 1 ? "try" : "tries",
		       (double)info.timeout_ns / 1e6);
	if (hint)
		snprintf(text + len, SENTENCE_LEN - len, "%s", hint);
	else
		snprintf(text + len, SENTENCE_LEN - len,
			 "check there that QP 0x%" PRIx32
			 " is in state RTR, has peer %s and rqpn 0x%" PRIx32
			 ", and expects this PSN ('xatomic qp show 0x%" PRIx32 "')",
			 settings->rqpn, xa_ip_text(&ip, local), settings->lqpn, settings->rqpn);
}

static const char *explain_refusal(enum xatomic_wc_status status)
{
	switch (status) {
	case XATOMIC_WC_REM_INV_REQ_ERR:
		return "the responder refused the request as invalid, as it does with an address "
		       "that "
		       "is no multiple of 8 or a queue pair without remote atomic access";
	case XATOMIC_WC_REM_ACCESS_ERR:
		return "the responder refused access to the memory, as it does with a wrong rkey, "
		       "an "
		       "address outside the region, or a region of another protection domain or "
		       "without remote atomic access";
	case XATOMIC_WC_REM_OP_ERR:
		return "the responder could not complete the operation";
	case XATOMIC_WC_RNR_RETRY_EXC_ERR:
		return "the responder had no resources each time it was asked";
	default:
		return "the response contradicts itself, so the responder is broken";
	}
}

static void explain_failure(const struct run *run, char *text)
{
	enum xatomic_wc_status status = run->failure.status;

	if (status == XATOMIC_WC_RETRY_EXC_ERR)
		explain_silence(run, text);
	else
		snprintf(text, SENTENCE_LEN,
			 "%s; 'xatomic qp show 0x%" PRIx32
			 "' at the responder tells which, and 'xatomic "
			 "qp reset' revives the queue pair",
			 explain_refusal(status), run->settings->rqpn);
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
	snprintf(text, SENTENCE_LEN,
		 " [%.3f ms, %.0f operations per second; %" PRIu64 " requests, %" PRIu64
		 " resent; %" PRIu64 " timeouts, %" PRIu64 " sequence NAKs, %" PRIu64
		 " implied NAKs, %" PRIu64 " RNR NAKs; %" PRIu64 " responses ignored, %" PRIu64
		 " rejected; next PSN 0x%" PRIx32 "]",
		 (double)ns / 1e6, (double)run->succeeded * 1e9 / (double)ns, c->requests,
		 c->resent, c->timeouts, c->sequence_naks, c->implied_naks, c->rnr_naks, c->ignored,
		 c->rejected, info.next_psn);
}

/* At most one line, whatever has happened. */
static int report(const struct run *run, int error, uint64_t ns)
{
	uint64_t count = run->settings->count;
	char text[SENTENCE_LEN], counters[SENTENCE_LEN];

	describe_counters(run, ns, counters);
	if (error)
		return xa_fail("sending on '%s' failed after %" PRIu64 " of %" PRIu64
			       " operations (%s); see 'ip link'%s",
			       run->settings->dev, run->succeeded, count, strerror(-error),
			       counters);
	if (run->failure.status) {
		explain_failure(run, text);
		return xa_fail("%s at PSN 0x%" PRIx32 ", after %" PRIu64 " of %" PRIu64
			       " operations: %s%s",
			       xatomic_wc_status_str(run->failure.status), run->failure.psn,
			       run->succeeded, count, text, counters);
	}
	if (run->settings->global.verbose)
		xa_warn("%" PRIu64 " operations done%s", run->succeeded, counters);
	return XA_EXIT_DONE;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static int run_operation(struct run *run)
{
	uint64_t begin;
	int status, error;

	run->wr.send_flags = XATOMIC_SEND_SIGNALED;
	run->wr.remote_addr = run->settings->addr;
	run->wr.rkey = run->settings->rkey;
	status = open_qp(run);
	if (status)
		return status;
	begin = clock_ns();
	error = loop(run);
	status = report(run, error, clock_ns() - begin);
	xatomic_qp_close(run->qp);
	return status;
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
