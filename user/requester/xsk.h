/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xsk.h - an AF_XDP socket with its four rings and the memory of its frames.
 */
#ifndef XATOMIC_REQUESTER_XSK_H
#define XATOMIC_REQUESTER_XSK_H

#include <stdbool.h>
#include <stddef.h>

#include "ring.h"
#include "transport.h"

enum {
	XA_XSK_CHUNK = 2048, /* bytes per frame: the kernel's least */
	XA_XSK_RX_FRAMES = 2048,
	XA_XSK_TX_FRAMES = 1024,
	XA_XSK_MEMORY = (XA_XSK_RX_FRAMES + XA_XSK_TX_FRAMES) * XA_XSK_CHUNK,
};

struct xa_mapping {
	void *base; /* NULL: none */
	size_t size;
};

struct xa_xsk {
	int fd;
	struct xa_mapping
		memory; /* the frames: those for receiving first, then those for sending */
	struct xa_mapping maps[4];
	struct xa_ring fill, rx;          /* entries: offsets into the memory; struct xdp_desc */
	struct xa_ring tx, completion;    /* struct xdp_desc; offsets */
	uint64_t spare[XA_XSK_TX_FRAMES]; /* offsets of frames that may be filled and sent */
	unsigned int spares;
};

/*
 * Opens a socket on receive queue 0 of the interface in the calling thread's network namespace, with every
 * frame for receiving handed to the kernel. Returns 0 or a negative errno: -EBUSY when another socket has it.
 */
int xa_xsk_open(int ifindex, struct xa_xsk *xsk);
void xa_xsk_close(struct xa_xsk *xsk);

/*
 * Puts up to `n` frames into the ring for sending, after taking back what has been sent. Returns how many found
 * room.
 */
unsigned int xa_xsk_put(struct xa_xsk *xsk, const struct xa_frame *frames, unsigned int n);

/* Has the kernel still to take frames out of the ring for sending? */
bool xa_xsk_is_sending(const struct xa_xsk *xsk);

/* Copies up to `n` frames that have arrived, and gives their memory back. Returns their number. */
unsigned int xa_xsk_take(struct xa_xsk *xsk, struct xa_frame *frames, unsigned int n);

/* Declares every frame for receiving and for sending free; part of xa_xsk_open(). */
void xa_xsk_fill(struct xa_xsk *xsk);

#endif
