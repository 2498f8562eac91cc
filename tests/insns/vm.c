/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm.c - address space, function calls and the step from one instruction to the next.
 */
#include "vm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REGION_SHIFT = 24, MAX_EXECUTED = 1000000, FIRST_SAVED = 6, SAVED = 5 };
enum { LOOPBACK = 1 }; /* where packets of BPF_PROG_TEST_RUN come in */

bool vm_fail(struct vm *vm, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(vm->error, sizeof(vm->error), format, args);
	va_end(args);
	return false;
}

/* Address 0 stays nobody's. */
static uint64_t add_region(struct vm *vm, void *bytes, size_t size)
{
	if (vm->regions + 1 == VM_REGIONS || size >> REGION_SHIFT) {
		vm_fail(vm, "no room for %zu bytes of memory", size);
		return 0;
	}
	vm->region[++vm->regions] = (struct vm_region){.bytes = bytes, .size = size};
	return (uint64_t)vm->regions << REGION_SHIFT;
}

void *vm_at(struct vm *vm, uint64_t address, size_t len)
{
	uint64_t index = address >> REGION_SHIFT, offset = address & ((1 << REGION_SHIFT) - 1);

	if (index <= vm->regions && offset + len <= vm->region[index].size)
		return vm->region[index].bytes + offset;
	vm_fail(vm, "instruction %lu reaches for %zu bytes at 0x%lx, which are not the program's",
		vm->executed, len, address);
	return NULL;
}

void vm_set_frame_len(struct vm *vm, size_t len)
{
	struct vm_region *region = &vm->region[vm->ctx.data >> REGION_SHIFT];

	if (len > region->size)
		memset(region->bytes + region->size, 0, len - region->size);
	region->size = len;
	vm->ctx.data_end = vm->ctx.data + len;
}

void vm_init(struct vm *vm, const struct bpf_insn *insns, size_t count, struct maps *maps)
{
	memset(vm, 0, sizeof(*vm));
	vm->insns = insns;
	vm->insn_count = count;
	vm->maps = maps;
	vm->ctx.ingress_ifindex = LOOPBACK;
	vm->ctx_at = add_region(vm, &vm->ctx, sizeof(vm->ctx));
	vm->ctx.data = add_region(vm, vm->frame, 0);
	vm->stack_at = add_region(vm, vm->stack[0], VM_STACK);
	for (int i = 1; i < VM_FRAMES; i++)
		add_region(vm, vm->stack[i], VM_STACK);
	for (unsigned int i = 0; i < maps->count; i++)
		maps->map[i].at = add_region(vm, maps->map[i].values, map_bytes(&maps->map[i]));
}

/* Constants that stand for maps and functions are as libbpf hands them to the kernel. */
static bool load_constant(struct vm *vm, const struct bpf_insn *insn, size_t *pc)
{
	uint64_t value = (uint32_t)insn[0].imm | (uint64_t)(uint32_t)insn[1].imm << 32;
	const struct map *map;

	switch (insn->src_reg) {
	case 0:
		break;
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_MAP_VALUE:
		map = maps_by_fd(vm->maps, insn->imm);
		if (!map)
			return vm_fail(vm, "no map has the file descriptor %d", insn->imm);
		value = insn->src_reg == BPF_PSEUDO_MAP_FD ? VM_MAP_AT + (map - vm->maps->map)
							   : map->at + (uint32_t)insn[1].imm;
		break;
	case BPF_PSEUDO_FUNC:
		value = VM_CODE_AT + *pc + insn->imm;
		break;
	default:
		return vm_fail(vm, "constant of unknown kind %u", insn->src_reg);
	}
	vm->reg[insn->dst_reg] = value;
	++*pc;
	return true;
}

static bool step(struct vm *vm, size_t *pc)
{
	const struct bpf_insn *insn = &vm->insns[*pc];

	if (*pc >= vm->insn_count)
		return vm_fail(vm, "jump to %zu, behind the last instruction", *pc);
	if (vm->executed++ == MAX_EXECUTED)
		return vm_fail(vm, "no end after %d instructions", MAX_EXECUTED);
	++*pc;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return vm_alu(vm, insn);
	case BPF_JMP:
	case BPF_JMP32:
		return vm_jump(vm, insn, pc);
	case BPF_LD:
		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			return vm_fail(vm, "unknown load 0x%02x", insn->code);
		return load_constant(vm, insn, pc);
	default:
		return vm_access(vm, insn);
	}
}

bool vm_call(struct vm *vm, size_t pc)
{
	uint64_t saved[SAVED];

	if (vm->depth == VM_FRAMES)
		return vm_fail(vm, "more than %d functions deep", VM_FRAMES);
	memcpy(saved, vm->reg + FIRST_SAVED, sizeof(saved));
	vm->reg[BPF_REG_10] = vm->stack_at + ((uint64_t)vm->depth << REGION_SHIFT) + VM_STACK;
	vm->depth++;
	while (step(vm, &pc))
		;
	vm->depth--;
	memcpy(vm->reg + FIRST_SAVED, saved, sizeof(saved));
	return !*vm->error;
}

int vm_run(struct vm *vm, const uint8_t *frame, size_t len, size_t *out_len)
{
	if (*vm->error)
		return -1;
	vm_set_frame_len(vm, len);
	memcpy(vm->frame, frame, len);
	vm->reg[BPF_REG_1] = vm->ctx_at;
	if (!vm_call(vm, 0))
		return -1;
	*out_len = vm->ctx.data_end - vm->ctx.data;
	return vm->reg[BPF_REG_0];
}
