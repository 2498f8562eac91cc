/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rtnl.h - two questions to rtnetlink(7).
 */
#ifndef XATOMIC_REQUESTER_RTNL_H
#define XATOMIC_REQUESTER_RTNL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/address.h"

struct xa_route {
	unsigned char type; /* RTN_UNICAST, ... */
	bool has_source;
	struct xa_ip source;  /* preferred own address */
	struct xa_ip nexthop; /* gateway, or the destination itself */
	int ifindex;
};

/*
 * How would the kernel send to `destination` by this interface, 0: by any? Returns 0 or a negative errno.
 */
int xa_rtnl_route(int fd, int ifindex, const struct xa_ip *destination, struct xa_route *route);

/*
 * The MAC address of a neighbour. Returns 0, -EAGAIN while it is being asked for, -EHOSTUNREACH when it did
 * not answer, -ENOENT when nobody has asked yet, or another negative errno.
 */
int xa_rtnl_neighbour(int fd, int ifindex, const struct xa_ip *address, uint8_t mac[6]);

/* A socket for the above. Returns it or a negative errno. */
int xa_rtnl_open(void);

#endif
