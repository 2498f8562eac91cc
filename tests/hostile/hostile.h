/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile.h - requesters and the host's own threads at work on shared words across a wire that cannot be
 * trusted, and the record of all that they did.
 */
#ifndef XATOMIC_TEST_HOSTILE_H
#define XATOMIC_TEST_HOSTILE_H

#include <stdatomic.h>

#include "lib/attach.h"
#include "lib/qps.h"
#include "linear.h"
#include "tests/fuzz/rng.h"
#include "tests/hostile/wire.h"
#include "xatomic/mr.h"
#include "xatomic/requester.h"

enum { WORDS = 8, MAX_NODES = 15, MAX_REQUESTERS = 48, HOSTS = 2 };

struct options {
	const char *bpffs;
	const char *prefix; /* of the lab: PREFIX-resp, PREFIX-wire, PREFIX-node1... */
	unsigned nodes;
	unsigned qps; /* of each node */
	unsigned
		window; /* of the first queue pair; the others have a fourth and a sixteenth of it */
	unsigned timeout; /* verbs encoding */
	unsigned round;   /* operations of the requesters between two judgements */
	double corrupt, duplicate, reorder; /* percent */
	uint64_t seed;
};

struct world {
	struct options options;
	struct xa_place place;
	struct xatomic_mr *mr;
	xatomic_word *words;
	uint64_t iova;
	uint32_t rkey;
	atomic_uint tags[WORDS]; /* numbers the swaps of a word */
	atomic_ulong completed;  /* by requesters */
	atomic_bool over;
};

/* What the operations of one actor have in common; the actor's number is its process in the history. */
struct actor {
	struct world *world;
	struct rng rng;
	unsigned process;
	bool holds_lock, lock_is_busy;
	struct linear_op *ops;
	uint32_t count, room;
};

struct requester {
	struct actor actor;
	pthread_t thread;
	unsigned node;
	unsigned window; /* operations in flight, and the depth of the responder's window */
	enum xa_family family;
	enum xatomic_transport transport;
	struct xatomic_qp *qp;
	uint32_t rqpn;
	uint32_t done; /* operations before this one have completed, or are unknown */
	uint32_t quota;
	bool gone;         /* the queue pair is in error */
	bool broken;       /* what failed should not; the reason has been told */
	unsigned failures; /* of the queue pair, retries exceeded */
	unsigned refused; /* completions with an error that a right responder gives no reason for */
	uint64_t unknown;
	struct xatomic_qp_counters counters; /* of queue pairs before this one */
};

struct host {
	struct actor actor;
	pthread_t thread;
};

/* --- work.c: what actors do --- */

/* The next operation of an actor, recorded but for its times and result. */
struct linear_op *work_next(struct actor *actor, bool is_host);

/* Has come to its end, one way or the other. */
void work_done(struct actor *actor, const struct linear_op *op);

/* Everything to zero; nobody is at work. */
void work_reset(struct world *world);

uint64_t now_ns(void);

/* --- requester.c --- */

/* Both ends of the queue pair. Returns 0, or -1 with xa_error(). */
int requester_open(struct requester *requester);
void requester_close(struct requester *requester);
void *requester_run(void *requester);

/* All counters since the beginning. */
struct xatomic_qp_counters requester_counters(const struct requester *requester);

/* Does the responder expect what the requester will send next? */
bool requester_agrees(const struct requester *requester);

/* --- host.c --- */

void *host_run(void *host);

/* --- wire.c --- */

/* Connects both ends of each node's patch of wire. Returns 0, or -1 with xa_error(). */
int wire_open(const struct options *options);
void wire_close(void);
void wire_set(const struct options *options, double loss, uint64_t seed);
void wire_count(struct wire_counters counters[WIRE_WAYS]);

#endif
