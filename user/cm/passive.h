/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * passive.h - the passive side of RDMA-CM (IBA 12.9; Linux ib_cm) as a pure state machine: no socket, no clock,
 * no map but the array of connections that it is given, which it keeps such that another one can go on with it.
 *
 *	          REQ, good                RTU, or a request on the QP
 *	NONE ------------------> HALF_OPEN ----------------------------> ESTABLISHED
 *	  ^   QP made, REP sent   |  REP sent again until the peer       |
 *	  |                       |  answers                             |
 *	  +-----------------------+--------------------------------------+
 *	   REJ, or no answer at all: QP taken down      DREQ: QP taken down, DREP sent
 *
 * A connection is found by its local id, which holds the QPN and so the index, or among its peer's, which hang
 * together in a chain. Nothing that a stranger can guess takes down a connection: a REQ that seems to show that
 * the peer has forgotten one (same QPN, another id) is refused as stale, and the peer is asked by a copy of the
 * old REP, which a living peer answers with its RTU.
 *
 * Memory is bounded: connections by queue pairs, half-open ones by a limit of their own, and those that are over
 * are remembered in a ring of fixed size, so that late copies of their REQ make no new ones.
 */
#ifndef XATOMIC_CM_PASSIVE_H
#define XATOMIC_CM_PASSIVE_H

#include "datagram.h"
#include "event.h"
#include "policy.h"

enum { CM_REFUSAL_LEN = CM_REFUSAL_TEXT + 1, CM_RING = 256 };

/* What a REQ asks for. */
struct cm_asked {
	struct xa_ip peer, local;
	uint32_t rqpn;
	uint8_t depth;  /* atomics that the peer wants in flight */
	uint16_t port;  /* of RDMA_PS_TCP */
	const char *mr; /* NULL: any */
};

/* What it gets: a queue pair that is ready to receive. */
struct cm_granted {
	uint32_t lqpn;
	uint32_t psn;
	uint8_t depth;
	uint8_t access;
	uint32_t rkey;
	uint64_t iova, length;
	char mr[XA_NAME_LEN];
};

struct cm_passive_ops {
	/*
	 * Returns 0, or the reason of a REJ (enum cm_reason) with a text, which goes to the peer if the reason is
	 * CM_REASON_CONSUMER.
	 */
	int (*accept)(void *data, const struct cm_asked *asked, struct cm_granted *granted,
		      char text[CM_REFUSAL_LEN]);
	void (*remove)(void *data, uint32_t lqpn);
	/* Requests that the queue pair has had; 0 also when it is not there any more, with *gone true. */
	uint64_t (*requests)(void *data, uint32_t lqpn, bool *gone);
	void (*send)(void *data, const struct cm_way *way, const struct cm_mad *mad);
	uint32_t (*random)(void *data);
};

struct cm_passive_attr {
	const struct cm_ports *ports;
	uint32_t max_half_open;
	uint32_t requests_per_second; /* REQs; as many other messages that need an answer */
	uint64_t ca_guid;
	uint32_t max; /* connections, a power of two */
	struct xa_connection *connections;
	const struct cm_passive_ops *ops;
	void *data;
	const struct cm_reporter *reporter;
};

/* A connection that waits for its peer: half-open, or established and asked for a sign of life. */
struct cm_waiting {
	uint32_t index;
	uint32_t tries; /* left */
	uint64_t since, deadline;
	uint64_t requests; /* when the peer was asked */
};

/* A connection that is over. */
struct cm_past {
	uint64_t until;
	uint64_t guid;
	uint32_t remote_comm_id;
};

struct cm_passive_counters {
	uint64_t received, garbage, limited, refused, evicted;
};

struct cm_passive {
	struct cm_passive_attr attr;
	uint32_t *heads, *next; /* chains of peers */
	uint64_t *rested;       /* when a peer may be asked for a sign of life again */
	uint32_t inherited; /* connections of a process before, from here on, are to be asked yet */
	struct cm_waiting *waiting;
	uint32_t waiting_count, waiting_max, half_open;
	struct cm_past past[CM_RING];
	uint32_t past_at;
	struct cm_bucket requests, answers;
	struct cm_passive_counters counters;
};

/* Goes on with the connections that are there. Returns 0, or -1 with xa_error(). */
int cm_passive_init(struct cm_passive *passive, const struct cm_passive_attr *attr, uint64_t now);
void cm_passive_free(struct cm_passive *passive);

/* A datagram has come; `way` is the one back. */
void cm_passive_receive(struct cm_passive *passive, uint64_t now, const struct cm_way *way,
			const struct cm_mad *mad);

/* Does what is due. Returns when there is more to do, XA_NEVER: nothing. */
uint64_t cm_passive_timer(struct cm_passive *passive, uint64_t now);

#endif
