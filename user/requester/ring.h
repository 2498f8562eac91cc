/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - one side of a ring that is shared with the kernel (if_xdp.h): a producer's and a consumer's index,
 * which only grow and wrap, and a power of two of entries.
 *
 * Entries are handed over by storing the own index with release order, and are seen after the other's has
 * been loaded with acquire order.
 */
#ifndef XATOMIC_REQUESTER_RING_H
#define XATOMIC_REQUESTER_RING_H

#include <stdint.h>

struct xa_ring {
	uint32_t *producer, *consumer; /* in shared memory */
	void *entries;
	uint32_t mask; /* entries - 1 */
	uint32_t own;  /* this side's index, ahead of the shared one until it is handed over */
};

/* As producer: entries that may be filled, from index ring->own on. */
static inline uint32_t xa_ring_room(const struct xa_ring *ring)
{
	return ring->mask + 1 - (ring->own - __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE));
}

/* As consumer: entries that may be read, from index ring->own on. */
static inline uint32_t xa_ring_pending(const struct xa_ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - ring->own;
}

static inline void xa_ring_produce(struct xa_ring *ring)
{
	__atomic_store_n(ring->producer, ring->own, __ATOMIC_RELEASE);
}

static inline void xa_ring_consume(struct xa_ring *ring)
{
	__atomic_store_n(ring->consumer, ring->own, __ATOMIC_RELEASE);
}

#endif
