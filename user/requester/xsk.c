/* SPDX-License-Identifier: BSD-2-Clause */
#include "xsk.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SEND_BUFFER = 4 << 20, BUSY_TRIES = 100, BUSY_PAUSE_MS = 10 };

static int map(struct xa_mapping *mapping, size_t size, int flags, int fd, off_t at)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, fd, at);

	if (base == MAP_FAILED)
		return -errno;
	*mapping = (struct xa_mapping){.base = base, .size = size};
	return 0;
}

static void unmap(struct xa_mapping *mapping)
{
	if (mapping->base)
		munmap(mapping->base, mapping->size);
	mapping->base = NULL;
}

static int set(const struct xa_xsk *xsk, int option, const void *value, socklen_t len)
{
	return setsockopt(xsk->fd, SOL_XDP, option, value, len) ? -errno : 0;
}

static int set_size(const struct xa_xsk *xsk, int option, uint32_t entries)
{
	return set(xsk, option, &entries, sizeof(entries));
}

static int add_memory(struct xa_xsk *xsk)
{
	struct xdp_umem_reg reg = {.len = XA_XSK_MEMORY, .chunk_size = XA_XSK_CHUNK};
	int error = map(&xsk->memory, XA_XSK_MEMORY, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (error)
		return error;
	reg.addr = (uintptr_t)xsk->memory.base;
	return set(xsk, XDP_UMEM_REG, &reg, sizeof(reg));
}

static int map_ring(struct xa_xsk *xsk, int nth, struct xa_ring *ring,
		    const struct xdp_ring_offset *offset, uint32_t entries, size_t entry, off_t at)
{
	size_t size = offset->desc + entries * entry;
	int error = map(&xsk->maps[nth], size, MAP_SHARED, xsk->fd, at);
	char *base = xsk->maps[nth].base;

	if (error)
		return error;
	*ring = (struct xa_ring){
		.producer = (uint32_t *)(base + offset->producer),
		.consumer = (uint32_t *)(base + offset->consumer),
		.entries = base + offset->desc,
		.mask = entries - 1,
	};
	return 0;
}

static int size_rings(struct xa_xsk *xsk)
{
	int error = set_size(xsk, XDP_UMEM_FILL_RING, XA_XSK_RX_FRAMES);

	if (!error)
		error = set_size(xsk, XDP_RX_RING, XA_XSK_RX_FRAMES);
	if (!error)
		error = set_size(xsk, XDP_TX_RING, XA_XSK_TX_FRAMES);
	if (!error)
		error = set_size(xsk, XDP_UMEM_COMPLETION_RING, XA_XSK_TX_FRAMES);
	return error;
}

static int map_rings(struct xa_xsk *xsk)
{
	const size_t desc = sizeof(struct xdp_desc), offset = sizeof(uint64_t);
	struct xdp_mmap_offsets at;
	socklen_t len = sizeof(at);
	int error;

	if (getsockopt(xsk->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &len))
		return -errno;
	error = map_ring(xsk, 0, &xsk->fill, &at.fr, XA_XSK_RX_FRAMES, offset,
			 XDP_UMEM_PGOFF_FILL_RING);
	if (!error)
		error = map_ring(xsk, 1, &xsk->rx, &at.rx, XA_XSK_RX_FRAMES, desc,
				 XDP_PGOFF_RX_RING);
	if (!error)
		error = map_ring(xsk, 2, &xsk->tx, &at.tx, XA_XSK_TX_FRAMES, desc,
				 XDP_PGOFF_TX_RING);
	if (!error)
		error = map_ring(xsk, 3, &xsk->completion, &at.cr, XA_XSK_TX_FRAMES, offset,
				 XDP_UMEM_PGOFF_COMPLETION_RING);
	return error;
}

/*
 * The kernel may send without a copy where the driver can; where it cannot, it copies. It takes a queue back
 * from a closed socket a moment later, so a queue that is taken may be free soon.
 */
static int bind_queue(const struct xa_xsk *xsk, int ifindex)
{
	struct sockaddr_xdp address = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_USE_NEED_WAKEUP,
		.sxdp_ifindex = ifindex,
	};
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_MS * 1000000L};

	for (int i = 0; i < BUSY_TRIES; i++) {
		if (!bind(xsk->fd, (struct sockaddr *)&address, sizeof(address)))
			return 0;
		if (errno != EBUSY)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

int xa_xsk_open(int ifindex, struct xa_xsk *xsk)
{
	int sndbuf = SEND_BUFFER, error;

	*xsk = (struct xa_xsk){.fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)};
	if (xsk->fd < 0)
		return -errno;
	/* Of use, but nothing depends on it. */
	if (setsockopt(xsk->fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf)))
		setsockopt(xsk->fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	error = add_memory(xsk);
	if (!error)
		error = size_rings(xsk);
	if (!error)
		error = map_rings(xsk);
	if (!error) {
		xa_xsk_fill(xsk);
		error = bind_queue(xsk, ifindex);
	}
	if (error)
		xa_xsk_close(xsk);
	return error;
}

void xa_xsk_close(struct xa_xsk *xsk)
{
	for (int i = 0; i < 4; i++)
		unmap(&xsk->maps[i]);
	close(xsk->fd);
	unmap(&xsk->memory);
}
