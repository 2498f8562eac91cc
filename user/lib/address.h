/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address.h - IP addresses as RoCEv2 GIDs: 16 bytes in network order, IPv4 as ::ffff:a.b.c.d.
 */
#ifndef XATOMIC_LIB_ADDRESS_H
#define XATOMIC_LIB_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "xatomic/abi.h"

struct xa_ip {
	enum xa_family family;
	__be32 gid[4];
};

/*
 * Reads a dotted IPv4 address, an IPv6 address, or an IPv4 address in the form of a GID
 * (::ffff:a.b.c.d, family XA_IPV4). Returns false when `text` is none of them.
 */
bool xa_ip_parse(struct xa_ip *ip, const char *text);

/* Writes a.b.c.d or the IPv6 text form into `text`, INET6_ADDRSTRLEN bytes, and returns it. */
const char *xa_ip_text(const struct xa_ip *ip, char *text);

/* The same address in the form in which ibv_devinfo -v prints a GID, INET6_ADDRSTRLEN bytes. */
const char *xa_ip_gid_text(const struct xa_ip *ip, char *text);

void xa_ip_from_v4(struct xa_ip *ip, const struct in_addr *address);
void xa_ip_from_v6(struct xa_ip *ip, const struct in6_addr *address);
bool xa_ip_equal(const struct xa_ip *a, const struct xa_ip *b);

/* False for the unspecified address, multicast and broadcast, which no single host has. */
bool xa_ip_is_host(const struct xa_ip *ip);

/* IPv6 fe80::/10, which means something on one link only. */
bool xa_ip_is_link_local(const struct xa_ip *ip);

#endif
