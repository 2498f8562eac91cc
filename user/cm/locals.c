/* SPDX-License-Identifier: BSD-2-Clause */
#include "locals.h"

#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include "lib/error.h"

enum { MAX_LOCALS = 1024 };

static const uint64_t valid_ns = 1000 * 1000 * 1000;

static bool ip_of(const struct sockaddr *address, struct xa_ip *ip)
{
	if (!address)
		return false;
	if (address->sa_family == AF_INET)
		xa_ip_from_v4(ip, &((const struct sockaddr_in *)address)->sin_addr);
	else if (address->sa_family == AF_INET6)
		xa_ip_from_v6(ip, &((const struct sockaddr_in6 *)address)->sin6_addr);
	else
		return false;
	return true;
}

static const void *mask_of(const struct sockaddr *mask, const struct xa_ip *ip)
{
	return ip->family == XA_IPV4
		       ? (const void *)&((const struct sockaddr_in *)mask)->sin_addr
		       : (const void *)&((const struct sockaddr_in6 *)mask)->sin6_addr;
}

static bool same_network(const struct xa_ip *a, const struct xa_ip *b, const struct sockaddr *mask)
{
	size_t first = a->family == XA_IPV4 ? 12 : 0;
	const uint8_t *bits = mask_of(mask, a), *pa = (const uint8_t *)a->gid,
		      *pb = (const uint8_t *)b->gid;

	for (size_t i = first; i < sizeof(a->gid); i++)
		if ((pa[i] ^ pb[i]) & bits[i - first])
			return false;
	return true;
}

/* An IPv4 address may stand under a label, "eth0:1". */
static int ifindex_of(const char *label)
{
	char name[IF_NAMESIZE];

	strncpy(name, label, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[strcspn(name, ":")] = '\0';
	return if_nametoindex(name);
}

static bool runs_program(const char *label)
{
	__u32 id = 0;

	return !bpf_xdp_query_id(ifindex_of(label), 0, &id) && id;
}

struct local {
	int ifindex;
	struct xa_ip ip;
};

static struct {
	struct local list[MAX_LOCALS];
	size_t count;
	uint64_t until;
} known;

static void read_locals(void)
{
	struct ifaddrs *list, *entry;
	struct xa_ip ip;

	known.count = 0;
	if (getifaddrs(&list))
		return;
	for (entry = list; entry && known.count < MAX_LOCALS; entry = entry->ifa_next)
		if (ip_of(entry->ifa_addr, &ip))
			known.list[known.count++] = (struct local){ifindex_of(entry->ifa_name), ip};
	freeifaddrs(list);
}

bool cm_local_has(int ifindex, const struct xa_ip *ip, uint64_t now_ns)
{
	if (now_ns >= known.until) {
		read_locals();
		known.until = now_ns + valid_ns;
	}
	for (size_t i = 0; i < known.count; i++)
		if (known.list[i].ifindex == ifindex && xa_ip_equal(&known.list[i].ip, ip))
			return true;
	return false;
}

/* How good is this address for the peer? 0: not at all. */
static int merit(const struct ifaddrs *entry, const struct xa_ip *peer, const struct xa_ip *wanted,
		 struct xa_ip *ip)
{
	if (!ip_of(entry->ifa_addr, ip) || ip->family != peer->family)
		return 0;
	if (xa_ip_equal(ip, wanted))
		return runs_program(entry->ifa_name) ? 2 : 0;
	if (!entry->ifa_netmask || !same_network(ip, peer, entry->ifa_netmask))
		return 0;
	return runs_program(entry->ifa_name) ? 1 : 0;
}

int cm_local_choose(const struct xa_ip *peer, const struct xa_ip *wanted, struct xa_ip *local)
{
	struct ifaddrs *list, *entry;
	char text[INET6_ADDRSTRLEN];
	int best = 0, this;
	struct xa_ip ip;

	if (getifaddrs(&list))
		return xa_error("the own addresses cannot be read; try again");
	for (entry = list; entry; entry = entry->ifa_next) {
		this = merit(entry, peer, wanted, &ip);
		if (this <= best)
			continue;
		best = this;
		*local = ip;
	}
	freeifaddrs(list);
	return best ? 0
		    : xa_error("no interface that runs the responder has an address for the peer "
			       "%s",
			       xa_ip_text(peer, text));
}
