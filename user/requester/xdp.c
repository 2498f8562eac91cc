/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdp.c - frames through an AF_XDP socket. Its XDP program (bpf/requester.bpf.c) hangs on a link that only
 * this process holds, so it goes when the process ends, however it ends.
 *
 * Sending costs one system call per batch; what arrives is found in memory shared with the kernel.
 */
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../bpf/requester.h"
#include "requester.skel.h"
#include "transport.h"
#include "xsk.h"

/* System calls before a batch is left to the next one: the kernel sends but a few frames per call. */
enum { KICKS = 64 };

struct xdp {
	struct xa_transport transport; /* must come first */
	struct xa_xsk xsk;
	struct requester_bpf *bpf;
	uint64_t spare[XA_XSK_TX_FRAMES]; /* offsets of frames that may be filled and sent */
	unsigned int spares;
};

static uint8_t *memory_at(const struct xdp *xdp, uint64_t offset)
{
	return (uint8_t *)xdp->xsk.memory.base + offset;
}

static void reclaim(struct xdp *xdp)
{
	struct xa_ring *done = &xdp->xsk.completion;
	const uint64_t *offsets = done->entries;

	for (uint32_t n = xa_ring_pending(done); n; n--)
		xdp->spare[xdp->spares++] = offsets[done->own++ & done->mask];
	xa_ring_consume(done);
}

static bool put(struct xdp *xdp, const struct xa_frame *frame)
{
	struct xa_ring *tx = &xdp->xsk.tx;
	struct xdp_desc *desc = (struct xdp_desc *)tx->entries + (tx->own & tx->mask);

	if (!xdp->spares || !xa_ring_room(tx))
		return false;
	*desc = (struct xdp_desc){.addr = xdp->spare[--xdp->spares], .len = frame->len};
	memcpy(memory_at(xdp, desc->addr), frame->bytes, frame->len);
	tx->own++;
	return true;
}

static bool is_passing(int error)
{
	return error == EAGAIN || error == EBUSY || error == ENOBUFS || error == EINTR;
}

static int kick(const struct xdp *xdp)
{
	const struct xa_ring *tx = &xdp->xsk.tx;

	for (int i = 0; i < KICKS && xa_ring_room(tx) <= tx->mask; i++)
		if (sendto(xdp->xsk.fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && !is_passing(errno))
			return -errno;
	return 0;
}

static int xdp_send(struct xa_transport *transport, const struct xa_frame *frames, unsigned int n)
{
	struct xdp *xdp = (struct xdp *)transport;

	reclaim(xdp);
	for (unsigned int i = 0; i < n && put(xdp, &frames[i]); i++)
		;
	xa_ring_produce(&xdp->xsk.tx);
	return kick(xdp);
}

/* Copies a frame and gives its memory back to the kernel. */
static void take(struct xdp *xdp, struct xa_frame *frame)
{
	struct xa_ring *rx = &xdp->xsk.rx, *fill = &xdp->xsk.fill;
	const struct xdp_desc *desc = (struct xdp_desc *)rx->entries + (rx->own++ & rx->mask);
	uint64_t *offsets = fill->entries;

	frame->len = desc->len < XA_FRAME_MAX ? desc->len : XA_FRAME_MAX;
	memcpy(frame->bytes, memory_at(xdp, desc->addr), frame->len);
	offsets[fill->own++ & fill->mask] = desc->addr & ~(uint64_t)(XA_XSK_CHUNK - 1);
}

static int xdp_receive(struct xa_transport *transport, struct xa_frame *frames)
{
	struct xdp *xdp = (struct xdp *)transport;
	uint32_t pending = xa_ring_pending(&xdp->xsk.rx);
	int n = pending < XA_BATCH ? (int)pending : XA_BATCH;

	for (int i = 0; i < n; i++)
		take(xdp, &frames[i]);
	if (n) {
		xa_ring_consume(&xdp->xsk.rx);
		xa_ring_produce(&xdp->xsk.fill);
	}
	return n;
}

static int xdp_fd(const struct xa_transport *transport)
{
	return ((const struct xdp *)transport)->xsk.fd;
}

static struct requester_key make_key(const struct xa_ip *local, uint32_t lqpn)
{
	struct requester_key key = {.lqpn = lqpn};

	memcpy(key.local, local->gid, sizeof(key.local));
	return key;
}

static int xdp_admit(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn)
{
	struct xdp *xdp = (struct xdp *)transport;
	struct requester_key key = make_key(local, lqpn);
	const __u8 value = 1;

	return bpf_map__update_elem(xdp->bpf->maps.queue_pairs, &key, sizeof(key), &value,
				    sizeof(value), BPF_ANY);
}

static void xdp_dismiss(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn)
{
	struct xdp *xdp = (struct xdp *)transport;
	struct requester_key key = make_key(local, lqpn);

	bpf_map__delete_elem(xdp->bpf->maps.queue_pairs, &key, sizeof(key), 0);
}

static void xdp_close(struct xa_transport *transport)
{
	struct xdp *xdp = (struct xdp *)transport;

	requester_bpf__destroy(xdp->bpf);
	xa_xsk_close(&xdp->xsk);
	free(xdp);
}

static const struct xa_transport_ops xdp_ops = {
	.name = "af_xdp",
	.send = xdp_send,
	.receive = xdp_receive,
	.fd = xdp_fd,
	.admit = xdp_admit,
	.dismiss = xdp_dismiss,
	.close = xdp_close,
};

/* The program comes last, when the socket that it feeds is ready. */
static int attach(struct requester_bpf *bpf, int ifindex, int fd)
{
	const __u32 queue = 0;
	struct bpf_link *link;
	int error = bpf_map__update_elem(bpf->maps.sockets, &queue, sizeof(queue), &fd, sizeof(fd),
					 BPF_ANY);

	if (error)
		return error;
	link = bpf_program__attach_xdp(bpf->progs.xatomic_requester, ifindex);
	if (!link)
		return -errno;
	bpf->links.xatomic_requester = link;
	return 0;
}

static int load(int ifindex, int fd, struct requester_bpf **bpf)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	int error;

	*bpf = requester_bpf__open_and_load();
	error = *bpf ? attach(*bpf, ifindex, fd) : -errno;
	libbpf_set_print(print);
	if (error)
		requester_bpf__destroy(*bpf);
	return error;
}

int xa_xdp_open(int ifindex, struct xa_transport **transport)
{
	struct xdp *xdp = calloc(1, sizeof(*xdp));
	int error;

	if (!xdp)
		return -ENOMEM;
	xdp->transport.ops = &xdp_ops;
	for (; xdp->spares < XA_XSK_TX_FRAMES; xdp->spares++)
		xdp->spare[xdp->spares] = (XA_XSK_RX_FRAMES + xdp->spares) * (uint64_t)XA_XSK_CHUNK;
	error = xa_xsk_open(ifindex, &xdp->xsk);
	if (!error) {
		error = load(ifindex, xdp->xsk.fd, &xdp->bpf);
		if (error)
			xa_xsk_close(&xdp->xsk);
	}
	if (error)
		free(xdp);
	else
		*transport = &xdp->transport;
	return error;
}
