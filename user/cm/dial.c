/* SPDX-License-Identifier: BSD-2-Clause */
#include "dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/error.h"
#include "lib/netns.h"
#include "lib/random.h"
#include "requester/device.h"
#include "requester/route.h"

enum { FRAME_ROOM = 512, LONGEST_POLL_MS = 1000 };

/*
 * UDP to the RoCEv2 port with DestQP 1; what carries a tag inside is left to the parser. The kernel has taken the
 * outer tag off before the filter runs.
 */
static int attach_filter(int fd)
{
	enum { TYPE = 12, V4_UDP = 14 + 20, V6_UDP = 14 + 40, DPORT = 2, DEST_QP = 8 + 4 };
	struct sock_filter code[] = {
		/*  0 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE),
		/*  1 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_8021Q, 11, 0),
		/*  2 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 5, 0),
		/*  3 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 10),
		/*  4 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, V4_UDP + DPORT),
		/*  5 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, XA_ROCE_PORT, 0, 8),
		/*  6 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, V4_UDP + DEST_QP),
		/*  7 */ BPF_STMT(BPF_JMP | BPF_JA, 3),
		/*  8 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, V6_UDP + DPORT),
		/*  9 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, XA_ROCE_PORT, 0, 4),
		/* 10 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, V6_UDP + DEST_QP),
		/* 11 */ BPF_STMT(BPF_ALU | BPF_AND | BPF_K, XA_QPN_MASK),
		/* 12 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, XA_QPN_GSI, 0, 1),
		/* 13 */ BPF_STMT(BPF_RET | BPF_K, FRAME_ROOM),
		/* 14 */ BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Protocol 0 until the filter stands, so that no other packet slips in. */
static int open_socket(int ifindex)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), on = 1;

	if (fd >= 0 && !attach_filter(fd) &&
	    !bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
		return fd;
	}
	xa_error("the kernel refused a packet socket (%s); run the program as root",
		 strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void send_mad(void *data, const struct cm_way *way, const struct cm_mad *mad)
{
	const struct cm_call *call = data;
	uint8_t frame[XA_GSI_FRAME_MAX];
	size_t len = cm_datagram_build(way, mad, frame);

	/* What cannot be sent now is lost like what gets lost: it is repeated. */
	send(call->fd, frame, len, 0);
}

static void receive(struct cm_call *call)
{
	uint8_t frame[FRAME_ROOM];
	struct cm_way way = {0};
	struct cm_mad mad;
	ssize_t len;

	while ((len = recv(call->fd, frame, sizeof(frame), MSG_DONTWAIT)) > 0)
		if (cm_datagram_parse(frame, len, &way, &mad))
			cm_active_receive(&call->active, xa_clock_ns(), &way, &mad);
}

/* Until the state is another one than `state`, or *stop is set. */
static void run(struct cm_call *call, enum cm_active_state state, const volatile sig_atomic_t *stop)
{
	struct pollfd pollfd = {.fd = call->fd, .events = POLLIN};

	while (call->active.state == state && !(stop && *stop)) {
		uint64_t now = xa_clock_ns(), left = 0;

		if (call->active.deadline > now)
			left = (call->active.deadline - now) / (1000 * 1000) + 1;
		poll(&pollfd, 1, left < LONGEST_POLL_MS ? left : LONGEST_POLL_MS);
		receive(call);
		cm_active_timer(&call->active, xa_clock_ns());
	}
}

static uint64_t guid_of(const struct xa_path *path)
{
	uint64_t guid = 0;

	for (int i = 0; i < XA_MAC_LEN; i++)
		guid = guid << 8 | path->smac[i];
	return guid << 16 | 0xfffe;
}

static uint32_t any_qpn(void)
{
	uint32_t qpn;

	do {
		qpn = xa_random() & XA_QPN_MASK;
	} while (qpn <= XA_QPN_GSI || qpn == XA_QPN_MULTICAST);
	return qpn;
}

static int refused(const struct cm_active *active, const struct cm_dial_attr *attr)
{
	char text[INET6_ADDRSTRLEN];

	xa_ip_text(&attr->peer, text);
	if (active->state == CM_ACTIVE_CONNECTING)
		return xa_error("interrupted before %s answered", text);
	if (!active->reason)
		return xa_error("%s does not answer on port %u of RDMA-CM; check that 'xatomic "
				"serve' or another server runs there, and that UDP 4791 gets "
				"through",
				text, attr->port);
	if (*active->text)
		return xa_error("%s refuses the connection: %s", text, active->text);
	return xa_error("%s refuses the connection on port %u of RDMA-CM: %s (reason %d)", text,
			attr->port, cm_reason_text(active->reason), active->reason);
}

static int connect_over(struct cm_call *call, const struct cm_dial_attr *attr,
			const struct cm_way *way)
{
	const struct cm_active_attr active = {
		.way = *way,
		.port = attr->port,
		.lqpn = any_qpn(),
		.comm_id = xa_random(),
		.tid = (uint64_t)xa_random() << 32 | xa_random(),
		.ca_guid = guid_of(&way->path),
		.depth = attr->depth,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.mr = attr->mr,
		.send = send_mad,
		.data = call,
	};

	cm_active_connect(&call->active, &active, xa_clock_ns());
	run(call, CM_ACTIVE_CONNECTING, attr->stop);
	return call->active.state == CM_ACTIVE_ESTABLISHED ? 0 : refused(&call->active, attr);
}

/* In the right network namespace. */
static int dial_here(struct cm_call *call, const struct cm_dial_attr *attr)
{
	struct cm_way way = {.path = {.local.family = XA_IPV6, .peer = attr->peer}};

	if (attr->ifname)
		snprintf(call->ifname, sizeof(call->ifname), "%s", attr->ifname);
	else if (xa_route_interface(&attr->peer, call->ifname))
		return -1;
	if (xa_route_find(call->ifname, &way.path, &way.ifindex))
		return -1;
	cm_way_init(&way);
	call->fd = open_socket(way.ifindex);
	if (call->fd < 0)
		return -1;
	if (!connect_over(call, attr, &way))
		return 0;
	close(call->fd);
	return -1;
}

int cm_dial(struct cm_call *call, const struct cm_dial_attr *attr)
{
	int home, status;

	memset(call, 0, sizeof(*call));
	if (!attr->netns)
		return dial_here(call, attr);
	home = xa_netns_enter(attr->netns);
	if (home < 0)
		return xa_error("the network namespace '%s' cannot be entered (%s); see 'ip netns "
				"list'",
				attr->netns, strerror(-home));
	status = dial_here(call, attr);
	xa_netns_leave(home);
	return status;
}

bool cm_hang_up(struct cm_call *call)
{
	bool confirmed;

	receive(call);
	cm_active_disconnect(&call->active, xa_clock_ns());
	run(call, CM_ACTIVE_CLOSING, NULL);
	confirmed = call->active.state == CM_ACTIVE_CLOSED && call->active.tries;
	close(call->fd);
	return confirmed;
}
