/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packet.c - frames through an AF_PACKET socket, in batches.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport.h"
#include "xatomic/wire.h"

enum { SEND_BUFFER = 1 << 20, RECEIVE_BUFFER = 4 << 20 };

struct packet {
	struct xa_transport transport; /* must come first */
	int fd;
	unsigned int qps; /* let in */
	struct mmsghdr headers[XA_BATCH];
	struct iovec vectors[XA_BATCH];
};

static void point_at(struct packet *packet, const struct xa_frame *frames, unsigned int n,
		     size_t room)
{
	for (unsigned int i = 0; i < n; i++)
		packet->vectors[i] = (struct iovec){.iov_base = (void *)frames[i].bytes,
						    .iov_len = room ? room : frames[i].len};
}

static int packet_send(struct xa_transport *transport, const struct xa_frame *frames,
		       unsigned int n)
{
	struct packet *packet = (struct packet *)transport;
	unsigned int done = 0;
	int sent;

	point_at(packet, frames, n, 0);
	while (done < n) {
		sent = sendmmsg(packet->fd, packet->headers + done, n - done, 0);
		if (sent > 0)
			done += sent;
		else if (errno == ENOBUFS || errno == EAGAIN)
			done++;
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static int packet_receive(struct xa_transport *transport, struct xa_frame *frames)
{
	struct packet *packet = (struct packet *)transport;
	int got;

	point_at(packet, frames, XA_BATCH, XA_FRAME_MAX);
	got = recvmmsg(packet->fd, packet->headers, XA_BATCH, MSG_DONTWAIT, NULL);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (int i = 0; i < got; i++)
		frames[i].len = packet->headers[i].msg_len;
	return got;
}

/*
 * UDP to the RoCEv2 port with our DestQP, or any if `lqpn` is 0. The kernel has taken the outer VLAN tag off before the filter
 * runs; offsets count from the Ethernet header.
 */
static int attach_filter(int fd, uint32_t lqpn)
{
	enum { TYPE = 12, V4_UDP = 14 + 20, V6_UDP = 14 + 40, DPORT = 2, DEST_QP = 8 + 4 };
	struct sock_filter code[] = {
		/*  0 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE),
		/*  1 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_8021Q, 12, 0),
		/*  2 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_8021AD, 11, 0),
		/*  3 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 5, 0),
		/*  4 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 10),
		/*  5 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, V4_UDP + DPORT),
		/*  6 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, XA_ROCE_PORT, 0, 8),
		/*  7 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, V4_UDP + DEST_QP),
		/*  8 */ BPF_STMT(BPF_JMP | BPF_JA, 3),
		/*  9 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, V6_UDP + DPORT),
		/* 10 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, XA_ROCE_PORT, 0, 4),
		/* 11 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, V6_UDP + DEST_QP),
		/* 12 */ BPF_STMT(BPF_ALU | BPF_AND | BPF_K, XA_QPN_MASK),
		/* 13 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, lqpn, 0, lqpn ? 1 : 0),
		/* 14 */ BPF_STMT(BPF_RET | BPF_K, XA_FRAME_MAX),
		/* 15 */ BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static int packet_fd(const struct xa_transport *transport)
{
	return ((const struct packet *)transport)->fd;
}

static void packet_close(struct xa_transport *transport)
{
	close(packet_fd(transport));
	free(transport);
}

/* One queue pair has a filter of its own; the device tells several apart. */
static int packet_admit(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn)
{
	struct packet *packet = (struct packet *)transport;
	int error = attach_filter(packet->fd, packet->qps ? 0 : lqpn);

	(void)local;
	if (!error)
		packet->qps++;
	return error;
}

/* Others may still need what the filter lets through, and the device knows nobody that does not. */
static void packet_dismiss(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn)
{
	(void)transport;
	(void)local;
	(void)lqpn;
}

static const struct xa_transport_ops packet_ops = {
	.name = "af_packet",
	.send = packet_send,
	.receive = packet_receive,
	.fd = packet_fd,
	.admit = packet_admit,
	.dismiss = packet_dismiss,
	.close = packet_close,
};

/* Larger buffers and not seeing our own frames make things faster; without them it works too. */
static void tune(int fd)
{
	int sndbuf = SEND_BUFFER, rcvbuf = RECEIVE_BUFFER, on = 1;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
}

/* Nothing gets in before a queue pair does: protocol 0 until a filter stands. */
static int refuse_all(int fd)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &drop};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static int open_socket(int ifindex)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	error = refuse_all(fd);
	if (!error) {
		tune(fd);
		error = bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	}
	if (!error)
		return fd;
	close(fd);
	return error;
}

int xa_packet_open(int ifindex, struct xa_transport **transport)
{
	struct packet *packet = calloc(1, sizeof(*packet));

	if (!packet)
		return -ENOMEM;
	packet->transport.ops = &packet_ops;
	packet->fd = open_socket(ifindex);
	if (packet->fd < 0) {
		int error = packet->fd;

		free(packet);
		return error;
	}
	for (int i = 0; i < XA_BATCH; i++) {
		packet->headers[i].msg_hdr.msg_iov = &packet->vectors[i];
		packet->headers[i].msg_hdr.msg_iovlen = 1;
	}
	*transport = &packet->transport;
	return 0;
}
