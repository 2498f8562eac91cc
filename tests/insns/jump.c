/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jump.c - jumps, calls and exit.
 */
#include "vm.h"

/* In 32 bits, `a` and `b` are sign-extended: the order of unsigned numbers is the same then. */
static bool holds(uint8_t op, uint64_t a, uint64_t b)
{
	int64_t signed_a = a, signed_b = b;

	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JSET:
		return a & b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return signed_a > signed_b;
	case BPF_JSGE:
		return signed_a >= signed_b;
	case BPF_JSLT:
		return signed_a < signed_b;
	default:
		return signed_a <= signed_b;
	}
}

static bool jump_if(struct vm *vm, const struct bpf_insn *insn, size_t *pc)
{
	uint64_t a = vm->reg[insn->dst_reg];
	uint64_t b = BPF_SRC(insn->code) == BPF_X ? vm->reg[insn->src_reg] : (uint64_t)insn->imm;

	if (BPF_OP(insn->code) > BPF_JSLE)
		return vm_fail(vm, "unknown jump 0x%02x", insn->code);
	if (BPF_CLASS(insn->code) == BPF_JMP32) {
		a = (int32_t)a;
		b = (int32_t)b;
	}
	if (holds(BPF_OP(insn->code), a, b))
		*pc += insn->off;
	return true;
}

static bool call(struct vm *vm, const struct bpf_insn *insn, size_t pc)
{
	switch (insn->src_reg) {
	case 0:
		return vm_call_helper(vm, insn->imm);
	case BPF_PSEUDO_CALL:
		return vm_call(vm, pc + insn->imm);
	default:
		return vm_fail(vm, "call of unknown kind %u", insn->src_reg);
	}
}

/* `*pc` is the next instruction, which all distances are counted from. */
bool vm_jump(struct vm *vm, const struct bpf_insn *insn, size_t *pc)
{
	switch (insn->code) {
	case BPF_JMP | BPF_JA:
		*pc += insn->off;
		return true;
	case BPF_JMP | BPF_CALL:
		return call(vm, insn, *pc);
	case BPF_JMP | BPF_EXIT:
		return false;
	case BPF_JMP32 | BPF_JA:
	case BPF_JMP32 | BPF_CALL:
	case BPF_JMP32 | BPF_EXIT:
		return vm_fail(vm, "unknown jump 0x%02x", insn->code);
	default:
		return jump_if(vm, insn, pc);
	}
}
