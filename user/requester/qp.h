/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp.h - a queue pair: the engine and a path, on a device.
 */
#ifndef XATOMIC_REQUESTER_QP_H
#define XATOMIC_REQUESTER_QP_H

#include "device.h"
#include "engine.h"
#include "frame.h"

struct xatomic_qp {
	struct xa_engine engine;
	struct xa_path path;
	struct xa_template template;
	struct xatomic_device *device;
	bool owns_device;
	bool is_busy, is_ready; /* in that list of the device */
	TAILQ_ENTRY(xatomic_qp) busy_link, ready_link;
	int port_fd; /* keeps the kernel from answering responses with ICMP; -1: none */
	char hint[160];
};

/*
 * Makes a queue pair of attributes taken as checked and a path, on a device. Returns 0, -ENOMEM, -EEXIST when
 * the device has one with this local QPN, or another negative errno.
 */
int xa_qp_create(const struct xatomic_qp_attr *attr, const struct xa_path *path,
		 struct xatomic_device *device, struct xatomic_qp **qp);

/* Returns 0, or -1 with xa_error(). */
int xa_qp_check_attr(const struct xatomic_qp_attr *attr);

static inline bool xa_qp_has_completion(const struct xatomic_qp *qp)
{
	return qp->engine.cq_head < qp->engine.cq_tail;
}

#endif
