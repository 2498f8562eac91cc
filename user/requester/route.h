/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * route.h - what the kernel knows about the way to a peer: interface, own address, next hop, its MAC
 * address. All in the calling thread's network namespace.
 */
#ifndef XATOMIC_REQUESTER_ROUTE_H
#define XATOMIC_REQUESTER_ROUTE_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "frame.h"

/*
 * Fills smac, dmac and, if it is all zeros, local of `path`, whose peer is given. Returns 0 with the index of
 * the interface in *ifindex, or -1 with xa_error().
 */
int xa_route_find(const char *ifname, struct xa_path *path, int *ifindex);

/* Name of the interface by which the kernel would send to the peer. Returns 0, or -1 with xa_error(). */
int xa_route_interface(const struct xa_ip *peer, char name[IF_NAMESIZE]);

/* Index of an Ethernet interface that is up. Returns 0, or -1 with xa_error(). */
int xa_interface_find(const char *ifname, int *ifindex);

/* How many receive queues are in use; 1 when the driver does not tell. */
unsigned int xa_rx_queues(const char *ifname);

bool xa_has_xdp_program(int ifindex);

/* Is this a veth that no XDP program is attached to? Then frames sent to it by XDP_TX may vanish. */
bool xa_is_plain_veth(int ifindex);

/* The socket address, of its own family. Returns its length. */
socklen_t xa_ip_sockaddr(const struct xa_ip *ip, uint16_t port, int ifindex,
			 struct sockaddr_storage *address);

#endif
