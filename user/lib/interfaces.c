/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interfaces.c - where the interfaces behind the links are. The kernel tells a link's interface by its index
 * only, not by its namespace; so namespaces are searched for an interface of that index that runs the
 * link's program, first where it was attached, and if it has moved since, everywhere.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "error.h"
#include "links.h"
#include "netns.h"

struct search {
	struct xa_interfaces *found;
	bool moved; /* second round: the hints have been followed */
	int error;  /* what ended it early */
};

/* Returns 0 or an errno, as those below do. */
static int add_ip(struct xa_interface *interface, const struct sockaddr *address)
{
	struct xa_ip *ips;

	if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
		return 0;
	ips = realloc(interface->ips, (interface->ip_count + 1) * sizeof(*ips));
	if (!ips)
		return ENOMEM;
	interface->ips = ips;
	ips += interface->ip_count++;
	if (address->sa_family == AF_INET)
		xa_ip_from_v4(ips, &((const struct sockaddr_in *)address)->sin_addr);
	else
		xa_ip_from_v6(ips, &((const struct sockaddr_in6 *)address)->sin6_addr);
	return 0;
}

/* An IPv4 address may stand under a label, "eth0:1". */
static bool is_name_or_label(const char *label, const char *ifname)
{
	size_t len = strlen(ifname);

	return !strncmp(label, ifname, len) && (!label[len] || label[len] == ':');
}

static int read_addresses(struct xa_interface *interface)
{
	struct ifaddrs *all, *one;
	int error = 0;

	if (getifaddrs(&all))
		return errno;
	for (one = all; one && !error; one = one->ifa_next) {
		if (!is_name_or_label(one->ifa_name, interface->name))
			continue;
		interface->up = one->ifa_flags & IFF_RUNNING;
		error = add_ip(interface, one->ifa_addr);
	}
	freeifaddrs(all);
	return error;
}

static bool is_taken(const struct xa_interfaces *found, ino_t netns, int ifindex)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->list[i].netns_id == netns && found->list[i].ifindex == ifindex)
			return true;
	return false;
}

static int describe(struct xa_interface *interface, ino_t netns, __u8 attach_mode)
{
	int error = -xa_netns_name(interface->netns);

	interface->mode = attach_mode == XDP_ATTACHED_SKB ? XA_MODE_GENERIC : XA_MODE_NATIVE;
	interface->netns_id = netns;
	return error ? error : read_addresses(interface);
}

static int look_here(struct xa_interface *interface, const struct search *search, ino_t netns)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	int error;

	if (!search->moved && interface->netns_hint != netns)
		return 0;
	if (is_taken(search->found, netns, interface->ifindex))
		return 0;
	error = -bpf_xdp_query(interface->ifindex, 0, &query);
	/* No interface of this index, or not in this namespace. */
	if (error == ENODEV || error == ENXIO || (!error && query.prog_id != interface->prog_id))
		return 0;
	if (error || !if_indextoname(interface->ifindex, interface->name))
		return error ? error : errno;
	return describe(interface, netns, query.attach_mode);
}

/* Called in one namespace after the other; true ends the search. */
static bool visit(void *data)
{
	struct search *search = data;
	ino_t netns = xa_netns_id();
	bool all = true;

	if (!netns)
		search->error = errno;
	for (size_t i = 0; i < search->found->count && !search->error; i++) {
		struct xa_interface *interface = &search->found->list[i];

		if (!interface->netns_id)
			search->error = look_here(interface, search, netns);
		all &= interface->netns_id != 0;
	}
	return all || search->error;
}

static int look_everywhere(struct search *search)
{
	int status = xa_netns_search(visit, search);

	if (!status) {
		search->moved = true;
		status = xa_netns_search(visit, search);
	}
	return status < 0 ? -status : search->error;
}

int xa_interfaces_find(const struct xa_instance *instance, struct xa_interfaces *found)
{
	struct search search = {.found = found};
	int status, error;

	memset(found, 0, sizeof(*found));
	status = xa_links_list(instance, found);
	error = status ? 0 : look_everywhere(&search);
	if (error)
		status = xa_error("the interfaces of instance '%s' cannot be looked at (%s); try "
				  "again",
				  instance->name, strerror(error));
	if (status)
		xa_interfaces_free(found);
	return status;
}

void xa_interfaces_free(struct xa_interfaces *found)
{
	for (size_t i = 0; i < found->count; i++)
		free(found->list[i].ips);
	free(found->list);
	memset(found, 0, sizeof(*found));
}

struct xa_interface *xa_interfaces_here(struct xa_interfaces *found, int ifindex)
{
	ino_t here = xa_netns_id();

	for (size_t i = 0; i < found->count; i++)
		if (found->list[i].netns_id == here && found->list[i].ifindex == ifindex)
			return &found->list[i];
	return NULL;
}

bool xa_is_veth(const char *ifname)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {.ifr_data = (void *)&info};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool known;

	if (fd < 0)
		return false;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	known = !ioctl(fd, SIOCETHTOOL, &request);
	close(fd);
	return known && !strcmp(info.driver, "veth");
}
