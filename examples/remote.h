/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * remote.h - the words of a memory region on another host: a connection by librdmacm to `xatomic serve`, and
 * the two atomics on it. One at a time; what matters to sequencer.c and lease.c is what they do with them.
 *
 * Functions that return int return 0, or -1 when the connection is of no use any more; they have said why on
 * standard error by then. Whether an atomic that failed was executed is not known.
 */
#ifndef REMOTE_H
#define REMOTE_H

#include <stdint.h>

struct remote;

/* Connects to a host and asks for a region by its name. NULL: refused, or not there; said why. */
struct remote *remote_open(const char *host, const char *region);

/* How many words the region has. */
uint64_t remote_words(const struct remote *remote);

/* Adds, modulo 2^64. *before gets what the word held before. To add 0 is how a word is read. */
int remote_fetch_add(struct remote *remote, uint64_t word, uint64_t add, uint64_t *before);

/* Stores `desired` if the word equals `expected`: it has done so exactly when *before == expected. */
int remote_compare_swap(struct remote *remote, uint64_t word, uint64_t expected, uint64_t desired,
			uint64_t *before);

/* Disconnects and frees. NULL is fine. */
void remote_close(struct remote *remote);

#endif
