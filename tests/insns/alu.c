/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alu.c - arithmetic. In 32 bits the upper half of the result is 0.
 */
#include "vm.h"

#include <endian.h>

static uint64_t shift_right_signed(uint64_t a, uint64_t b, bool wide)
{
	if (wide)
		return (int64_t)a >> b;
	return (int32_t)a >> b;
}

/* Division by 0 gives 0, and its remainder is the dividend. */
static bool operate(struct vm *vm, uint8_t op, bool wide, uint64_t *to, uint64_t b)
{
	uint64_t a = *to, shift = b & (wide ? 63 : 31);

	switch (op) {
	case BPF_ADD:
		*to = a + b;
		return true;
	case BPF_SUB:
		*to = a - b;
		return true;
	case BPF_MUL:
		*to = a * b;
		return true;
	case BPF_DIV:
		*to = b ? a / b : 0;
		return true;
	case BPF_MOD:
		*to = b ? a % b : a;
		return true;
	case BPF_OR:
		*to = a | b;
		return true;
	case BPF_AND:
		*to = a & b;
		return true;
	case BPF_XOR:
		*to = a ^ b;
		return true;
	case BPF_MOV:
		*to = b;
		return true;
	case BPF_NEG:
		*to = -a;
		return true;
	case BPF_LSH:
		*to = a << shift;
		return true;
	case BPF_RSH:
		*to = a >> shift;
		return true;
	case BPF_ARSH:
		*to = shift_right_signed(a, shift, wide);
		return true;
	default:
		return vm_fail(vm, "unknown arithmetic operation 0x%02x", op);
	}
}

static bool convert(struct vm *vm, const struct bpf_insn *insn, uint64_t *value)
{
	bool big = BPF_SRC(insn->code) == BPF_TO_BE;

	switch (insn->imm) {
	case 16:
		*value = big ? htobe16(*value) : htole16(*value);
		return true;
	case 32:
		*value = big ? htobe32(*value) : htole32(*value);
		return true;
	case 64:
		*value = big ? htobe64(*value) : htole64(*value);
		return true;
	default:
		return vm_fail(vm, "byte order of %d bits", insn->imm);
	}
}

bool vm_alu(struct vm *vm, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	uint64_t *to = &vm->reg[insn->dst_reg];
	uint64_t b = BPF_SRC(insn->code) == BPF_X ? vm->reg[insn->src_reg] : (uint64_t)insn->imm;

	/* Sign extension, signed division and BSWAP are of -mcpu=v4. */
	if (insn->off || (wide && BPF_OP(insn->code) == BPF_END))
		return vm_fail(vm, "arithmetic 0x%02x of a newer instruction set", insn->code);
	if (BPF_OP(insn->code) == BPF_END)
		return convert(vm, insn, to);
	if (wide)
		return operate(vm, BPF_OP(insn->code), true, to, b);
	*to = (uint32_t)*to;
	if (!operate(vm, BPF_OP(insn->code), false, to, (uint32_t)b))
		return false;
	*to = (uint32_t)*to;
	return true;
}
