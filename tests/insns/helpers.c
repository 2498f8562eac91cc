/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * helpers.c - the kernel's functions that the responder calls, as bpf-helpers(7) has them.
 */
#include "vm.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <string.h>

/* Any time but 0 would do. */
#define TIME_NS    1234567890123ull
#define ALIGN_8(n) (((n) + 7) / 8 * 8)

/* `arg` are registers 1 to 5. */
typedef uint64_t helper_fn(struct vm *vm, const uint64_t *arg);

/* NULL, and the end of the run, when that is no map. */
static struct map *map_of(struct vm *vm, uint64_t address)
{
	uint64_t index = address - VM_MAP_AT;

	if (index < vm->maps->count)
		return &vm->maps->map[index];
	vm_fail(vm, "0x%lx is no map", address);
	return NULL;
}

/* An array of maps gives the map itself. */
static uint64_t address_of(struct vm *vm, const struct map *map, const uint8_t *value)
{
	const struct map *inner;

	if (!value || map->info.type != BPF_MAP_TYPE_ARRAY_OF_MAPS)
		return value ? map->at + (value - map->values) : 0;
	inner = maps_by_id(vm->maps, *(const uint32_t *)value);
	return inner ? VM_MAP_AT + (inner - vm->maps->map) : 0;
}

static uint64_t map_lookup_elem(struct vm *vm, const uint64_t *arg)
{
	const struct map *map = map_of(vm, arg[0]);
	const void *key = map ? vm_at(vm, arg[1], map->info.key_size) : NULL;

	return key ? address_of(vm, map, map_find(map, key)) : 0;
}

static uint64_t map_update_elem(struct vm *vm, const uint64_t *arg)
{
	struct map *map = map_of(vm, arg[0]);
	const void *key = map ? vm_at(vm, arg[1], map->info.key_size) : NULL;
	const void *value = key ? vm_at(vm, arg[2], map->info.value_size) : NULL;

	return value ? map_update(map, key, value, arg[3]) : 0;
}

static uint64_t ktime_get_ns(struct vm *vm __attribute__((unused)),
			     const uint64_t *arg __attribute__((unused)))
{
	return TIME_NS;
}

/* A frame may not become shorter than its Ethernet header, nor longer than its buffer. */
static uint64_t xdp_adjust_tail(struct vm *vm, const uint64_t *arg)
{
	int64_t len = (int64_t)(vm->ctx.data_end - vm->ctx.data) + (int32_t)arg[1];

	if (len < ETH_HLEN || len > (int64_t)sizeof(vm->frame))
		return -EINVAL;
	vm_set_frame_len(vm, len);
	return 0;
}

static uint64_t xdp_load_bytes(struct vm *vm, const uint64_t *arg)
{
	uint64_t offset = (uint32_t)arg[1], len = (uint32_t)arg[3];
	void *to = vm_at(vm, arg[2], len);

	if (!to || offset + len > vm->ctx.data_end - vm->ctx.data)
		return -EINVAL;
	memcpy(to, vm->frame + offset, len);
	return 0;
}

static uint64_t ringbuf_reserve(struct vm *vm, const uint64_t *arg)
{
	struct map *ring = map_of(vm, arg[0]);

	if (!ring || arg[1] > ring->capacity - ring->used)
		return 0;
	ring->used += ALIGN_8(arg[1]);
	return ring->at + ring->used - ALIGN_8(arg[1]);
}

/* There is no reader to wake, and a reserved record is in the ring already. */
static uint64_t ringbuf_submit(struct vm *vm, const uint64_t *arg)
{
	vm_at(vm, arg[0], 1);
	return 0;
}

/* Gives the number of calls; the function ends the loop by another result than 0. */
static uint64_t loop(struct vm *vm, const uint64_t *arg)
{
	uint32_t calls = 0;
	bool go_on = true;

	while (go_on && calls < (uint32_t)arg[0]) {
		vm->reg[BPF_REG_1] = calls++;
		vm->reg[BPF_REG_2] = arg[2];
		go_on = vm_call(vm, arg[1] - VM_CODE_AT) && !vm->reg[BPF_REG_0];
	}
	return calls;
}

static helper_fn *const helpers[] = {
	[BPF_FUNC_map_lookup_elem] = map_lookup_elem,
	[BPF_FUNC_map_update_elem] = map_update_elem,
	[BPF_FUNC_ktime_get_ns] = ktime_get_ns,
	[BPF_FUNC_xdp_adjust_tail] = xdp_adjust_tail,
	[BPF_FUNC_ringbuf_reserve] = ringbuf_reserve,
	[BPF_FUNC_ringbuf_submit] = ringbuf_submit,
	[BPF_FUNC_loop] = loop,
	[BPF_FUNC_xdp_load_bytes] = xdp_load_bytes,
};

bool vm_call_helper(struct vm *vm, uint32_t helper)
{
	uint64_t arg[5];

	if (helper >= sizeof(helpers) / sizeof(*helpers) || !helpers[helper])
		return vm_fail(vm, "helper %u is not known here", helper);
	vm->calls++;
	memcpy(arg, vm->reg + BPF_REG_1, sizeof(arg));
	vm->reg[BPF_REG_0] = helpers[helper](vm, arg);
	return !*vm->error;
}
