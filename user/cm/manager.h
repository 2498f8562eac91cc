/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manager.h - the connection manager of an instance: the passive state machine between the ring that the BPF
 * program fills and a packet socket, and the sign of life that makes the program fill it.
 */
#ifndef XATOMIC_CM_MANAGER_H
#define XATOMIC_CM_MANAGER_H

#include "loop.h"
#include "passive.h"
#include "qps.h"

struct ring_buffer;

struct cm_manager_attr {
	struct cm_loop *loop;
	struct cm_qps *qps;
	const struct cm_policy *policy;
	const struct cm_ports *ports;
	const struct cm_reporter *reporter;
	uint32_t max_half_open;
	uint32_t requests_per_second;
};

struct cm_manager {
	struct cm_source ring; /* must be first; libbpf's descriptor */
	struct cm_manager_attr attr;
	struct ring_buffer *buffer;
	struct xa_agent *agent;            /* the map itself */
	struct xa_connection *connections; /* likewise */
	struct cm_passive passive;
	int packet; /* socket */
	int left;   /* packets that may be taken in this turn */
	uint64_t opened, next_beat;
};

/*
 * Takes over the queue pairs that were made by a manager before, and takes down those that it did not finish, or
 * that cannot go on without it. Returns 0, or -1 with xa_error(); to be closed in either case.
 */
int cm_manager_open(struct cm_manager *manager, const struct cm_manager_attr *attr);

/* Does what is due. Returns when there is more to do. */
uint64_t cm_manager_timer(struct cm_manager *manager, uint64_t now_ns);

/* Leaves the queue pairs alone. */
void cm_manager_close(struct cm_manager *manager);

#endif
