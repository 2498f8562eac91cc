/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - memory regions in a file. All numbers are little endian, whatever the host.
 *
 *	8 bytes   magic: 0x89 "XATOMC" 0x1a
 *	u32       version of this format, 1
 *	u32       number of regions
 *	regions   112 bytes each:
 *	            char name[64] (NUL to its end), u64 iova, u64 words, u32 rkey, u32 pdn, u32 access (as
 *	            IBV_ACCESS_REMOTE_*), u32 key step (what the rkey's last byte grows by at the next
 *	            registration), u32 user id, u32 group id, u32 permissions (of the pin), u32 0
 *	u32       CRC-32 (zlib's) of all so far, so that sizes are believed only when they are right
 *	words     of each region in turn: extents of u64 first word, u64 number of words, those words; what no
 *	          extent covers is 0; an extent of 0 words ends the region
 *	u32       CRC-32 of all so far
 *
 * Nothing may follow. Functions return 0, or -1 with xa_error().
 */
#ifndef XATOMIC_LIB_SNAPSHOT_H
#define XATOMIC_LIB_SNAPSHOT_H

#include <stdio.h>

#include "mrs.h"

#define XA_SNAPSHOT_VERSION 1

struct xa_snapshot {
	FILE *file;
	const char *path; /* for sentences */
	uint32_t crc;     /* of what has been read or written */
	struct xa_region *regions;
	size_t count;
};

/* Writes all but the words of snapshot->regions to snapshot->file. */
int xa_snapshot_write_regions(struct xa_snapshot *snapshot);

/* Writes the words of one, which are mapped; to be called for each in turn. Each word is read in one piece. */
int xa_snapshot_write_words(struct xa_snapshot *snapshot, const struct xa_region *region);

int xa_snapshot_write_end(struct xa_snapshot *snapshot);

/* Reads `regions`, without words, and `count` from snapshot->file. */
int xa_snapshot_read_regions(struct xa_snapshot *snapshot);

/* Reads the words of one into what the caller has mapped, all 0; to be called for each in turn. */
int xa_snapshot_read_words(struct xa_snapshot *snapshot, struct xa_region *region);

/* Without this, nothing that was read can be believed. */
int xa_snapshot_read_end(struct xa_snapshot *snapshot);

/* Closes the regions, not the file. */
void xa_snapshot_free(struct xa_snapshot *snapshot);

#endif
