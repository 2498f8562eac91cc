/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * access.c - loads, stores and atomics.
 */
#include "vm.h"

#include <string.h>

static size_t size_of(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

static bool load(struct vm *vm, const struct bpf_insn *insn)
{
	size_t size = size_of(insn);
	const void *at = vm_at(vm, vm->reg[insn->src_reg] + insn->off, size);

	if (!at)
		return false;
	vm->reg[insn->dst_reg] = 0;
	memcpy(&vm->reg[insn->dst_reg], at, size);
	return true;
}

static bool store(struct vm *vm, const struct bpf_insn *insn, uint64_t value)
{
	size_t size = size_of(insn);
	void *at = vm_at(vm, vm->reg[insn->dst_reg] + insn->off, size);

	if (!at)
		return false;
	memcpy(at, &value, size);
	return true;
}

/* What the word becomes; there is one CPU here, so nothing more than that makes an atomic. */
static bool change(struct vm *vm, int32_t op, uint64_t old, uint64_t operand, uint64_t *next)
{
	switch (op) {
	case BPF_ADD:
	case BPF_ADD | BPF_FETCH:
		*next = old + operand;
		return true;
	case BPF_AND:
	case BPF_AND | BPF_FETCH:
		*next = old & operand;
		return true;
	case BPF_OR:
	case BPF_OR | BPF_FETCH:
		*next = old | operand;
		return true;
	case BPF_XOR:
	case BPF_XOR | BPF_FETCH:
		*next = old ^ operand;
		return true;
	case BPF_XCHG:
	case BPF_CMPXCHG:
		*next = operand;
		return true;
	default:
		return vm_fail(vm, "unknown atomic 0x%x", op);
	}
}

static bool atomic(struct vm *vm, const struct bpf_insn *insn)
{
	size_t size = size_of(insn);
	uint64_t old = 0, compare = 0, next;
	void *at = vm_at(vm, vm->reg[insn->dst_reg] + insn->off, size);

	if (!at)
		return false;
	memcpy(&old, at, size);
	memcpy(&compare, &vm->reg[BPF_REG_0], size);
	if (!change(vm, insn->imm, old, vm->reg[insn->src_reg], &next))
		return false;
	if (insn->imm != BPF_CMPXCHG || old == compare)
		memcpy(at, &next, size);
	if (insn->imm == BPF_CMPXCHG)
		vm->reg[BPF_REG_0] = old;
	else if (insn->imm & BPF_FETCH)
		vm->reg[insn->src_reg] = old;
	return true;
}

bool vm_access(struct vm *vm, const struct bpf_insn *insn)
{
	uint8_t kind = BPF_CLASS(insn->code) | BPF_MODE(insn->code);

	switch (kind) {
	case BPF_LDX | BPF_MEM:
		return load(vm, insn);
	case BPF_ST | BPF_MEM:
		return store(vm, insn, insn->imm);
	case BPF_STX | BPF_MEM:
		return store(vm, insn, vm->reg[insn->src_reg]);
	case BPF_STX | BPF_ATOMIC:
		return atomic(vm, insn);
	default:
		return vm_fail(vm, "unknown load or store 0x%02x", insn->code);
	}
}
