/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>

#include "xatomic/wire.h"

/* RNR NAK timer codes in units of 10 us (IBA table 45; rxe_comp.c). */
static const uint32_t rnr_units[] = {65536, 1,    2,    3,     4,     6,     8,     12,
				     16,    24,   32,   48,    64,    96,    128,   192,
				     256,   384,  512,  768,   1024,  1536,  2048,  3072,
				     4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

static const uint64_t rnr_unit_ns = 10 * 1000;

/* Bit 7 of a syndrome is 0, so it belongs to the type here: with it set, the type is a reserved one. */
enum { SYN_VALUE = 0x1f };

static uint32_t ring_size(uint32_t slots)
{
	uint32_t size = 1;

	while (size < slots)
		size <<= 1;
	return size;
}

static void rearm(struct xa_engine *engine, uint64_t now)
{
	engine->deadline = engine->attr.timeout_ns ? now + engine->attr.timeout_ns : XA_NEVER;
}

static void progress(struct xa_engine *engine)
{
	engine->retries = engine->attr.retry_cnt;
	engine->rnr_retries = engine->attr.rnr_retry;
	engine->restarted = false;
	engine->rnr_wait = false;
	engine->asked_psn = XA_NO_PSN;
}

int xa_engine_init(struct xa_engine *engine, const struct xa_engine_attr *attr)
{
	uint32_t size = ring_size(attr->max_send_wr);

	*engine = (struct xa_engine){.attr = *attr, .state = XATOMIC_QPS_RTS, .mask = size - 1};
	engine->deadline = XA_NEVER;
	progress(engine);
	engine->sq = calloc(size, sizeof(*engine->sq));
	engine->cq = calloc(size, sizeof(*engine->cq));
	if (engine->sq && engine->cq)
		return 0;
	xa_engine_free(engine);
	return -ENOMEM;
}

void xa_engine_free(struct xa_engine *engine)
{
	free(engine->sq);
	free(engine->cq);
	engine->sq = NULL;
	engine->cq = NULL;
}

uint32_t xa_engine_psn(const struct xa_engine *engine, uint64_t n)
{
	return xa_psn_add(engine->attr.sq_psn, (uint32_t)n);
}

static struct xatomic_wr *slot(const struct xa_engine *engine, uint64_t n)
{
	return &engine->sq[n & engine->mask];
}

/* Takes the oldest request out of the replay buffer. */
static void retire(struct xa_engine *engine, enum xatomic_wc_status status, uint8_t syndrome)
{
	const struct xatomic_wr *wr = slot(engine, engine->acked);

	if (status != XATOMIC_WC_SUCCESS || wr->send_flags & XATOMIC_SEND_SIGNALED)
		engine->cq[engine->cq_tail++ & engine->mask] = (struct xatomic_wc){
			.wr_id = wr->wr_id,
			.status = status,
			.opcode = wr->opcode == XATOMIC_WR_ATOMIC_CMP_AND_SWP
					  ? XATOMIC_WC_COMP_SWAP
					  : XATOMIC_WC_FETCH_ADD,
			.vendor_err = syndrome,
			.qp_num = engine->attr.qp_num,
			.psn = xa_engine_psn(engine, engine->acked),
		};
	engine->acked++;
	if (engine->next < engine->acked)
		engine->next = engine->acked;
}

static void flush(struct xa_engine *engine)
{
	while (engine->acked < engine->posted)
		retire(engine, XATOMIC_WC_WR_FLUSH_ERR, 0);
	engine->next = engine->sent = engine->rung = engine->posted;
}

static void fail(struct xa_engine *engine, enum xatomic_wc_status status, uint8_t syndrome)
{
	engine->state = XATOMIC_QPS_ERR;
	engine->deadline = XA_NEVER;
	retire(engine, status, syndrome);
	flush(engine);
}

/* Every request holds a place in the completion queue until it cannot need it any more. */
static bool is_full(const struct xa_engine *engine)
{
	uint64_t open = engine->posted - engine->acked;
	uint64_t unpolled = engine->cq_tail - engine->cq_head;

	return open + unpolled > engine->mask;
}

int xa_engine_post(struct xa_engine *engine, const struct xatomic_wr *wr)
{
	if (wr->opcode != XATOMIC_WR_ATOMIC_CMP_AND_SWP &&
	    wr->opcode != XATOMIC_WR_ATOMIC_FETCH_AND_ADD)
		return -EINVAL;
	if (wr->send_flags & ~(unsigned int)XATOMIC_SEND_SIGNALED)
		return -EINVAL;
	if (is_full(engine))
		return -ENOMEM;
	*slot(engine, engine->posted++) = *wr;
	if (engine->state == XATOMIC_QPS_ERR)
		flush(engine);
	return 0;
}

void xa_engine_doorbell(struct xa_engine *engine)
{
	engine->rung = engine->posted;
}

static void fill_request(const struct xa_engine *engine, struct xa_request *request)
{
	const struct xatomic_wr *wr = slot(engine, engine->next);
	bool is_swap = wr->opcode == XATOMIC_WR_ATOMIC_CMP_AND_SWP;

	request->opcode = is_swap ? XA_OP_CMP_SWAP : XA_OP_FETCH_ADD;
	request->psn = xa_engine_psn(engine, engine->next);
	request->va = wr->remote_addr;
	request->rkey = wr->rkey;
	request->swap_add = is_swap ? wr->swap : wr->compare_add;
	request->compare = is_swap ? wr->compare_add : 0;
}

bool xa_engine_next(struct xa_engine *engine, uint64_t now, struct xa_request *request)
{
	if (engine->rnr_wait || engine->next == engine->rung ||
	    engine->next - engine->acked == engine->attr.max_rd_atomic)
		return false;
	fill_request(engine, request);
	engine->next++;
	if (engine->next > engine->sent) {
		engine->sent = engine->next;
		engine->counters.requests++;
	} else {
		engine->counters.resent++;
	}
	if (engine->deadline == XA_NEVER)
		rearm(engine, now);
	return true;
}

/* Go-back-N. The timer starts again with the first packet. */
static void go_back(struct xa_engine *engine)
{
	if (!engine->retries) {
		fail(engine, XATOMIC_WC_RETRY_EXC_ERR, 0);
		return;
	}
	engine->retries--;
	engine->next = engine->acked;
	engine->deadline = XA_NEVER;
}

/*
 * Everything that was in flight behind a lost packet tells of the same loss: only the first one counts, or
 * one loss would use up all retries. If what is sent again gets lost too, the timer sees to it.
 */
static void go_back_once(struct xa_engine *engine, uint64_t *counter)
{
	if (engine->restarted || engine->rnr_wait) {
		engine->counters.ignored++;
		return;
	}
	++*counter;
	engine->restarted = true;
	go_back(engine);
}

static void wait_for_receiver(struct xa_engine *engine, uint64_t now, uint8_t syndrome)
{
	if (engine->rnr_wait) {
		engine->counters.ignored++;
		return;
	}
	engine->counters.rnr_naks++;
	if (!engine->rnr_retries) {
		fail(engine, XATOMIC_WC_RNR_RETRY_EXC_ERR, syndrome);
		return;
	}
	if (engine->attr.rnr_retry != XA_RNR_RETRY_ENDLESS)
		engine->rnr_retries--;
	engine->rnr_wait = true;
	engine->next = engine->acked;
	engine->deadline = now + rnr_units[syndrome & SYN_VALUE] * rnr_unit_ns;
}

static void acknowledge(struct xa_engine *engine, uint64_t now, uint64_t original)
{
	uint64_t *reply = slot(engine, engine->acked)->reply;

	if (reply)
		*reply = original;
	engine->counters.acks++;
	retire(engine, XATOMIC_WC_SUCCESS, 0);
	progress(engine);
	if (engine->next > engine->acked)
		rearm(engine, now);
	else
		engine->deadline = XA_NEVER;
}

static enum xatomic_wc_status nak_status(uint8_t syndrome)
{
	switch (syndrome) {
	case XA_SYN_NAK_INV_REQ:
		return XATOMIC_WC_REM_INV_REQ_ERR;
	case XA_SYN_NAK_REM_ACCESS:
		return XATOMIC_WC_REM_ACCESS_ERR;
	default:
		return XATOMIC_WC_REM_OP_ERR;
	}
}

/* A response to the oldest open request, other than a sequence NAK. */
static void answer(struct xa_engine *engine, uint64_t now, const struct xa_response *response)
{
	uint8_t syndrome = response->syndrome;

	if (response->opcode == XA_OP_ATOMIC_ACKNOWLEDGE) {
		if ((syndrome & ~SYN_VALUE) == XA_SYN_ACK)
			acknowledge(engine, now, response->original);
		else
			fail(engine, XATOMIC_WC_BAD_RESP_ERR, syndrome);
		return;
	}
	switch (syndrome & ~SYN_VALUE) {
	case XA_SYN_ACK: /* without the original it answers no atomic */
		go_back_once(engine, &engine->counters.implied_naks);
		break;
	case XA_SYN_RNR:
		wait_for_receiver(engine, now, syndrome);
		break;
	case XA_SYN_NAK:
		fail(engine, nak_status(syndrome), syndrome);
		break;
	default: /* reserved */
		fail(engine, XATOMIC_WC_BAD_RESP_ERR, syndrome);
	}
}

/* Of no use for the protocol; but who started at another PSN than the responder will want to know. */
static void ignore_stray(struct xa_engine *engine, uint32_t asked_psn)
{
	engine->counters.ignored++;
	if (asked_psn != XA_NO_PSN)
		engine->asked_psn = asked_psn;
}

void xa_engine_receive(struct xa_engine *engine, uint64_t now, const struct xa_response *response)
{
	int32_t ahead = xa_psn_diff(response->psn, xa_engine_psn(engine, engine->acked));

	bool is_sequence_nak =
		response->opcode == XA_OP_ACKNOWLEDGE && response->syndrome == XA_SYN_NAK_SEQUENCE;

	if (ahead < 0 || (uint64_t)ahead >= engine->sent - engine->acked)
		ignore_stray(engine, is_sequence_nak ? response->psn : XA_NO_PSN);
	else if (is_sequence_nak)
		go_back_once(engine, &engine->counters.sequence_naks);
	else if (ahead > 0)
		go_back_once(engine, &engine->counters.implied_naks);
	else
		answer(engine, now, response);
}

void xa_engine_timer(struct xa_engine *engine, uint64_t now)
{
	if (now < engine->deadline)
		return;
	engine->restarted = false;
	if (engine->rnr_wait) {
		engine->rnr_wait = false;
		engine->deadline = XA_NEVER;
		return;
	}
	engine->counters.timeouts++;
	go_back(engine);
}

int xa_engine_poll(struct xa_engine *engine, int n, struct xatomic_wc *wc)
{
	int taken = 0;

	while (taken < n && engine->cq_head < engine->cq_tail)
		wc[taken++] = engine->cq[engine->cq_head++ & engine->mask];
	return taken;
}

uint64_t xa_timeout_ns(uint8_t timeout)
{
	return timeout ? 4096ull << timeout : 0;
}
