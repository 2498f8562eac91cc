/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netns.h - visits to another network namespace: sockets belong to the one that they were made in.
 */
#ifndef XATOMIC_REQUESTER_NETNS_H
#define XATOMIC_REQUESTER_NETNS_H

/*
 * Moves the calling thread into the namespace /run/netns/NAME. Returns a handle for xa_netns_leave(), or a
 * negative errno: -ENOENT when there is no such namespace.
 */
int xa_netns_enter(const char *name);

/* Moves the thread back. */
void xa_netns_leave(int handle);

#endif
