/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offer.h - what client and `xatomic serve` tell each other in the private data of a connection, so that
 * nothing has to be known beforehand: the client may wish for a memory region by its name, the server tells
 * where that region is, or why the client does not get it. docs/cm.md has the layout.
 *
 * On the wire, numbers are big endian. Copy this file into your program.
 */
#ifndef OFFER_H
#define OFFER_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define OFFER_MAGIC   0x5841544fu /* "XATO" */
#define OFFER_VERSION 1

enum offer_kind { OFFER_WISH = 1, OFFER_REGION = 2, OFFER_REFUSAL = 3 };

struct offer_header {
	uint32_t magic;
	uint8_t version;
	uint8_t kind;
	uint16_t length; /* of the whole structure, in bytes */
} __attribute__((packed));

struct offer_wish {
	struct offer_header header;
	char name[48]; /* padded with NULs */
} __attribute__((packed));

struct offer_wire {
	struct offer_header header;
	uint64_t iova;
	uint64_t bytes;
	uint32_t rkey;
	uint8_t access; /* bits of IBV_ACCESS_REMOTE_* */
	uint8_t reserved[3];
	char name[64]; /* padded with NULs */
} __attribute__((packed));

struct offer_refusal {
	struct offer_header header;
	char text[140]; /* padded with NULs */
} __attribute__((packed));

/* A memory region, in host byte order. */
struct region {
	uint64_t iova; /* address of its first byte, as atomics name it */
	uint64_t bytes;
	uint32_t rkey;
};

/* Later versions may be longer, so any length from ours on will do. */
static inline int offer_is(const void *data, size_t length, enum offer_kind kind, size_t least)
{
	const struct offer_header *header = data;

	return data && length >= least && header->magic == htobe32(OFFER_MAGIC) &&
	       header->version == OFFER_VERSION && header->kind == kind &&
	       be16toh(header->length) >= least;
}

/* The region in the private data of an ESTABLISHED event. -1: this is no `xatomic serve`. */
static inline int offer_read(struct region *region, const void *data, size_t length)
{
	const struct offer_wire *wire = data;

	if (!offer_is(data, length, OFFER_REGION, sizeof(*wire)))
		return -1;
	region->iova = be64toh(wire->iova);
	region->bytes = be64toh(wire->bytes);
	region->rkey = be32toh(wire->rkey);
	return 0;
}

/* Why, from the private data of a REJECTED event, at most 140 characters; NULL when nobody says. */
static inline const char *offer_refused(const void *data, size_t length)
{
	const struct offer_refusal *refusal = data;

	return offer_is(data, length, OFFER_REFUSAL, sizeof(*refusal)) ? refusal->text : NULL;
}

/* Private data of a request. -1: no region can have that name. */
static inline int offer_wish(struct offer_wish *wish, const char *name)
{
	if (strlen(name) > sizeof(wish->name))
		return -1;
	memset(wish, 0, sizeof(*wish));
	wish->header.magic = htobe32(OFFER_MAGIC);
	wish->header.version = OFFER_VERSION;
	wish->header.kind = OFFER_WISH;
	wish->header.length = htobe16(sizeof(*wish));
	memcpy(wish->name, name, strlen(name));
	return 0;
}

#endif
