/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transport.h - what carries frames for a queue pair. Another way to the wire (a packet ring, AF_XDP)
 * is another set of these operations.
 */
#ifndef XATOMIC_REQUESTER_TRANSPORT_H
#define XATOMIC_REQUESTER_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

enum { XA_BATCH = 64 };

struct xa_frame {
	size_t len;
	uint8_t bytes[XA_FRAME_MAX]; /* longer frames arrive cut: none of them is ours */
};

struct xa_transport;

struct xa_transport_ops {
	/*
	 * Sends up to XA_BATCH frames. What does not fit into the interface's queue is lost, as on any
	 * network. Returns 0, or a negative errno when the interface is of no use any more.
	 */
	int (*send)(struct xa_transport *transport, const struct xa_frame *frames, unsigned int n);

	/* Takes up to XA_BATCH frames that have arrived, without waiting. Returns their number or an errno. */
	int (*receive)(struct xa_transport *transport, struct xa_frame *frames);

	/* Readable when a frame may have arrived. */
	int (*fd)(const struct xa_transport *transport);

	void (*close)(struct xa_transport *transport);
};

struct xa_transport {
	const struct xa_transport_ops *ops;
};

/*
 * AF_PACKET, in the calling thread's network namespace. Only RoCEv2 packets for QP `lqpn` are let through
 * (and frames with two VLAN tags, which are left to the parser). Returns 0 or a negative errno.
 */
int xa_packet_open(int ifindex, uint32_t lqpn, struct xa_transport **transport);

#endif
