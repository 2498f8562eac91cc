/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h - an interface with its transport and the queue pairs that use it.
 *
 * Frames of all queue pairs are sent and received in common batches. Two lists save asking every queue pair
 * every time: `busy` ones may have something to send, `ready` ones may have completions.
 */
#ifndef XATOMIC_REQUESTER_DEVICE_H
#define XATOMIC_REQUESTER_DEVICE_H

#include <sys/queue.h>

#include "qp_table.h"
#include "transport.h"
#include "xatomic/requester.h"

TAILQ_HEAD(xa_qp_list, xatomic_qp);

struct xatomic_device {
	struct xa_transport *transport;
	char *ifname, *netns; /* netns NULL: the opener's namespace */
	int ifindex;
	struct xa_qp_table table;
	struct xa_qp_list busy, ready;
	uint64_t deadline; /* that of no queue pair's timer is earlier */
	uint64_t (*clock)(void);
	unsigned int filled;    /* of `out` */
	unsigned int allowance; /* frames that may be sent before some must be taken in */
	struct xa_frame out[XA_BATCH], in[XA_BATCH];
};

/* Makes a device on a transport, which it owns afterwards. Returns 0 or -ENOMEM. */
int xa_device_create(struct xa_transport *transport, struct xatomic_device **device);

/* Returns 0, -EEXIST when the device has a queue pair with this local QPN, or another negative errno. */
int xa_device_add(struct xatomic_device *device, struct xatomic_qp *qp);
void xa_device_remove(struct xatomic_device *device, struct xatomic_qp *qp);

/* Any of the two may have become true of it, so see to it. */
void xa_device_note_busy(struct xatomic_device *device, struct xatomic_qp *qp);
void xa_device_note_ready(struct xatomic_device *device, struct xatomic_qp *qp);

/* Sends what busy queue pairs may send at the moment. Returns 0 or a negative errno. */
int xa_device_transmit(struct xatomic_device *device);

/*
 * As xatomic_poll_cq() and xatomic_wait() of one queue pair; with NULL, as xatomic_device_poll() and
 * xatomic_device_wait().
 */
int xa_device_poll(struct xatomic_device *device, struct xatomic_qp *qp, int n,
		   struct xatomic_wc *wc);
int xa_device_wait(struct xatomic_device *device, const struct xatomic_qp *qp, int timeout_ms);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t xa_clock_ns(void);

#endif
