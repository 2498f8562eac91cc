/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transport.h - what carries frames between a device's queue pairs and the wire. Another way to the wire is
 * another set of these operations.
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
	const char *name;

	/*
	 * Sends up to XA_BATCH frames. What does not fit into the interface's queue is lost, as on any
	 * network. Returns 0, or a negative errno when the interface is of no use any more.
	 */
	int (*send)(struct xa_transport *transport, const struct xa_frame *frames, unsigned int n);

	/* Takes up to XA_BATCH frames that have arrived, without waiting. Returns their number or an errno. */
	int (*receive)(struct xa_transport *transport, struct xa_frame *frames);

	/*
	 * Lets packets for a queue pair in, which nothing did before, and no longer. Returns 0 or a
	 * negative errno.
	 */
	int (*admit)(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn);
	void (*dismiss)(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn);

	/* Readable when a frame may have arrived. */
	int (*fd)(const struct xa_transport *transport);

	void (*close)(struct xa_transport *transport);
};

struct xa_transport {
	const struct xa_transport_ops *ops;
};

/*
 * AF_PACKET, in the calling thread's network namespace: copies of the packets, which go on to the kernel's
 * stack too. With one queue pair, only RoCEv2 packets for it are let through (and frames with VLAN tags
 * inside, which are left to the parser); with several, all RoCEv2 packets. Returns 0 or a negative errno.
 */
int xa_packet_open(int ifindex, struct xa_transport **transport);

/*
 * AF_XDP, in the calling thread's network namespace: the packets themselves, which the kernel's stack does not
 * see. Receive queue 0 only. Returns 0 or a negative errno: -EBUSY when the interface runs an XDP program.
 */
int xa_xdp_open(int ifindex, struct xa_transport **transport);

#endif
