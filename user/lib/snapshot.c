/* SPDX-License-Identifier: BSD-2-Clause */
#include "snapshot.h"

#include <endian.h>
#include <errno.h>
#include <linux/types.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "error.h"
#include "name.h"

enum {
	BLOCK_WORDS = 512,
	ALL_ACCESS = XA_ACCESS_ATOMIC | XA_ACCESS_READ | XA_ACCESS_WRITE,
};

static const unsigned char magic[8] = "\x89XATOMC\x1a";

struct head {
	unsigned char magic[8];
	__le32 version;
	__le32 count;
};

struct entry {
	char name[XA_NAME_LEN];
	__le64 iova;
	__le64 words;
	__le32 rkey;
	__le32 pdn;
	__le32 access;
	__le32 key_step;
	__le32 owner;
	__le32 group;
	__le32 perm;
	__le32 zero;
};

struct extent {
	__le64 first;
	__le64 count;
};

_Static_assert(sizeof(struct head) == 16, "as in snapshot.h");
_Static_assert(sizeof(struct entry) == 112, "as in snapshot.h");
_Static_assert(sizeof(struct extent) == 16, "as in snapshot.h");

/* Errors are kept by the stream and looked at once, at the end. */
static void put(struct xa_snapshot *snapshot, const void *data, size_t size)
{
	snapshot->crc = crc32(snapshot->crc, data, size);
	fwrite(data, 1, size, snapshot->file);
}

static void put_crc(struct xa_snapshot *snapshot)
{
	__le32 crc = htole32(snapshot->crc);

	put(snapshot, &crc, sizeof(crc));
}

static void put_head(struct xa_snapshot *snapshot)
{
	struct head head = {
		.version = htole32(XA_SNAPSHOT_VERSION),
		.count = htole32(snapshot->count),
	};

	memcpy(head.magic, magic, sizeof(magic));
	put(snapshot, &head, sizeof(head));
}

static void put_entry(struct xa_snapshot *snapshot, const struct xa_region *region)
{
	struct entry entry = {
		.iova = htole64(region->mr.iova),
		.words = htole64(region->mr.length / 8),
		.rkey = htole32(region->mr.rkey),
		.pdn = htole32(region->mr.pdn),
		.access = htole32(region->mr.access),
		.key_step = htole32(region->mr.key_step),
		.owner = htole32(region->owner),
		.group = htole32(region->group),
		.perm = htole32(region->perm),
	};

	memcpy(entry.name, region->mr.name, strnlen(region->mr.name, XA_NAME_LEN - 1));
	put(snapshot, &entry, sizeof(entry));
}

static void put_extent(struct xa_snapshot *snapshot, uint64_t first, const __le64 *words,
		       uint64_t count)
{
	struct extent extent = {htole64(first), htole64(count)};

	put(snapshot, &extent, sizeof(extent));
	put(snapshot, words, count * sizeof(*words));
}

/* Are there others than 0 among the words? They may change all the time, so each is read just once. */
static bool copy_block(__le64 *to, const xatomic_word *from, uint64_t count)
{
	uint64_t any = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t word = atomic_load_explicit(&from[i], memory_order_relaxed);

		any |= word;
		to[i] = htole64(word);
	}
	return any;
}

static int check_written(const struct xa_snapshot *snapshot)
{
	if (!ferror(snapshot->file))
		return 0;
	return xa_error("%s cannot be written (%s); free some space or save elsewhere",
			snapshot->path, strerror(errno));
}

int xa_snapshot_write_regions(struct xa_snapshot *snapshot)
{
	snapshot->crc = 0;
	put_head(snapshot);
	for (size_t i = 0; i < snapshot->count; i++)
		put_entry(snapshot, &snapshot->regions[i]);
	put_crc(snapshot);
	return check_written(snapshot);
}

int xa_snapshot_write_words(struct xa_snapshot *snapshot, const struct xa_region *region)
{
	uint64_t total = region->mr.length / 8, n;
	__le64 block[BLOCK_WORDS];

	for (uint64_t first = 0; first < total; first += n) {
		n = total - first < BLOCK_WORDS ? total - first : BLOCK_WORDS;
		if (copy_block(block, region->words + first, n))
			put_extent(snapshot, first, block, n);
		if (check_written(snapshot))
			return -1;
	}
	put_extent(snapshot, 0, block, 0);
	return check_written(snapshot);
}

int xa_snapshot_write_end(struct xa_snapshot *snapshot)
{
	put_crc(snapshot);
	fflush(snapshot->file);
	return check_written(snapshot);
}

static int damaged(const struct xa_snapshot *snapshot, const char *how)
{
	return xa_error("%s %s, so nothing was restored; take another copy", snapshot->path, how);
}

static int get(struct xa_snapshot *snapshot, void *data, size_t size)
{
	errno = 0;
	if (fread(data, 1, size, snapshot->file) == size) {
		snapshot->crc = crc32(snapshot->crc, data, size);
		return 0;
	}
	if (ferror(snapshot->file))
		return xa_error("%s cannot be read (%s), so nothing was restored", snapshot->path,
				strerror(errno));
	return damaged(snapshot, "ends too early");
}

static int check_crc(struct xa_snapshot *snapshot)
{
	uint32_t wanted = snapshot->crc;
	__le32 crc;

	if (get(snapshot, &crc, sizeof(crc)))
		return -1;
	if (le32toh(crc) == wanted)
		return 0;
	return damaged(snapshot, "is damaged (its checksum is wrong)");
}

static int get_head(struct xa_snapshot *snapshot, uint32_t *count)
{
	struct head head;

	if (get(snapshot, &head, sizeof(head.magic)))
		return -1;
	if (memcmp(head.magic, magic, sizeof(magic)))
		return xa_error(
			"%s is no file of saved memory regions; give one that 'xatomic save' wrote",
			snapshot->path);
	if (get(snapshot, &head.version, sizeof(head) - sizeof(head.magic)))
		return -1;
	*count = le32toh(head.count);
	if (le32toh(head.version) == XA_SNAPSHOT_VERSION)
		return 0;
	return xa_error("%s has version %u of the file format and this xatomic knows version %u; "
			"restore it with the xatomic that saved it",
			snapshot->path, le32toh(head.version), XA_SNAPSHOT_VERSION);
}

static bool is_possible(const struct entry *entry, const struct xa_region *region)
{
	const struct xa_mr *mr = &region->mr;
	uint64_t words = le64toh(entry->words);

	return !entry->name[XA_NAME_LEN - 1] && xa_is_name(mr->name) && words &&
	       words <= UINT32_MAX && !(mr->iova % 8) && mr->iova <= -mr->length && mr->rkey &&
	       mr->rkey >> 8 < XA_MAX_MRS && mr->key_step % 2 && !(mr->access & ~ALL_ACCESS) &&
	       region->perm <= 0777;
}

static int get_entry(struct xa_snapshot *snapshot, struct xa_region *region)
{
	struct entry entry;

	if (get(snapshot, &entry, sizeof(entry)))
		return -1;
	snprintf(region->mr.name, sizeof(region->mr.name), "%.*s", XA_NAME_LEN - 1, entry.name);
	region->mr.iova = le64toh(entry.iova);
	region->mr.length = 8 * le64toh(entry.words);
	region->mr.rkey = le32toh(entry.rkey);
	region->mr.pdn = le32toh(entry.pdn);
	region->mr.access = le32toh(entry.access);
	region->mr.key_step = le32toh(entry.key_step);
	region->owner = le32toh(entry.owner);
	region->group = le32toh(entry.group);
	region->perm = le32toh(entry.perm);
	if (is_possible(&entry, region))
		return 0;
	return damaged(snapshot, "has a memory region that cannot be");
}

/* Grows as the file does, so that a wrong count takes no memory. */
static int add_region(struct xa_snapshot *snapshot)
{
	struct xa_region *regions =
		realloc(snapshot->regions, (snapshot->count + 1) * sizeof(*regions));

	if (!regions)
		return xa_error("xatomic is out of memory; try again when more is free");
	snapshot->regions = regions;
	regions += snapshot->count;
	memset(regions, 0, sizeof(*regions));
	regions->map = -1;
	snapshot->count++;
	return get_entry(snapshot, regions);
}

int xa_snapshot_read_regions(struct xa_snapshot *snapshot)
{
	uint32_t count = 0;

	snapshot->crc = 0;
	snapshot->count = 0;
	snapshot->regions = NULL;
	if (get_head(snapshot, &count))
		return -1;
	for (uint32_t i = 0; i < count; i++)
		if (add_region(snapshot))
			return -1;
	return check_crc(snapshot);
}

static int get_block(struct xa_snapshot *snapshot, xatomic_word *words, uint64_t count)
{
	__le64 block[BLOCK_WORDS];

	if (get(snapshot, block, count * sizeof(*block)))
		return -1;
	for (uint64_t i = 0; i < count; i++)
		atomic_store_explicit(&words[i], le64toh(block[i]), memory_order_relaxed);
	return 0;
}

static int get_extent(struct xa_snapshot *snapshot, const struct xa_region *region, uint64_t first,
		      uint64_t count)
{
	uint64_t total = region->mr.length / 8, n;

	if (first >= total || count > total - first)
		return damaged(snapshot, "has words outside of a memory region");
	for (; count; first += n, count -= n) {
		n = count < BLOCK_WORDS ? count : BLOCK_WORDS;
		if (get_block(snapshot, region->words + first, n))
			return -1;
	}
	return 0;
}

int xa_snapshot_read_words(struct xa_snapshot *snapshot, struct xa_region *region)
{
	struct extent extent;
	uint64_t count;

	do {
		if (get(snapshot, &extent, sizeof(extent)))
			return -1;
		count = le64toh(extent.count);
		if (count && get_extent(snapshot, region, le64toh(extent.first), count))
			return -1;
	} while (count);
	return 0;
}

int xa_snapshot_read_end(struct xa_snapshot *snapshot)
{
	if (check_crc(snapshot))
		return -1;
	return fgetc(snapshot->file) == EOF ? 0 : damaged(snapshot, "goes on behind its end");
}

void xa_snapshot_free(struct xa_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++)
		xa_region_close(&snapshot->regions[i]);
	free(snapshot->regions);
	snapshot->regions = NULL;
	snapshot->count = 0;
}
