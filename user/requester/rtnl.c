/* SPDX-License-Identifier: BSD-2-Clause */
#include "rtnl.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 8192, MAC_LEN = 6 };

/* A message under construction, or an answer. */
struct message {
	union {
		struct nlmsghdr header;
		char room[MESSAGE_MAX];
	};
};

static void *begin(struct message *message, uint16_t type, size_t body_len)
{
	memset(message, 0, NLMSG_SPACE(body_len));
	message->header.nlmsg_len = NLMSG_LENGTH(body_len);
	message->header.nlmsg_type = type;
	message->header.nlmsg_flags = NLM_F_REQUEST;
	return NLMSG_DATA(&message->header);
}

static void add(struct message *message, uint16_t type, const void *data, size_t len)
{
	size_t at = NLMSG_ALIGN(message->header.nlmsg_len);
	struct rtattr *attr = (struct rtattr *)(message->room + at);

	attr->rta_type = type;
	attr->rta_len = RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), data, len);
	message->header.nlmsg_len = at + RTA_SPACE(len);
}

static int family_of(const struct xa_ip *ip)
{
	return ip->family == XA_IPV4 ? AF_INET : AF_INET6;
}

static void add_address(struct message *message, uint16_t type, const struct xa_ip *ip)
{
	if (ip->family == XA_IPV4)
		add(message, type, &ip->gid[XA_GID_V4_WORD], sizeof(struct in_addr));
	else
		add(message, type, ip->gid, sizeof(struct in6_addr));
}

static void read_address(const struct rtattr *attr, struct xa_ip *ip)
{
	if (RTA_PAYLOAD(attr) == sizeof(struct in_addr))
		xa_ip_from_v4(ip, RTA_DATA(attr));
	else if (RTA_PAYLOAD(attr) == sizeof(struct in6_addr))
		xa_ip_from_v6(ip, RTA_DATA(attr));
}

/* Sends the message and puts the answer in its place. Returns 0 or a negative errno. */
static int ask(int fd, struct message *message, uint16_t answer_type, size_t body_len)
{
	ssize_t len;

	if (send(fd, message, message->header.nlmsg_len, 0) < 0)
		return -errno;
	len = recv(fd, message, sizeof(*message), 0);
	if (len < 0)
		return -errno;
	if (!NLMSG_OK(&message->header, (size_t)len))
		return -EPROTO;
	if (message->header.nlmsg_type == NLMSG_ERROR)
		return ((struct nlmsgerr *)NLMSG_DATA(&message->header))->error;
	if (message->header.nlmsg_type != answer_type ||
	    message->header.nlmsg_len < NLMSG_LENGTH(body_len))
		return -EPROTO;
	return 0;
}

int xa_rtnl_open(void)
{
	struct timeval limit = {.tv_sec = 5};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

int xa_rtnl_route(int fd, int ifindex, const struct xa_ip *destination, struct xa_route *route)
{
	struct message message;
	struct rtmsg *body = begin(&message, RTM_GETROUTE, sizeof(*body));
	struct rtattr *attr;
	int error, len;

	body->rtm_family = family_of(destination);
	body->rtm_dst_len = destination->family == XA_IPV4 ? 32 : 128;
	add_address(&message, RTA_DST, destination);
	if (ifindex)
		add(&message, RTA_OIF, &ifindex, sizeof(ifindex));
	error = ask(fd, &message, RTM_NEWROUTE, sizeof(*body));
	if (error)
		return error;
	*route = (struct xa_route){.type = body->rtm_type, .nexthop = *destination};
	len = RTM_PAYLOAD(&message.header);
	for (attr = RTM_RTA(body); RTA_OK(attr, len); attr = RTA_NEXT(attr, len)) {
		if (attr->rta_type == RTA_GATEWAY)
			read_address(attr, &route->nexthop);
		if (attr->rta_type == RTA_OIF)
			memcpy(&route->ifindex, RTA_DATA(attr), sizeof(route->ifindex));
		if (attr->rta_type != RTA_PREFSRC)
			continue;
		read_address(attr, &route->source);
		route->has_source = true;
	}
	return 0;
}

static int neighbour_error(uint16_t state)
{
	if (state & NUD_FAILED)
		return -EHOSTUNREACH;
	return state & NUD_INCOMPLETE ? -EAGAIN : -ENOENT;
}

int xa_rtnl_neighbour(int fd, int ifindex, const struct xa_ip *address, uint8_t mac[6])
{
	const uint16_t valid =
		NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;
	struct message message;
	struct ndmsg *body = begin(&message, RTM_GETNEIGH, sizeof(*body));
	struct rtattr *attr;
	int error, len;

	body->ndm_family = family_of(address);
	body->ndm_ifindex = ifindex;
	add_address(&message, NDA_DST, address);
	error = ask(fd, &message, RTM_NEWNEIGH, sizeof(*body));
	if (error)
		return error;
	if (!(body->ndm_state & valid))
		return neighbour_error(body->ndm_state);
	len = NLMSG_PAYLOAD(&message.header, sizeof(*body));
	for (attr = (struct rtattr *)((char *)body + NLMSG_ALIGN(sizeof(*body))); RTA_OK(attr, len);
	     attr = RTA_NEXT(attr, len)) {
		if (attr->rta_type != NDA_LLADDR || RTA_PAYLOAD(attr) != MAC_LEN)
			continue;
		memcpy(mac, RTA_DATA(attr), MAC_LEN);
		return 0;
	}
	return -ENOENT;
}
