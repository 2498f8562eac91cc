/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netns.h - visits to another network namespace: sockets belong to the one that they were made in.
 */
#ifndef XATOMIC_LIB_NETNS_H
#define XATOMIC_LIB_NETNS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Moves the calling thread into the namespace /run/netns/NAME; NULL is its own one. Returns a handle for
 * xa_netns_leave(), or a negative errno: -ENOENT when there is no such namespace.
 */
int xa_netns_enter(const char *name);

/* The same by the path of a namespace file. */
int xa_netns_enter_path(const char *path);

/* Moves the thread back. */
void xa_netns_leave(int handle);

/* Number that the kernel knows the calling thread's namespace by, 0 with errno when it cannot be told. */
ino_t xa_netns_id(void);

/*
 * Visits namespaces until `visit`, called from within each, returns true: first the one that the caller is
 * in, then those with a name, then those of running processes; each once. Returns 1 when one did, else 0, or a
 * negative errno when not all could be visited for lack of memory or descriptors.
 */
int xa_netns_search(bool (*visit)(void *data), void *data);

/*
 * Name of the namespace that the calling thread is in, "" when it has none. `name` has 256 bytes. Returns 0 or
 * a negative errno.
 */
int xa_netns_name(char *name);

#endif
