/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "responder.skel.h"
#include "vm.h"
#include "../lib/tap.h"

struct result {
	int verdict;
	size_t len;
	uint8_t frame[PACKET_MAX];
};

/* The counter of the reason has grown, whatever the class of opcodes. */
static bool met_reason(const struct xa_stats *before, const struct xa_stats *after,
		       enum xa_reason reason)
{
	const uint64_t *a = (const uint64_t *)before + reason;
	const uint64_t *b = (const uint64_t *)after + reason;
	uint64_t grown = 0;

	for (int i = 0; i < XA_CLASS_COUNT; i++)
		grown += b[i * XA_REASON_COUNT] - a[i * XA_REASON_COUNT];
	if (!grown)
		tap_note("the packet is not counted as %s", reason_name(reason));
	return grown;
}

static bool run_in_kernel(struct rig *rig, const struct class *class, const uint8_t *frame,
			  size_t len, struct result *result)
{
	struct xa_stats before, after;
	int err = responder_stats(&rig->responder, &before);

	result->verdict = responder_run(&rig->responder, frame, len, result->frame, &result->len);
	err = err ?: responder_stats(&rig->responder, &after);
	if (err || result->verdict < 0) {
		tap_note("the kernel does not run the program: %s",
			 strerror(err ? -err : -result->verdict));
		return false;
	}
	return met_reason(&before, &after, class->reason);
}

static bool interpret(struct rig *rig, struct maps *maps, const uint8_t *frame, size_t len,
		      struct result *result, struct cost *cost)
{
	const struct bpf_program *program = rig->responder.skel->progs.xatomic_rx;
	struct vm *vm = calloc(1, sizeof(*vm));

	if (!vm)
		return false;
	vm_init(vm, bpf_program__insns(program), bpf_program__insn_cnt(program), maps);
	result->verdict = vm_run(vm, frame, len, &result->len);
	memcpy(result->frame, vm->frame, sizeof(result->frame));
	*cost = (struct cost){.insns = vm->executed, .calls = vm->calls};
	if (result->verdict < 0)
		tap_note("the interpreter gave up: %s", vm->error);
	free(vm);
	return result->verdict >= 0;
}

static bool same_result(const struct result *kernel, const struct result *ours)
{
	if (kernel->verdict == ours->verdict && kernel->len == ours->len)
		return tap_same("frame", kernel->frame, ours->frame, ours->len);
	tap_note("verdict %d on %zu bytes, by the kernel %d on %zu", ours->verdict, ours->len,
		 kernel->verdict, kernel->len);
	return false;
}

/*
 * The kernel left `count` records (none, or the one of which `size` bytes mean something) in a ring buffer:
 * is that what is in ours? Each record begins with a time, which is not compared.
 */
static bool same_record(struct maps *maps, const struct bpf_map *ring, int count, void *record,
			size_t size)
{
	const struct map *ours = maps_by_fd(maps, bpf_map__fd(ring));

	if (count < 0 || count > 1 || !count != !ours->used) {
		tap_note("%s: %u bytes, by the kernel %d records", ours->info.name, ours->used,
			 count);
		return false;
	}
	if (!count)
		return true;
	memcpy(record, ours->values, sizeof(uint64_t));
	return tap_same(ours->info.name, record, ours->values, size);
}

static bool same_records(struct rig *rig, struct maps *maps)
{
	struct responder *r = &rig->responder;
	int events = responder_events(r), packets = responder_gsi(r);

	return same_record(maps, r->skel->maps.events, events, &r->event, sizeof(r->event)) &&
	       same_record(maps, r->skel->maps.gsi, packets, &r->gsi,
			   offsetof(struct xa_gsi_packet, frame) + r->gsi.length);
}

/* `ours` is the state before, which the interpreter changes; `kernels` is read afterwards. */
static bool run_both(struct rig *rig, const struct class *class, const struct packet *packet,
		     struct maps *ours, struct maps *kernels, struct cost *cost)
{
	const struct bpf_object *object = rig->responder.skel->obj;
	struct result kernel = {0}, our = {0};
	uint8_t frame[PACKET_MAX] = {0};
	size_t len = packet_build(packet, frame);
	int err = maps_copy(ours, object);

	if (!err && (!interpret(rig, ours, frame, len, &our, cost) ||
		     !run_in_kernel(rig, class, frame, len, &kernel)))
		return false;
	err = err ?: maps_copy(kernels, object);
	if (err) {
		tap_note("the maps cannot be copied: %s", strerror(-err));
		return false;
	}
	return same_result(&kernel, &our) & maps_same(kernels, ours) & same_records(rig, ours);
}

bool measure(struct rig *rig, const struct class *class, struct cost *cost)
{
	struct maps ours = {.count = 0}, kernels = {.count = 0};
	struct scene scene;
	bool same;

	class_scene(class, &scene);
	if (scene_place(rig, &scene)) {
		tap_note("the state could not be set up");
		return false;
	}
	same = run_both(rig, class, &scene.packet, &ours, &kernels, cost);
	maps_free(&ours);
	maps_free(&kernels);
	return same;
}
