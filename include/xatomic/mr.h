/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mr.h - the words of a memory region, for programs on the responder's host.
 *
 * `xatomic mr add` makes a memory region (MR) whose words live in a BPF map. A program that may open the
 * map's pin (--owner, --perm) gets the words as ordinary memory. Remote COMPARE_SWAP and FETCH_ADD and the
 * C11 atomics of all programs on this host work on the same words and are atomic with respect to each
 * other (ATOMIC_GLOB in verbs terms):
 *
 *	struct xatomic_mr *mr = xatomic_mr_open(NULL, "counters");
 *
 *	if (!mr)
 *		errx(1, "%s", xatomic_error());
 *	printf("%" PRIu64 "\n", atomic_fetch_add(&xatomic_mr_words(mr)[0], 1));
 *	xatomic_mr_close(mr);
 *
 * Word n is what remote hosts address as iova + 8 * n. Words are in host byte order. A plain store tears
 * nothing, but use atomic operations where a remote host may write as well.
 *
 * The words stay readable after `xatomic mr del`, until they are closed; no packet touches them any more.
 */
#ifndef XATOMIC_MR_H
#define XATOMIC_MR_H

#include <stddef.h>
#include <stdint.h>

#include "xatomic/error.h"

#ifdef __cplusplus
#include <atomic>
typedef std::atomic<uint64_t> xatomic_word;
extern "C" {
#else
typedef _Atomic uint64_t xatomic_word;
#endif

struct xatomic_mr;

/*
 * Opens the MR `name` of `instance`, NULL meaning "default", below the bpffs that the environment variable
 * XATOMIC_BPFFS names, else /sys/fs/bpf. Needs no capability, only the right to read and write the pin.
 * Returns NULL with errno set and a sentence in xatomic_error(): ENOENT no such MR, EACCES not allowed,
 * EINVAL a name that no MR can have.
 */
struct xatomic_mr *xatomic_mr_open(const char *instance, const char *name);

/* The first word; 8-byte aligned, xatomic_mr_count() words long, valid until xatomic_mr_close(). */
xatomic_word *xatomic_mr_words(const struct xatomic_mr *mr);

/* Number of 8-byte words. */
size_t xatomic_mr_count(const struct xatomic_mr *mr);

/* Unmaps the words and frees `mr`. NULL is fine. */
void xatomic_mr_close(struct xatomic_mr *mr);

#ifdef __cplusplus
}
#endif
#endif
