/* SPDX-License-Identifier: BSD-2-Clause */
#include "maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/tap.h"

enum { HASH_ENTRIES = 8, RING_BYTES = 4096 };

static bool is_hash(const struct map *map)
{
	return map->info.type == BPF_MAP_TYPE_HASH || map->info.type == BPF_MAP_TYPE_LRU_HASH;
}

static uint32_t capacity_of(const struct map *map)
{
	switch (map->info.type) {
	case BPF_MAP_TYPE_ARRAY:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
		return map->info.max_entries;
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
		return HASH_ENTRIES;
	case BPF_MAP_TYPE_RINGBUF:
		return RING_BYTES;
	default:
		return 0;
	}
}

size_t map_bytes(const struct map *map)
{
	return map->capacity * map->stride;
}

/* Values of a kernel map are as far apart as multiples of 8 bytes are. */
static int allocate(struct map *map)
{
	bool ring = map->info.type == BPF_MAP_TYPE_RINGBUF;

	map->capacity = capacity_of(map);
	if (!map->capacity || (!ring && map->info.key_size != sizeof(uint32_t)))
		return -EOPNOTSUPP;
	map->stride = ring ? 1 : (map->info.value_size + 7) / 8 * 8;
	map->values = calloc(map->capacity, map->stride);
	map->keys = is_hash(map) ? calloc(map->capacity, sizeof(*map->keys)) : NULL;
	return map->values && (map->keys || !is_hash(map)) ? 0 : -ENOMEM;
}

static int copy_sum(struct map *map, int fd, uint32_t key)
{
	size_t words = map->stride / 8, cpus = libbpf_num_possible_cpus();
	uint64_t *all = calloc(words * cpus, sizeof(*all)), *sum = (uint64_t *)map->values;
	int err = all ? bpf_map_lookup_elem(fd, &key, all) : -ENOMEM;

	for (size_t i = 0; !err && i < words * cpus; i++)
		sum[key * words + i % words] += all[i];
	free(all);
	return err;
}

/* A place in an array of maps may be empty. */
static int copy_array(struct map *map, int fd)
{
	int err = 0;

	for (uint32_t key = 0; !err && key < map->capacity; key++) {
		if (map->info.type == BPF_MAP_TYPE_PERCPU_ARRAY)
			err = copy_sum(map, fd, key);
		else
			err = bpf_map_lookup_elem(fd, &key, map->values + key * map->stride);
		if (err == -ENOENT && map->info.type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
			err = 0;
	}
	return err;
}

static int copy_hash(struct map *map, int fd)
{
	uint32_t key, *previous = NULL;

	while (!bpf_map_get_next_key(fd, previous, &key)) {
		if (map->used == map->capacity)
			return -E2BIG;
		if (bpf_map_lookup_elem(fd, &key, map->values + map->used * map->stride))
			return -errno;
		previous = &map->keys[map->used++];
		*previous = key;
	}
	return 0;
}

static int copy_map(struct maps *maps, int fd, bool of_object)
{
	struct map *map = &maps->map[maps->count];
	__u32 len = sizeof(map->info);
	int err;

	if (maps->count == MAPS_MAX)
		return -E2BIG;
	err = bpf_obj_get_info_by_fd(fd, &map->info, &len);
	if (err)
		return err;
	maps->count++;
	map->fd = of_object ? fd : -1;
	err = allocate(map);
	if (err || map->info.type == BPF_MAP_TYPE_RINGBUF)
		return err;
	return is_hash(map) ? copy_hash(map, fd) : copy_array(map, fd);
}

static int copy_by_id(struct maps *maps, uint32_t id)
{
	int fd = bpf_map_get_fd_by_id(id), err;

	if (fd < 0)
		return fd;
	err = copy_map(maps, fd, false);
	close(fd);
	return err;
}

static int copy_inner(struct maps *maps, const struct map *outer)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < outer->capacity; i++) {
		uint32_t id = *(uint32_t *)(outer->values + i * outer->stride);

		if (id && !maps_by_id(maps, id))
			err = copy_by_id(maps, id);
	}
	return err;
}

int maps_copy(struct maps *maps, const struct bpf_object *object)
{
	const struct bpf_map *map;
	int err = 0;

	memset(maps, 0, sizeof(*maps));
	bpf_object__for_each_map(map, object) err = err ?: copy_map(maps, bpf_map__fd(map), true);
	for (unsigned int i = 0; !err && i < maps->count; i++)
		if (maps->map[i].info.type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
			err = copy_inner(maps, &maps->map[i]);
	return err;
}

void maps_free(struct maps *maps)
{
	for (unsigned int i = 0; i < maps->count; i++) {
		free(maps->map[i].keys);
		free(maps->map[i].values);
	}
	maps->count = 0;
}

struct map *maps_by_fd(struct maps *maps, int fd)
{
	for (unsigned int i = 0; i < maps->count; i++)
		if (maps->map[i].fd == fd)
			return &maps->map[i];
	return NULL;
}

struct map *maps_by_id(struct maps *maps, uint32_t id)
{
	for (unsigned int i = 0; i < maps->count; i++)
		if (maps->map[i].info.id == id)
			return &maps->map[i];
	return NULL;
}

void *map_find(const struct map *map, const void *key)
{
	uint32_t wanted = *(const uint32_t *)key, at = wanted;

	if (is_hash(map))
		for (at = 0; at < map->used && map->keys[at] != wanted; at++)
			;
	return at < (is_hash(map) ? map->used : map->capacity) ? map->values + at * map->stride
							       : NULL;
}

int map_update(struct map *map, const void *key, const void *value, uint64_t flags)
{
	void *to = map_find(map, key);

	if (to && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!to && (flags == BPF_EXIST || !is_hash(map)))
		return -ENOENT;
	if (!to && map->used == map->capacity)
		return -E2BIG;
	if (!to) {
		to = map->values + map->used * map->stride;
		map->keys[map->used++] = *(const uint32_t *)key;
	}
	memcpy(to, value, map->info.value_size);
	return 0;
}

static bool same_hash(const struct map *expected, const struct map *got)
{
	bool same = expected->used == got->used;

	for (uint32_t i = 0; same && i < expected->used; i++) {
		const void *value = map_find(got, &expected->keys[i]);

		same = value &&
		       tap_same(expected->info.name, expected->values + i * expected->stride, value,
				expected->stride);
	}
	if (!same)
		tap_note("%s: %u entries, expected %u", got->info.name, got->used, expected->used);
	return same;
}

bool maps_same(struct maps *expected, struct maps *got)
{
	bool same = expected->count == got->count;

	for (unsigned int i = 0; same && i < expected->count; i++) {
		const struct map *a = &expected->map[i], *b = &got->map[i];

		if (is_hash(a))
			same = same_hash(a, b);
		else if (a->info.type != BPF_MAP_TYPE_RINGBUF)
			same = tap_same(a->info.name, a->values, b->values, map_bytes(a));
	}
	return same;
}
