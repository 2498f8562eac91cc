/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requester.c - one queue pair and its thread. When the retries of a queue pair are used up, nobody knows
 * which of its open operations have run. They are recorded as unknown, both ends are set up anew, and work
 * goes on.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "hostile.h"
#include "lib/error.h"
#include "xatomic/wire.h"

enum { BATCH = 32, WAIT_MS = 1000, OWN_QPN = 0x100 };

/*
 * How far behind the new first PSN the old ones are: what is still held back of the old life is a duplicate
 * of nothing in the new one.
 */
enum { PSN_GAP = 4096 };

static void address(const struct requester *r, unsigned end, struct xa_ip *ip)
{
	char text[64];

	snprintf(text, sizeof(text), r->family == XA_IPV4 ? "10.77.%u.%u" : "fd00:77:%u::%u",
		 r->node, end);
	xa_ip_parse(ip, text);
}

static uint32_t own_qpn(const struct requester *r)
{
	return OWN_QPN + r->actor.process;
}

static int open_responder(struct requester *r, uint32_t psn)
{
	struct xa_qp_request request = {
		.rqpn = own_qpn(r),
		.rq_psn = psn,
		.depth = r->window,
		.access = XA_ACCESS_ATOMIC,
	};
	struct xa_instance instance;
	struct xa_qp qp = {};
	int status;

	address(r, 2, &request.peer);
	address(r, 1, &request.local);
	if (xa_instance_open(&instance, &r->actor.world->place, LOCK_EX))
		return -1;
	status = r->rqpn ? xa_qp_reset(&instance, r->rqpn, psn, &qp)
			 : xa_qp_add(&instance, &request, &qp);
	xa_instance_close(&instance);
	r->rqpn = status ? r->rqpn : qp.qpn;
	return status;
}

static int open_requester(struct requester *r, uint32_t psn)
{
	const struct options *options = &r->actor.world->options;
	struct xatomic_qp_attr attr;
	char netns[64];
	struct xa_ip peer;

	snprintf(netns, sizeof(netns), "%s-node%u", options->prefix, r->node);
	address(r, 1, &peer);
	xatomic_qp_attr_init(&attr);
	attr.ifname = "eth0";
	attr.netns = netns;
	attr.transport = r->transport;
	memcpy(&attr.peer, peer.gid, sizeof(attr.peer));
	attr.qp_num = own_qpn(r);
	attr.dest_qp_num = r->rqpn;
	attr.sq_psn = psn;
	attr.max_rd_atomic = r->window;
	attr.max_send_wr = 2 * r->window;
	attr.timeout = options->timeout;
	r->qp = xatomic_qp_open(&attr);
	return r->qp ? 0 : -1;
}

static int open_both(struct requester *r, uint32_t psn)
{
	return open_responder(r, psn) || open_requester(r, psn) ? -1 : 0;
}

int requester_open(struct requester *r)
{
	return open_both(r, rng_next(&r->actor.rng) & XA_PSN_MASK);
}

static void add_counters(struct xatomic_qp_counters *sum, const struct xatomic_qp_counters *part)
{
	sum->requests += part->requests;
	sum->resent += part->resent;
	sum->acks += part->acks;
	sum->timeouts += part->timeouts;
	sum->sequence_naks += part->sequence_naks;
	sum->implied_naks += part->implied_naks;
	sum->ignored += part->ignored;
	sum->rejected += part->rejected;
}

struct xatomic_qp_counters requester_counters(const struct requester *r)
{
	struct xatomic_qp_counters sum = r->counters;
	struct xatomic_qp_info info;

	if (r->qp) {
		xatomic_qp_query(r->qp, &info);
		add_counters(&sum, &info.counters);
	}
	return sum;
}

void requester_close(struct requester *r)
{
	r->counters = requester_counters(r);
	xatomic_qp_close(r->qp);
	r->qp = NULL;
}

bool requester_agrees(const struct requester *r)
{
	struct xatomic_qp_info info;
	struct xa_instance instance;
	struct xa_qp qp;
	bool found;

	if (!r->qp || xa_instance_open(&instance, &r->actor.world->place, LOCK_SH))
		return false;
	found = !xa_qp_find(&instance, r->rqpn, &qp);
	xa_instance_close(&instance);
	xatomic_qp_query(r->qp, &info);
	return found && qp.ctl.epsn == info.next_psn && info.open_psn == info.next_psn;
}

static void give_up(struct requester *r, const char *what, const char *why)
{
	printf("# requester %u: %s: %s\n", r->actor.process, what, why);
	r->broken = true;
}

static void post(struct requester *r)
{
	struct actor *actor = &r->actor;
	struct linear_op *op = work_next(actor, false);
	bool is_swap = op->kind == LINEAR_SWAP;
	struct xatomic_wr wr = {
		.wr_id = op->seq,
		.opcode = is_swap ? XATOMIC_WR_ATOMIC_CMP_AND_SWP : XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = XATOMIC_SEND_SIGNALED,
		.remote_addr = actor->world->iova + 8 * op->word,
		.rkey = actor->world->rkey,
		.compare_add = op->operand,
		.swap = op->swap,
		.reply = &op->result,
	};

	op->invoked = now_ns();
	if (xatomic_post_send(r->qp, &wr))
		give_up(r, "post", "the send queue is full");
}

static void fill_window(struct requester *r)
{
	struct actor *actor = &r->actor;

	while (actor->count - r->done < r->window && actor->count < r->quota)
		post(r);
	if (xatomic_ring_doorbell(r->qp))
		give_up(r, "doorbell", "the socket failed");
}

static void complete(struct requester *r, const struct xatomic_wc *wc, uint64_t now)
{
	struct linear_op *op = &r->actor.ops[wc->wr_id];

	if (wc->status != XATOMIC_WC_SUCCESS) {
		r->gone = true;
		r->failures += wc->status == XATOMIC_WC_RETRY_EXC_ERR;
		r->refused += wc->status != XATOMIC_WC_RETRY_EXC_ERR &&
			      wc->status != XATOMIC_WC_WR_FLUSH_ERR;
		return;
	}
	if (wc->wr_id != r->done)
		give_up(r, "completion", "not in the order of posting");
	op->returned = now;
	work_done(&r->actor, op);
	atomic_fetch_add(&r->actor.world->completed, 1);
	r->done++;
}

static void reap(struct requester *r)
{
	struct xatomic_wc wc[BATCH];
	int n = xatomic_poll_cq(r->qp, BATCH, wc);
	uint64_t now = now_ns();

	for (int i = 0; i < n; i++)
		complete(r, &wc[i], now);
	if (n < 0 || (!n && xatomic_wait(r->qp, WAIT_MS) < 0))
		give_up(r, "wait", "the socket failed");
}

/* After the reset of its queue pair no packet of the old life can run any more. */
static void leave_unknown(struct requester *r)
{
	uint64_t now = now_ns();

	for (; r->done < r->actor.count; r->done++) {
		struct linear_op *op = &r->actor.ops[r->done];

		op->unknown = true;
		op->returned = now;
		r->unknown++;
		work_done(&r->actor, op);
	}
}

static void start_over(struct requester *r)
{
	struct xatomic_qp_info info;

	xatomic_qp_query(r->qp, &info);
	requester_close(r);
	if (open_both(r, xa_psn_add(info.next_psn, PSN_GAP)))
		give_up(r, "reset", xatomic_error());
	leave_unknown(r);
	r->gone = false;
}

void *requester_run(void *data)
{
	struct requester *r = data;

	while (r->qp && !r->broken && r->done < r->quota) {
		fill_window(r);
		do
			reap(r);
		while (!r->gone && !r->broken && r->actor.count - r->done == r->window);
		if (r->gone)
			start_over(r);
	}
	leave_unknown(r);
	return NULL;
}
