/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_LEN = 256, DEFAULT_PORT = 18516 };

/* An IPv6 address stands alone or, before a port, in brackets. */
bool req_split_host(const char *text, char host[HOST_LEN], uint16_t *port)
{
	const char *end, *colon;
	uint64_t number = DEFAULT_PORT;

	if (*text == '[') {
		end = strchr(++text, ']');
		colon = end ? end + 1 : NULL;
	} else {
		colon = strchr(text, ':');
		if (colon && strchr(colon + 1, ':'))
			colon = NULL;
		end = colon ? colon : text + strlen(text);
		colon = end;
	}
	if (!end || end == text || end - text >= HOST_LEN ||
	    (*colon && (*colon != ':' || !xa_parse_number(colon + 1, &number))) || !number ||
	    number > UINT16_MAX)
		return false;
	snprintf(host, HOST_LEN, "%.*s", (int)(end - text), text);
	*port = number;
	return true;
}

static bool look_up(const char *host, struct xa_ip *ip)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *list;

	if (xa_ip_parse(ip, host))
		return true;
	if (getaddrinfo(host, NULL, &hints, &list))
		return false;
	if (list->ai_family == AF_INET)
		xa_ip_from_v4(ip, &((const struct sockaddr_in *)list->ai_addr)->sin_addr);
	else
		xa_ip_from_v6(ip, &((const struct sockaddr_in6 *)list->ai_addr)->sin6_addr);
	freeaddrinfo(list);
	return true;
}

static int find_server(const struct req_settings *settings, struct cm_dial_attr *attr)
{
	char host[HOST_LEN];

	if (!req_split_host(settings->connect, host, &attr->port)) {
		xa_fail("'%s' is no valid --connect: it must be HOST, HOST:PORT or [IPV6]:PORT",
			settings->connect);
		return XA_EXIT_USAGE;
	}
	if (!look_up(host, &attr->peer) || !xa_ip_is_host(&attr->peer))
		return xa_fail("'%s' is no host that is known here; give its address", host);
	return 0;
}

static int use_result(struct req_settings *settings, const struct cm_active *active,
		      struct req_target *target)
{
	const struct cm_active_result *result = &active->result;

	*target = (struct req_target){
		.peer = active->attr.way.path.peer,
		.local = active->attr.way.path.local,
		.lqpn = active->attr.lqpn,
		.rqpn = result->rqpn,
		.sq_psn = result->psn,
		.depth = result->depth,
	};
	if (settings->rkey == REQ_NO_RKEY && !result->has_offer)
		return xa_fail("the server tells of no memory region, as only 'xatomic serve' and "
			       "programs like it do; give --rkey, and --offset as the address");
	if (settings->rkey == REQ_NO_RKEY)
		settings->rkey = result->rkey;
	settings->addr = result->iova + settings->offset;
	if (!result->depth)
		return xa_fail("the server grants no atomics in flight, so there can be none");
	if (settings->window > result->depth)
		settings->window = result->depth;
	return 0;
}

int req_connect(struct req_settings *settings, const volatile sig_atomic_t *stop,
		struct cm_call *call, struct req_target *target)
{
	struct cm_dial_attr attr = {
		.ifname = settings->dev,
		.netns = settings->netns,
		.depth = settings->window,
		.timeout = req_timeout(settings->timeout_us),
		.retry_cnt = settings->retry,
		.mr = settings->mr,
		.stop = stop,
	};
	int status;

	if (settings->mr && strlen(settings->mr) > CM_WISH_NAME)
		return xa_fail("'%s' is longer than the %d characters that can be asked for",
			       settings->mr, CM_WISH_NAME);
	status = find_server(settings, &attr);
	if (status)
		return status;
	if (cm_dial(call, &attr))
		return xa_fail("%s", xatomic_error());
	settings->dev = call->ifname;
	status = use_result(settings, &call->active, target);
	if (status)
		cm_hang_up(call);
	return status;
}
