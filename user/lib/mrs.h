/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrs.h - memory regions of an instance: registration, deregistration, the words.
 *
 * An MR is three things: the pin of its words (mr/NAME), the words in `mr_words`, and its entry in `mrs`.
 * They come in this order, the entry's state last, and go in the order that leaves no packet a way to the
 * words, nor to those of the next MR of that index: state, out of `mr_words` (which waits for packets in
 * flight), pin. So a free entry with words and a pin without a valid entry are what a process left that died
 * in between: the next registration clears them away.
 *
 * All functions return 0, or -1 with xa_error(), unless they say otherwise.
 */
#ifndef XATOMIC_LIB_MRS_H
#define XATOMIC_LIB_MRS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "instance.h"
#include "xatomic/mr.h"

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

/* A memory region with all that belongs to it: on its way in, or out into a file. */
struct xa_region {
	struct xa_mr mr;
	uid_t owner; /* of the pin; -1: whoever makes it */
	gid_t group;
	mode_t perm;
	int map; /* descriptor of the words, -1: not open */
	struct xatomic_mr *mapping;
	xatomic_word *words; /* those of the mapping */
};

/* Registers; *mr becomes the new entry. The instance is locked exclusively. */
int xa_mr_add(const struct xa_instance *instance, const struct xa_mr_request *request,
	      struct xa_mr *mr);

/*
 * Registration in steps, for several regions at once. The instance is locked exclusively.
 *
 * Can regions be had under the names and rkeys that they have? Clears away what is left of registrations that
 * did not come to their end.
 */
int xa_regions_check(const struct xa_instance *instance, const struct xa_region *regions,
		     size_t count);

/* Makes the words, all 0. */
int xa_region_create(struct xa_region *region);

/* Pins them. */
int xa_region_pin(const struct xa_instance *instance, const struct xa_region *region);

/* Gives pinned regions to packets: all of them or, also when the process dies on the way, none. */
int xa_regions_publish(const struct xa_instance *instance, struct xa_region *regions, size_t count);

/* Unpins regions that are not published. */
void xa_regions_withdraw(const struct xa_instance *instance, const struct xa_region *regions,
			 size_t count);

/* Reads the owner and the mode of a registered region's pin. */
int xa_region_stat(const struct xa_instance *instance, struct xa_region *region);

/* Opens the words of a pinned region. */
int xa_region_open(const struct xa_instance *instance, struct xa_region *region);

/* Maps the words of one that is open. */
int xa_region_map(struct xa_region *region);

/* Lets go of them. */
void xa_region_close(struct xa_region *region);

/* Deregisters. When it returns no packet touches the words any more. */
int xa_mr_del(const struct xa_instance *instance, const char *name);

int xa_mr_find(const struct xa_instance *instance, const char *name, struct xa_mr *mr);

/* All valid entries, by index. *list is to be freed. */
int xa_mr_list(const struct xa_instance *instance, struct xa_mr **list, size_t *count);

/* Maps the map with this descriptor. NULL with errno. Close it with xatomic_mr_close(). */
struct xatomic_mr *xa_mr_map(int fd);

/* xatomic_mr_open() of xatomic/mr.h for a place that is known. */
struct xatomic_mr *xa_mr_open_at(const struct xa_place *place, const char *name);

#endif
