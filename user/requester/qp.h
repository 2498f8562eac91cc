/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp.h - a queue pair: the engine, a path and a transport put together.
 */
#ifndef XATOMIC_REQUESTER_QP_H
#define XATOMIC_REQUESTER_QP_H

#include "engine.h"
#include "frame.h"
#include "transport.h"

struct xatomic_qp {
	struct xa_engine engine;
	struct xa_path path;
	struct xa_template template;
	struct xa_transport *transport;
	int ifindex;
	int port_fd; /* keeps the kernel from answering responses with ICMP; -1: none */
	char *netns; /* where the interface is; NULL: the caller's namespace */
	uint64_t (*clock)(void);
	char hint[160];
	struct xa_frame frames[XA_BATCH];
};

/*
 * Makes a queue pair of attributes taken as checked, a path and a transport, which it owns afterwards.
 * Returns 0 or -ENOMEM.
 */
int xa_qp_create(const struct xatomic_qp_attr *attr, const struct xa_path *path,
		 struct xa_transport *transport, struct xatomic_qp **qp);

/* Returns 0, or -1 with xa_error(). */
int xa_qp_check_attr(const struct xatomic_qp_attr *attr);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t xa_clock_ns(void);

#endif
