/* SPDX-License-Identifier: BSD-2-Clause */
#include "address.h"

#include <arpa/inet.h>
#include <string.h>

void xa_ip_from_v4(struct xa_ip *ip, const struct in_addr *address)
{
	memset(ip, 0, sizeof(*ip));
	ip->family = XA_IPV4;
	ip->gid[2] = htonl(0xffff);
	memcpy(&ip->gid[XA_GID_V4_WORD], address, sizeof(*address));
}

void xa_ip_from_v6(struct xa_ip *ip, const struct in6_addr *address)
{
	memset(ip, 0, sizeof(*ip));
	ip->family = IN6_IS_ADDR_V4MAPPED(address) ? XA_IPV4 : XA_IPV6;
	memcpy(ip->gid, address, sizeof(ip->gid));
}

bool xa_ip_parse(struct xa_ip *ip, const char *text)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		xa_ip_from_v4(ip, &v4);
	else if (inet_pton(AF_INET6, text, &v6) == 1)
		xa_ip_from_v6(ip, &v6);
	else
		return false;
	return true;
}

const char *xa_ip_text(const struct xa_ip *ip, char *text)
{
	if (ip->family == XA_IPV4)
		return inet_ntop(AF_INET, &ip->gid[XA_GID_V4_WORD], text, INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, ip->gid, text, INET6_ADDRSTRLEN);
}

const char *xa_ip_gid_text(const struct xa_ip *ip, char *text)
{
	return inet_ntop(AF_INET6, ip->gid, text, INET6_ADDRSTRLEN);
}

bool xa_ip_equal(const struct xa_ip *a, const struct xa_ip *b)
{
	return a->family == b->family && !memcmp(a->gid, b->gid, sizeof(a->gid));
}

bool xa_ip_is_host(const struct xa_ip *ip)
{
	const struct in6_addr *v6 = (const struct in6_addr *)ip->gid;
	in_addr_t v4 = ntohl(ip->gid[XA_GID_V4_WORD]);

	if (ip->family == XA_IPV4)
		return v4 >> 24 != 0 && !IN_MULTICAST(v4) && v4 != INADDR_BROADCAST;
	return !IN6_IS_ADDR_UNSPECIFIED(v6) && !IN6_IS_ADDR_MULTICAST(v6);
}

bool xa_ip_is_link_local(const struct xa_ip *ip)
{
	const unsigned char *bytes = (const unsigned char *)ip->gid;

	return ip->family == XA_IPV6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}
