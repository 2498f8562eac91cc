/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrs.h - memory regions of an instance: registration, deregistration, the words.
 *
 * An MR is three things: the pin of its words (mr/NAME), the words in `mr_words`, and its entry in `mrs`.
 * They come in this order, the entry's state last, and go in the order that leaves no packet a way to the
 * words, nor to those of the next MR of that index: state, out of `mr_words` (which waits for packets in
 * flight), pin. So a pin without a valid entry is what a process left that died in
 * between, and the next registration clears it away.
 *
 * All functions return 0, or -1 with xa_error(), unless they say otherwise.
 */
#ifndef XATOMIC_LIB_MRS_H
#define XATOMIC_LIB_MRS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "instance.h"

struct xa_mr_request {
	const char *name;
	uint32_t words; /* at least 1 */
	uint64_t iova;  /* a multiple of 8; iova + 8 * words must not exceed 2^64 */
	uint32_t pdn;
	uint16_t access; /* XA_ACCESS_* */
	uid_t owner;     /* of the pin; -1: the caller */
	gid_t group;
	mode_t perm;
};

/* Registers; *mr becomes the new entry. The instance is locked exclusively. */
int xa_mr_add(const struct xa_instance *instance, const struct xa_mr_request *request,
	      struct xa_mr *mr);

/* Deregisters. When it returns no packet touches the words any more. */
int xa_mr_del(const struct xa_instance *instance, const char *name);

int xa_mr_find(const struct xa_instance *instance, const char *name, struct xa_mr *mr);

/* All valid entries, by index. *list is to be freed. */
int xa_mr_list(const struct xa_instance *instance, struct xa_mr **list, size_t *count);

/* xatomic_mr_open() of xatomic/mr.h for a place that is known. */
struct xatomic_mr *xa_mr_open_at(const struct xa_place *place, const char *name);

#endif
