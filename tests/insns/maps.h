/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maps.h - copies of a program's maps in plain memory: to run on, and to compare with.
 *
 * A per-CPU array is one array of 64-bit numbers, each the sum of all CPUs', which is as good as the array
 * itself for counters. A hash holds a few entries and evicts none. An array of maps holds the kernel's ids
 * of maps, and these are copied as well. A ring buffer starts empty.
 */
#ifndef XATOMIC_TEST_INSNS_MAPS_H
#define XATOMIC_TEST_INSNS_MAPS_H

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAPS_MAX = 32 };

struct map {
	struct bpf_map_info info;
	int fd; /* -1: found in an array of maps */
	size_t stride;
	uint32_t capacity; /* values that there is memory for */
	uint32_t used;     /* of a hash: entries; of a ring buffer: bytes */
	uint32_t *keys;    /* of a hash */
	uint8_t *values;
	uint64_t at; /* where the program sees the values */
};

struct maps {
	struct map map[MAPS_MAX];
	unsigned int count;
};

/* Copies what the maps of a loaded object hold. 0 or -errno; to be freed in both cases. */
int maps_copy(struct maps *maps, const struct bpf_object *object);
void maps_free(struct maps *maps);

/* NULL when there is none */
struct map *maps_by_fd(struct maps *maps, int fd);
struct map *maps_by_id(struct maps *maps, uint32_t id);

size_t map_bytes(const struct map *map);

/* The value of a key, NULL when there is none. */
void *map_find(const struct map *map, const void *key);

/* As bpf_map_update_elem(): 0 or -errno. */
int map_update(struct map *map, const void *key, const void *value, uint64_t flags);

/* True when both hold the same, ring buffers aside; else notes tell which map does not. */
bool maps_same(struct maps *expected, struct maps *got);

#endif
