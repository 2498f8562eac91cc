/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xsk_frames.c - how frames go through the rings of an AF_XDP socket. Makes no system call.
 */
#include <linux/if_xdp.h>
#include <string.h>

#include "xsk.h"

static uint8_t *memory_at(const struct xa_xsk *xsk, uint64_t offset)
{
	return (uint8_t *)xsk->memory.base + offset;
}

void xa_xsk_fill(struct xa_xsk *xsk)
{
	uint64_t *offsets = xsk->fill.entries;

	while (xsk->fill.own < XA_XSK_RX_FRAMES) {
		offsets[xsk->fill.own] = (uint64_t)xsk->fill.own * XA_XSK_CHUNK;
		xsk->fill.own++;
	}
	xa_ring_produce(&xsk->fill);
	for (; xsk->spares < XA_XSK_TX_FRAMES; xsk->spares++)
		xsk->spare[xsk->spares] = (uint64_t)(XA_XSK_RX_FRAMES + xsk->spares) * XA_XSK_CHUNK;
}

static void reclaim(struct xa_xsk *xsk)
{
	struct xa_ring *done = &xsk->completion;
	const uint64_t *offsets = done->entries;

	for (uint32_t n = xa_ring_pending(done); n; n--)
		xsk->spare[xsk->spares++] = offsets[done->own++ & done->mask];
	xa_ring_consume(done);
}

unsigned int xa_xsk_put(struct xa_xsk *xsk, const struct xa_frame *frames, unsigned int n)
{
	struct xa_ring *tx = &xsk->tx;
	struct xdp_desc *descs = tx->entries;
	uint32_t room;

	reclaim(xsk);
	room = xa_ring_room(tx);
	if (n > room)
		n = room;
	if (n > xsk->spares)
		n = xsk->spares;
	for (unsigned int i = 0; i < n; i++) {
		uint64_t offset = xsk->spare[--xsk->spares];

		memcpy(memory_at(xsk, offset), frames[i].bytes, frames[i].len);
		descs[tx->own++ & tx->mask] =
			(struct xdp_desc){.addr = offset, .len = frames[i].len};
	}
	xa_ring_produce(tx);
	return n;
}

bool xa_xsk_is_sending(const struct xa_xsk *xsk)
{
	return xa_ring_room(&xsk->tx) <= xsk->tx.mask;
}

unsigned int xa_xsk_take(struct xa_xsk *xsk, struct xa_frame *frames, unsigned int n)
{
	struct xa_ring *rx = &xsk->rx, *fill = &xsk->fill;
	const struct xdp_desc *descs = rx->entries;
	uint32_t pending = xa_ring_pending(rx);
	uint64_t *offsets = fill->entries;

	if (n > pending)
		n = pending;
	for (unsigned int i = 0; i < n; i++) {
		const struct xdp_desc *desc = &descs[rx->own++ & rx->mask];

		frames[i].len = desc->len < XA_FRAME_MAX ? desc->len : XA_FRAME_MAX;
		memcpy(frames[i].bytes, memory_at(xsk, desc->addr), frames[i].len);
		/* The frame lies somewhat behind the start of its memory. */
		offsets[fill->own++ & fill->mask] = desc->addr & ~(uint64_t)(XA_XSK_CHUNK - 1);
	}
	xa_ring_consume(rx);
	xa_ring_produce(fill);
	return n;
}
