/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine.h - the send side of an RC queue pair as a pure state machine: no input, no output, no clock.
 *
 * The owner tells it what was posted, what has arrived and what time it is, and asks it what to send and
 * when to ask again. Times are nanoseconds of any monotonic clock.
 *
 * Every work request is one packet, so the nth request ever posted has PSN sq_psn + n, and one ring
 * indexed by n serves as send queue and as replay buffer:
 *
 *	acked ........ next ........ sent ........ rung ........ posted
 *	  |  in flight   | to be      | waits for    | waits for   |
 *	  |              | sent again | the window   | the doorbell
 *
 * A slot is looked up by the distance of a response's PSN from that of `acked`: no search anywhere.
 */
#ifndef XATOMIC_REQUESTER_ENGINE_H
#define XATOMIC_REQUESTER_ENGINE_H

#include <stdbool.h>

#include "xatomic/requester.h"

#define XA_NEVER  UINT64_MAX
#define XA_NO_PSN UINT32_MAX

enum { XA_RNR_RETRY_ENDLESS = 7, XA_MAX_SEND_WR = 1 << 20 };

struct xa_engine_attr {
	uint32_t qp_num; /* for completions */
	uint32_t sq_psn;
	uint32_t max_send_wr;   /* 1 to XA_MAX_SEND_WR */
	uint32_t max_rd_atomic; /* 1 to XATOMIC_MAX_RD_ATOMIC */
	uint64_t timeout_ns;    /* 0: never */
	uint8_t retry_cnt;
	uint8_t rnr_retry; /* XA_RNR_RETRY_ENDLESS: always once more */
};

/* What a request's packet says. */
struct xa_request {
	uint8_t opcode;
	uint32_t psn;
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
};

/* What a response's packet says. */
struct xa_response {
	uint8_t opcode; /* ACKNOWLEDGE or ATOMIC_ACKNOWLEDGE */
	uint8_t syndrome;
	uint32_t psn;
	uint64_t original; /* 0 in an ACKNOWLEDGE */
};

struct xa_engine {
	struct xa_engine_attr attr;
	enum xatomic_qp_state state;
	struct xatomic_wr *sq;
	struct xatomic_wc *cq;
	uint32_t mask;                            /* slots of either ring - 1 */
	uint64_t acked, next, sent, rung, posted; /* requests ever, see above */
	uint64_t cq_head, cq_tail;                /* completions ever polled, posted */
	uint64_t deadline;                        /* of the retry timer, or of the RNR wait */
	bool rnr_wait;
	bool restarted; /* upon a NAK, and no progress since: later signs of the same loss say nothing */
	uint8_t retries, rnr_retries; /* left until progress */
	uint32_t
		asked_psn; /* a PSN not in flight that a sequence NAK asked for since, XA_NO_PSN: none */
	struct xatomic_qp_counters counters;
};

/* Returns 0 or -ENOMEM. The attributes are taken as checked. */
int xa_engine_init(struct xa_engine *engine, const struct xa_engine_attr *attr);
void xa_engine_free(struct xa_engine *engine);

/* As xatomic_post_send(). */
int xa_engine_post(struct xa_engine *engine, const struct xatomic_wr *wr);
void xa_engine_doorbell(struct xa_engine *engine);

/* The next packet to be sent, which counts as sent at `now`. False: nothing to send at the moment. */
bool xa_engine_next(struct xa_engine *engine, uint64_t now, struct xa_request *request);

/* A response that came from the peer, is for this QPN and has a right ICRC. */
void xa_engine_receive(struct xa_engine *engine, uint64_t now, const struct xa_response *response);

/* Acts if the deadline has come. */
void xa_engine_timer(struct xa_engine *engine, uint64_t now);

/* Takes up to n completions. Returns their number. */
int xa_engine_poll(struct xa_engine *engine, int n, struct xatomic_wc *wc);

/* PSN of the nth request. */
uint32_t xa_engine_psn(const struct xa_engine *engine, uint64_t n);

/* Verbs' encoding of timeouts: 4.096 us * 2^timeout; 0 is never. */
uint64_t xa_timeout_ns(uint8_t timeout);

#endif
