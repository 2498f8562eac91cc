/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/error.h"
#include "lib/netns.h"
#include "qp.h"
#include "route.h"
#include "xatomic/wire.h"

void xatomic_qp_attr_init(struct xatomic_qp_attr *attr)
{
	*attr = (struct xatomic_qp_attr){
		.pkey = XA_PKEY_DEFAULT,
		.max_rd_atomic = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = XA_RNR_RETRY_ENDLESS,
		.max_send_wr = 128,
	};
}

static struct xa_ip ip_of(const struct in6_addr *gid)
{
	struct xa_ip ip;

	xa_ip_from_v6(&ip, gid);
	return ip;
}

static bool is_qpn(uint32_t qpn)
{
	return qpn > XA_QPN_GSI && qpn < XA_QPN_MULTICAST;
}

static const char *find_address_fault(const struct xatomic_qp_attr *attr)
{
	struct xa_ip peer = ip_of(&attr->peer), local = ip_of(&attr->local);

	if (!xa_ip_is_host(&peer))
		return "the peer must be the address of one host, not unspecified or multicast";
	if (!IN6_IS_ADDR_UNSPECIFIED(&attr->local) && local.family != peer.family)
		return "the local and the peer's address must be of one family";
	return NULL;
}

/* The first number that is wrong, as a sentence; NULL: none. */
static const char *find_fault(const struct xatomic_qp_attr *attr)
{
	if (!is_qpn(attr->qp_num) || !is_qpn(attr->dest_qp_num))
		return "QPNs must be from 2 to 0xfffffe";
	if (attr->sq_psn > XA_PSN_MASK)
		return "the PSN must be from 0 to 0xffffff";
	if (!(attr->pkey & XA_PKEY_BASE_MASK))
		return "the P_Key must not have 15 low bits of 0";
	if (!attr->max_rd_atomic || attr->max_rd_atomic > XATOMIC_MAX_RD_ATOMIC)
		return "max_rd_atomic must be from 1 to 128";
	if (attr->timeout > 31)
		return "the timeout must be from 0 to 31";
	if (attr->retry_cnt > 7 || attr->rnr_retry > 7)
		return "retry counts must be from 0 to 7";
	if (!attr->max_send_wr || attr->max_send_wr > XA_MAX_SEND_WR)
		return "the send queue must have from 1 to 1048576 slots";
	return attr->vlans > XA_MAX_VLANS ? "there can be two VLAN tags at most" : NULL;
}

int xa_qp_check_attr(const struct xatomic_qp_attr *attr)
{
	const char *fault = attr->ifname ? find_fault(attr) : "the interface is missing";

	if (!fault)
		fault = find_address_fault(attr);
	return fault ? xa_error_set(EINVAL, "%s", fault) : 0;
}

static void fill_path(const struct xatomic_qp_attr *attr, struct xa_path *path)
{
	*path = (struct xa_path){
		.vlans = attr->vlans,
		.local = ip_of(&attr->local),
		.peer = ip_of(&attr->peer),
		.lqpn = attr->qp_num,
		.rqpn = attr->dest_qp_num,
		.pkey = attr->pkey,
	};
	memcpy(path->vlan_tpid, attr->vlan_tpid, sizeof(path->vlan_tpid));
	memcpy(path->vlan_tci, attr->vlan_tci, sizeof(path->vlan_tci));
}

/*
 * The kernel's own stack sees the responses too, and answers a port that nobody has with ICMP. So somebody
 * has it here: a socket that takes nothing in. Somebody else may have it as well, which does as well.
 */
static int hold_port(const struct xa_ip *local, int ifindex)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &drop};
	struct sockaddr_storage address;
	socklen_t len = xa_ip_sockaddr(local, XA_ROCE_PORT, ifindex, &address);
	int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (!setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) &&
	    !bind(fd, (struct sockaddr *)&address, len))
		return fd;
	close(fd);
	return -1;
}

static int open_transport(const struct xa_path *path, int ifindex, struct xa_transport **transport)
{
	int error = xa_packet_open(ifindex, path->lqpn, transport);

	if (error == -EPERM)
		return xa_error_set(EPERM,
				    "packet sockets need CAP_NET_RAW, which this process lacks; "
				    "run it as root");
	if (error)
		return xa_error_set(-error, "the kernel refused a packet socket: %s",
				    strerror(-error));
	return 0;
}

/* In the right network namespace. */
static struct xatomic_qp *open_here(const struct xatomic_qp_attr *attr)
{
	struct xa_transport *transport;
	struct xatomic_qp *qp;
	struct xa_path path;
	int ifindex, error;

	fill_path(attr, &path);
	if (xa_route_find(attr->ifname, &path, &ifindex) ||
	    open_transport(&path, ifindex, &transport))
		return NULL;
	error = xa_qp_create(attr, &path, transport, &qp);
	if (error) {
		transport->ops->close(transport);
		xa_error_set(-error, "there is no memory for a queue pair");
		return NULL;
	}
	qp->ifindex = ifindex;
	qp->port_fd = hold_port(&path.local, ifindex);
	return qp;
}

static void refuse_netns(const char *netns, int error)
{
	if (error == -ENOENT)
		xa_error_set(ENOENT, "there is no network namespace '%s'; see 'ip netns list'",
			     netns);
	else if (error == -EPERM || error == -EACCES)
		xa_error_set(-error, "entering a network namespace needs CAP_SYS_ADMIN, which this "
				     "process lacks; run it as root");
	else
		xa_error_set(-error, "the network namespace '%s' cannot be entered: %s", netns,
			     strerror(-error));
}

static struct xatomic_qp *open_in_netns(const struct xatomic_qp_attr *attr)
{
	char *netns = strdup(attr->netns);
	int home = netns ? xa_netns_enter(netns) : -ENOMEM;
	struct xatomic_qp *qp;

	if (home < 0) {
		free(netns);
		refuse_netns(attr->netns, home);
		return NULL;
	}
	qp = open_here(attr);
	xa_netns_leave(home);
	if (qp)
		qp->netns = netns;
	else
		free(netns);
	return qp;
}

struct xatomic_qp *xatomic_qp_open(const struct xatomic_qp_attr *attr)
{
	if (xa_qp_check_attr(attr))
		return NULL;
	return attr->netns ? open_in_netns(attr) : open_here(attr);
}

static bool is_deaf(const struct xatomic_qp *qp)
{
	int home;
	bool deaf;

	if (!qp->netns)
		return xa_is_plain_veth(qp->ifindex);
	home = xa_netns_enter(qp->netns);
	if (home < 0)
		return false;
	deaf = xa_is_plain_veth(qp->ifindex);
	xa_netns_leave(home);
	return deaf;
}

static bool has_heard(const struct xatomic_qp_counters *c)
{
	return c->acks || c->sequence_naks || c->implied_naks || c->rnr_naks || c->ignored;
}

const char *xatomic_qp_hint(struct xatomic_qp *qp)
{
	const struct xatomic_qp_counters *counters = &qp->engine.counters;

	if (qp->engine.asked_psn != XA_NO_PSN) {
		snprintf(qp->hint, sizeof(qp->hint),
			 "its sequence NAK asks for PSN 0x%" PRIx32 ", so start there",
			 qp->engine.asked_psn);
		return qp->hint;
	}
	if (counters->rejected) {
		snprintf(qp->hint, sizeof(qp->hint),
			 "packets for this QPN came (%" PRIu64
			 "), but with a wrong address, length, P_Key or ICRC",
			 counters->rejected);
		return qp->hint;
	}
	if (has_heard(counters) || !is_deaf(qp))
		return NULL;
	return "the interface is a veth without an XDP program, where replies that the other end "
	       "sends by XDP_TX get lost; attach one that passes everything";
}
