/* SPDX-License-Identifier: BSD-2-Clause */
#include "route.h"

#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/error.h"
#include "rtnl.h"

enum { DISCARD_PORT = 9, NEIGHBOUR_TRIES = 350, NEIGHBOUR_PAUSE_MS = 10 };

/* What is being looked for, and what has been found. */
struct search {
	const char *ifname;
	struct xa_path *path;
	int ifindex;
	int netlink;
	struct xa_route route;
};

static const char *peer_text(const struct search *search, char *text)
{
	return xa_ip_text(&search->path->peer, text);
}

/* An ioctl on the interface. Returns 0 or a negative errno. */
static int interface_ioctl(const char *ifname, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	strncpy(ifr->ifr_name, ifname, IFNAMSIZ - 1);
	error = ioctl(fd, request, ifr) ? -errno : 0;
	close(fd);
	return error;
}

static int find_interface(struct search *search)
{
	struct ifreq flags = {0}, address = {0};

	search->ifindex = if_nametoindex(search->ifname);
	if (!search->ifindex)
		return xa_error_set(
			ENODEV,
			"there is no interface '%s' in this network namespace; see 'ip link'",
			search->ifname);
	if (interface_ioctl(search->ifname, SIOCGIFFLAGS, &flags) ||
	    interface_ioctl(search->ifname, SIOCGIFHWADDR, &address))
		return xa_error_set(ENODEV, "interface '%s' has just vanished; see 'ip link'",
				    search->ifname);
	if (address.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return xa_error_set(ENOTSUP,
				    "'%s' is no Ethernet interface, and RoCEv2 is sent in Ethernet "
				    "frames here; give one that is",
				    search->ifname);
	if (!(flags.ifr_flags & IFF_UP))
		return xa_error_set(ENETDOWN,
				    "interface '%s' is down; bring it up with 'ip link set %s up'",
				    search->ifname, search->ifname);
	memcpy(search->path->smac, address.ifr_hwaddr.sa_data, XA_MAC_LEN);
	return 0;
}

static int refuse_route(const struct search *search, int error)
{
	char text[INET6_ADDRSTRLEN];

	return xa_error_set(
		-error,
		"the kernel has no route to %s by interface '%s' (%s); give the interface an "
		"address in that network, or add a route",
		peer_text(search, text), search->ifname, strerror(-error));
}

static int find_route(struct search *search)
{
	int error = xa_rtnl_route(search->netlink, search->ifindex, &search->path->peer,
				  &search->route);
	char text[INET6_ADDRSTRLEN];

	if (error)
		return refuse_route(search, error);
	if (search->route.type == RTN_LOCAL)
		return xa_error_set(
			EADDRNOTAVAIL,
			"%s is an address of this host itself, which would answer no packet "
			"from itself; give the responder's",
			peer_text(search, text));
	return search->route.type == RTN_UNICAST ? 0 : refuse_route(search, -EHOSTUNREACH);
}

static bool is_address(const struct sockaddr *address, const struct xa_ip *ip)
{
	struct xa_ip own;

	if (!address)
		return false;
	if (address->sa_family == AF_INET)
		xa_ip_from_v4(&own, &((const struct sockaddr_in *)address)->sin_addr);
	else if (address->sa_family == AF_INET6)
		xa_ip_from_v6(&own, &((const struct sockaddr_in6 *)address)->sin6_addr);
	else
		return false;
	return xa_ip_equal(&own, ip);
}

static bool interface_has(const char *ifname, const struct xa_ip *ip)
{
	struct ifaddrs *list, *entry;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (entry = list; entry && !found; entry = entry->ifa_next)
		found = !strcmp(entry->ifa_name, ifname) && is_address(entry->ifa_addr, ip);
	freeifaddrs(list);
	return found;
}

static bool is_unset(const struct xa_ip *ip)
{
	static const struct xa_ip unset = {.family = XA_IPV6};

	return xa_ip_equal(ip, &unset);
}

static int find_local(struct search *search)
{
	struct xa_ip *local = &search->path->local;
	bool is_v4 = search->path->peer.family == XA_IPV4;
	char text[INET6_ADDRSTRLEN];

	if (!is_unset(local)) {
		if (interface_has(search->ifname, local))
			return 0;
		return xa_error_set(EADDRNOTAVAIL,
				    "%s is no address of interface '%s'; see 'ip address'",
				    xa_ip_text(local, text), search->ifname);
	}
	if (!search->route.has_source || !interface_has(search->ifname, &search->route.source))
		return xa_error_set(
			EADDRNOTAVAIL,
			"interface '%s' has no %s address to send to %s from; add one with "
			"'ip address add'",
			search->ifname, is_v4 ? "IPv4" : "IPv6", peer_text(search, text));
	*local = search->route.source;
	return 0;
}

socklen_t xa_ip_sockaddr(const struct xa_ip *ip, uint16_t port, int ifindex,
			 struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	__be16 port_be = htons(port);

	memset(address, 0, sizeof(*address));
	if (ip->family == XA_IPV4) {
		v4->sin_family = AF_INET;
		memcpy(&v4->sin_port, &port_be, sizeof(port_be));
		memcpy(&v4->sin_addr, &ip->gid[XA_GID_V4_WORD], sizeof(v4->sin_addr));
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	memcpy(&v6->sin6_port, &port_be, sizeof(port_be));
	memcpy(&v6->sin6_addr, ip->gid, sizeof(v6->sin6_addr));
	/* Only link-local addresses need it; elsewhere it does no harm. */
	v6->sin6_scope_id = ifindex;
	return sizeof(*v6);
}

/* A datagram to the discard port: the kernel must find the neighbour to send it. */
static void provoke(const struct search *search)
{
	struct sockaddr_storage to;
	socklen_t len = xa_ip_sockaddr(&search->route.nexthop, DISCARD_PORT, search->ifindex, &to);
	int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &search->ifindex, sizeof(search->ifindex));
	sendto(fd, "", 0, 0, (struct sockaddr *)&to, len);
	close(fd);
}

static int find_neighbour(struct search *search)
{
	const struct timespec pause = {.tv_nsec = NEIGHBOUR_PAUSE_MS * 1000000L};
	char text[INET6_ADDRSTRLEN];
	int error;

	for (int i = 0; i < NEIGHBOUR_TRIES; i++) {
		error = xa_rtnl_neighbour(search->netlink, search->ifindex, &search->route.nexthop,
					  search->path->dmac);
		if (!error)
			return 0;
		/* An old failure says nothing about now; a new one is final. */
		if (error == -EHOSTUNREACH && i > 0)
			break;
		if (error != -EAGAIN)
			provoke(search);
		nanosleep(&pause, NULL);
	}
	return xa_error_set(
		EHOSTUNREACH,
		"%s does not tell its MAC address on '%s'; check that it is up and in the same "
		"network, or add it with 'ip neighbour add'",
		xa_ip_text(&search->route.nexthop, text), search->ifname);
}

int xa_route_find(const char *ifname, struct xa_path *path, int *ifindex)
{
	struct search search = {.ifname = ifname, .path = path};
	int error = find_interface(&search);

	if (error)
		return error;
	search.netlink = xa_rtnl_open();
	if (search.netlink < 0)
		return xa_error_set(-search.netlink, "the kernel refused a netlink socket: %s",
				    strerror(-search.netlink));
	error = find_route(&search);
	if (!error)
		error = find_local(&search);
	if (!error)
		error = find_neighbour(&search);
	close(search.netlink);
	*ifindex = search.ifindex;
	return error;
}

int xa_route_interface(const struct xa_ip *peer, char name[IF_NAMESIZE])
{
	int netlink = xa_rtnl_open(), error = netlink;
	struct xa_route route = {0};
	char text[INET6_ADDRSTRLEN];

	if (netlink >= 0) {
		error = xa_rtnl_route(netlink, 0, peer, &route);
		close(netlink);
	}
	if (!error && if_indextoname(route.ifindex, name))
		return 0;
	return xa_error_set(EHOSTUNREACH,
			    "the kernel has no route to %s (%s); add one, or give the interface "
			    "with --dev",
			    xa_ip_text(peer, text), strerror(error ? -error : ENODEV));
}

int xa_interface_find(const char *ifname, int *ifindex)
{
	struct xa_path path;
	struct search search = {.ifname = ifname, .path = &path};
	int error = find_interface(&search);

	*ifindex = search.ifindex;
	return error;
}

unsigned int xa_rx_queues(const char *ifname)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq ifr = {.ifr_data = (void *)&channels};
	unsigned int queues;

	if (interface_ioctl(ifname, SIOCETHTOOL, &ifr))
		return 1;
	queues = channels.combined_count + channels.rx_count;
	return queues ? queues : 1;
}

bool xa_has_xdp_program(int ifindex)
{
	__u32 program = 0;

	return !bpf_xdp_query_id(ifindex, 0, &program) && program;
}

bool xa_is_plain_veth(int ifindex)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {.ifr_data = (void *)&driver};
	char name[IFNAMSIZ];

	if (!if_indextoname(ifindex, name) || interface_ioctl(name, SIOCETHTOOL, &ifr) ||
	    strcmp(driver.driver, "veth"))
		return false;
	return !xa_has_xdp_program(ifindex);
}
