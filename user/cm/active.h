/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * active.h - the active side of RDMA-CM (IBA 12.9; Linux ib_cm) as a pure state machine: no socket, no clock.
 *
 *	CONNECTING --REP, RTU sent--> ESTABLISHED --disconnect, DREQ sent--> CLOSING --DREP--> CLOSED
 *	     |                             | DREQ, DREP sent
 *	     +--REJ, or no answer--> FAILED +----------------------------------------> CLOSED
 */
#ifndef XATOMIC_CM_ACTIVE_H
#define XATOMIC_CM_ACTIVE_H

#include "datagram.h"

enum cm_active_state {
	CM_ACTIVE_CONNECTING,
	CM_ACTIVE_ESTABLISHED,
	CM_ACTIVE_CLOSING,
	CM_ACTIVE_CLOSED,
	CM_ACTIVE_FAILED,
};

struct cm_active_attr {
	struct cm_way way;
	uint16_t port; /* of RDMA_PS_TCP */
	uint32_t lqpn;
	uint32_t comm_id; /* random */
	uint64_t tid, ca_guid;
	uint8_t depth;     /* atomics in flight that are wanted */
	uint8_t timeout;   /* of the queue pair, verbs' encoding */
	uint8_t retry_cnt; /* likewise, 0-7 */
	const char *mr;    /* wanted memory region, up to CM_WISH_NAME characters; NULL: any */
	void (*send)(void *data, const struct cm_way *way, const struct cm_mad *mad);
	void *data;
};

/* What a REP told. */
struct cm_active_result {
	uint32_t rqpn;
	uint32_t psn;  /* to start with */
	uint8_t depth; /* atomics in flight that are granted */
	bool has_offer;
	uint32_t rkey;
	uint64_t iova, length;
	uint8_t access;
	char mr[XA_NAME_LEN];
};

struct cm_active {
	struct cm_active_attr attr;
	enum cm_active_state state;
	struct cm_mad request; /* that is to be answered: REQ or DREQ */
	uint64_t deadline;     /* XA_NEVER: none */
	unsigned int tries;    /* left */
	uint32_t remote_comm_id;
	struct cm_active_result result;
	int reason; /* of a REJ; 0: there was no answer */
	char text[CM_REFUSAL_TEXT + 1];
};

/* Sends the REQ. */
void cm_active_connect(struct cm_active *active, const struct cm_active_attr *attr, uint64_t now);

/* Sends the DREQ, if the connection is established. */
void cm_active_disconnect(struct cm_active *active, uint64_t now);

/* A datagram for QP 1 has come from anywhere. */
void cm_active_receive(struct cm_active *active, uint64_t now, const struct cm_way *way,
		       const struct cm_mad *mad);

/* Does what is due. */
void cm_active_timer(struct cm_active *active, uint64_t now);

/* What the reason of a REJ means, in words. */
const char *cm_reason_text(int reason);

#endif
