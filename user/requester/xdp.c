/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdp.c - frames through an AF_XDP socket. Its XDP program (bpf/requester.bpf.c) hangs on a link that only
 * this process holds, so it goes when the process ends, however it ends.
 *
 * Sending costs one system call per batch; what arrives is found in memory shared with the kernel.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../bpf/requester.h"
#include "requester.skel.h"
#include "transport.h"
#include "xsk.h"

/* System calls before a batch is left to the next one: the kernel sends but a few frames per call. */
enum { KICKS = 64, PAUSE_NS = 20 * 1000 };

struct xdp {
	struct xa_transport transport; /* must come first */
	struct xa_xsk xsk;
	struct requester_bpf *bpf;
};

static bool is_passing(int error)
{
	return error == EAGAIN || error == ENOBUFS || error == EINTR;
}

/* Whoever takes the frames at the other end may need this very CPU to do so. */
static void yield(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

static int xdp_send(struct xa_transport *transport, const struct xa_frame *frames, unsigned int n)
{
	struct xdp *xdp = (struct xdp *)transport;

	xa_xsk_put(&xdp->xsk, frames, n);
	for (int i = 0; i < KICKS && xa_xsk_is_sending(&xdp->xsk); i++) {
		if (sendto(xdp->xsk.fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0 || is_passing(errno))
			continue;
		/* The driver's queue was full, and this frame has got lost. */
		if (errno != EBUSY)
			return -errno;
		yield();
	}
	return 0;
}

static int xdp_receive(struct xa_transport *transport, struct xa_frame *frames)
{
	return xa_xsk_take(&((struct xdp *)transport)->xsk, frames, XA_BATCH);
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
