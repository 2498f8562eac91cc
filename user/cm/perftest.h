/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perftest.h - the server's side of the exchange that perftest's ib_atomic_lat and ib_atomic_bw make over TCP
 * before and after their run, as a pure state machine: no socket, no clock.
 *
 * The client writes first, item by item, and the server answers each with one of the same size (perftest
 * 4.5 to 6.x, src/perftest_communication.c; checked against the clients of Debian 12):
 *
 *	version 16 bytes, cycle buffer 4, cache line 4, path MTU 2, then any number of
 *	key     108: a queue pair, in hexadecimal text
 *	report  8, five times: figures of a bandwidth test
 *	"done"  5: the end
 *
 * What comes is told by its first byte, so that latency and bandwidth tests with any number of queue pairs
 * need no further distinction. Only the client issues atomics, and only a client that wants the server to
 * issue some as well (-b) has to be refused: it sends a key before its run where others send one behind it.
 *
 * With one queue pair that is four keys before the run, and so it is in a latency test. But a latency test
 * connects its queue pair after its second key, a bandwidth test after the first. So the first key is answered by
 * one of our queue pairs and the others by another, its twin; and when a fourth key comes and nothing has been
 * asked of either, the first loses its access: a latency test does not need it, and the first atomic of one that
 * wants more is NAKed.
 */
#ifndef XATOMIC_CM_PERFTEST_H
#define XATOMIC_CM_PERFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/address.h"

enum { CM_PT_KEY_LEN = 108, CM_PT_WHY_LEN = 160, CM_PT_MAX_QPS = 256 };

/* A queue pair as one side tells it to the other. */
struct cm_pt_key {
	uint32_t lid;
	uint32_t out_reads; /* READs and atomics that it serves at once */
	uint32_t qpn;
	uint32_t psn; /* of its first request */
	uint32_t rkey;
	uint64_t va;
	struct xa_ip ip;
	uint32_t srqn;
};

/* What the exchange needs from outside. */
struct cm_pt_ops {
	/*
	 * Connects a queue pair to the client's; `cycle` bytes from ours->va on are what the client will
	 * use. Fills qpn, psn, out_reads, rkey, va and ip of *ours. Returns false with a sentence in `why`.
	 */
	bool (*connect)(void *data, const struct cm_pt_key *client, uint32_t cycle,
			struct cm_pt_key *ours, char why[CM_PT_WHY_LEN]);
	/* Has this queue pair, or with QPN 0 any of this exchange, had a request? */
	bool (*is_used)(void *data, uint32_t qpn);
	/* Lets the client have no atomics any more on one of them. */
	void (*revoke)(void *data, uint32_t qpn);
};

enum cm_pt_item {
	CM_PT_VERSION,
	CM_PT_CYCLE,
	CM_PT_CACHE_LINE,
	CM_PT_MTU,
	CM_PT_ANY, /* told by its first byte */
	CM_PT_KEY,
	CM_PT_REPORT,
	CM_PT_END,
};

enum cm_pt_verdict {
	CM_PT_MORE,    /* nothing to say yet */
	CM_PT_ANSWER,  /* out_len bytes of `out` are to be sent, in one piece */
	CM_PT_CLOSE,   /* the same, and that was all */
	CM_PT_REFUSED, /* `why` tells the reason */
};

struct cm_perftest {
	const struct cm_pt_ops *ops;
	void *data;
	enum cm_pt_item item;
	uint8_t in[CM_PT_KEY_LEN], out[CM_PT_KEY_LEN];
	size_t have, out_len;
	uint32_t cycle;
	uint32_t keys;           /* that have come, repeated ones included */
	bool used_at_last_key;   /* the run had begun when the last key came */
	bool has_twin, split;    /* split: only the twin may be used any more */
	struct cm_pt_key twin;   /* of the only queue pair */
	unsigned int figures;    /* of the report that are still to come */
	char version[16];        /* the client's */
	char why[CM_PT_WHY_LEN]; /* of a refusal */
	size_t qp_count;
	struct {
		uint32_t client_qpn;
		struct cm_pt_key ours;
	} qps[CM_PT_MAX_QPS];
};

void cm_perftest_init(struct cm_perftest *exchange, const struct cm_pt_ops *ops, void *data);

/* Where the next bytes of the client are to be put, and how many it may be at most: never beyond an item. */
size_t cm_perftest_room(struct cm_perftest *exchange, uint8_t **at);

/* `len` bytes have been put there. */
enum cm_pt_verdict cm_perftest_take(struct cm_perftest *exchange, size_t len);

/* The client has closed the connection: NULL, or a reason that we have given it. */
const char *cm_perftest_hung_up(const struct cm_perftest *exchange);

/* Does the exchange wait for the client's run to end, which may take for ever? */
bool cm_perftest_is_running(const struct cm_perftest *exchange);

/* A key as text with a NUL, and back; false when it is none. */
void cm_pt_key_print(const struct cm_pt_key *key, char text[CM_PT_KEY_LEN]);
bool cm_pt_key_parse(struct cm_pt_key *key, const char text[CM_PT_KEY_LEN]);

#endif
