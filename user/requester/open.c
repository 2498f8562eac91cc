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
	bool has_interface = attr->ifname || attr->device;
	const char *fault = has_interface ? find_fault(attr) : "the interface is missing";

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

/* A device of several queue pairs needs it once for each of its addresses. */
static bool holds_port(const struct xatomic_device *device, const struct xa_ip *local)
{
	for (uint32_t i = 0; i < device->table.size; i++) {
		const struct xatomic_qp *qp = device->table.slots[i];

		if (qp && qp->port_fd >= 0 && xa_ip_equal(&qp->path.local, local))
			return true;
	}
	return false;
}

static int refuse_packet(int error)
{
	if (error == -EPERM)
		return xa_error_set(EPERM,
				    "packet sockets need CAP_NET_RAW, which this process lacks; "
				    "run it as root");
	return xa_error_set(-error, "the kernel refused a packet socket: %s", strerror(-error));
}

static int refuse_xdp(const char *ifname, int error)
{
	if (error == -EPERM)
		return xa_error_set(EPERM,
				    "AF_XDP needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, which "
				    "this process lacks; run it as root or use AF_PACKET");
	if (error == -EBUSY || error == -EEXIST)
		return xa_error_set(EBUSY,
				    "'%s' runs an XDP program or has an AF_XDP socket already, and "
				    "AF_XDP needs it for itself; take the program off with "
				    "'ip link set dev %s xdp off', end the other program or use "
				    "AF_PACKET",
				    ifname, ifname);
	return xa_error_set(-error, "the kernel refused AF_XDP on '%s' (%s); use AF_PACKET", ifname,
			    strerror(-error));
}

static int open_xdp(const char *ifname, int ifindex, struct xa_transport **transport)
{
	unsigned int queues = xa_rx_queues(ifname);
	int error;

	if (queues > 1)
		return xa_error_set(ENOTSUP,
				    "'%s' has %u receive queues and AF_XDP takes packets from the "
				    "first only; set one with 'ethtool -L %s combined 1', or use "
				    "AF_PACKET",
				    ifname, queues, ifname);
	error = xa_xdp_open(ifindex, transport);
	return error ? refuse_xdp(ifname, error) : 0;
}

/* AF_XDP would be faster; but an XDP program that is there already is not ours to replace. */
static int open_transport(const char *ifname, int ifindex, enum xatomic_transport which,
			  struct xa_transport **transport)
{
	int error;

	if (which == XATOMIC_TRANSPORT_AF_XDP)
		return open_xdp(ifname, ifindex, transport);
	if (which == XATOMIC_TRANSPORT_AUTO && !xa_has_xdp_program(ifindex) &&
	    !open_xdp(ifname, ifindex, transport))
		return 0;
	error = xa_packet_open(ifindex, transport);
	return error ? refuse_packet(error) : 0;
}

/* In the right network namespace. */
static struct xatomic_device *open_device(const char *ifname, const char *netns, int ifindex,
					  enum xatomic_transport which)
{
	struct xa_transport *transport;
	struct xatomic_device *device;

	if (open_transport(ifname, ifindex, which, &transport))
		return NULL;
	if (xa_device_create(transport, &device)) {
		transport->ops->close(transport);
		goto no_memory;
	}
	device->ifindex = ifindex;
	device->ifname = strdup(ifname);
	device->netns = netns ? strdup(netns) : NULL;
	if (device->ifname && (device->netns || !netns))
		return device;
	xatomic_device_close(device);
no_memory:
	xa_error_set(ENOMEM, "there is no memory for a device");
	return NULL;
}

static void refuse_qp(const struct xatomic_qp_attr *attr, int error)
{
	if (error == -EEXIST)
		xa_error_set(EEXIST,
			     "the device has a queue pair %" PRIu32
			     " already; give each its own local QPN",
			     attr->qp_num);
	else
		xa_error_set(-error, "a queue pair cannot be made (%s); make do with fewer",
			     strerror(-error));
}

/* In the right network namespace. */
static struct xatomic_qp *open_here(const struct xatomic_qp_attr *attr)
{
	struct xatomic_device *device = attr->device;
	struct xatomic_qp *qp;
	struct xa_path path;
	int ifindex, error;

	fill_path(attr, &path);
	if (xa_route_find(device ? device->ifname : attr->ifname, &path, &ifindex))
		return NULL;
	if (!device)
		device = open_device(attr->ifname, attr->netns, ifindex, attr->transport);
	if (!device)
		return NULL;
	error = xa_qp_create(attr, &path, device, &qp);
	if (error) {
		if (!attr->device)
			xatomic_device_close(device);
		refuse_qp(attr, error);
		return NULL;
	}
	qp->owns_device = !attr->device;
	if (!holds_port(device, &path.local))
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

/* As xa_netns_enter(), -1 with xa_error(); 0 and *home -1 when there is nowhere to go. */
static int enter(const char *netns, int *home)
{
	*home = netns ? xa_netns_enter(netns) : -1;
	if (!netns || *home >= 0)
		return 0;
	refuse_netns(netns, *home);
	return -1;
}

static void leave(int home)
{
	if (home >= 0)
		xa_netns_leave(home);
}

struct xatomic_qp *xatomic_qp_open(const struct xatomic_qp_attr *attr)
{
	struct xatomic_qp *qp;
	int home;

	if (xa_qp_check_attr(attr) ||
	    enter(attr->device ? attr->device->netns : attr->netns, &home))
		return NULL;
	qp = open_here(attr);
	leave(home);
	return qp;
}

struct xatomic_device *xatomic_device_open(const char *ifname, const char *netns,
					   enum xatomic_transport transport)
{
	struct xatomic_device *device = NULL;
	int home, ifindex;

	if (enter(netns, &home))
		return NULL;
	if (!xa_interface_find(ifname, &ifindex))
		device = open_device(ifname, netns, ifindex, transport);
	leave(home);
	return device;
}

static bool is_deaf(const struct xatomic_device *device)
{
	bool deaf;
	int home;

	if (enter(device->netns, &home))
		return false;
	deaf = xa_is_plain_veth(device->ifindex);
	leave(home);
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
			 "its sequence NAK asks for PSN %" PRIu32 ", so start there",
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
	if (has_heard(counters) || !is_deaf(qp->device))
		return NULL;
	return "the interface is a veth without an XDP program, where replies that the other end "
	       "sends by XDP_TX get lost; attach one that passes everything, or use AF_XDP, "
	       "which brings its own";
}
