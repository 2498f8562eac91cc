/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm.h - runs BPF instructions one by one and counts them, which the kernel does not do.
 *
 * The instruction set is what clang makes with -mcpu=v3 (RFC 9669), the helpers are those that the
 * responder calls. An instruction or helper that is not known, and any access outside of what the program
 * was given, ends the run with an error. Little-endian machines only, as the responder.
 *
 * Addresses are not the machine's: struct xdp_md has 32 bits for one. Each piece of memory gets a range of
 * its own; maps and functions are addresses that nothing can be read from.
 */
#ifndef XATOMIC_TEST_INSNS_VM_H
#define XATOMIC_TEST_INSNS_VM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps.h"
#include "../lib/packet.h"

enum { VM_REGISTERS = 11, VM_REGIONS = 64, VM_FRAMES = 8, VM_STACK = 512 };

#define VM_MAP_AT  (1ull << 32) /* plus its index in struct maps */
#define VM_CODE_AT (2ull << 32) /* plus the index of the function's first instruction */

struct vm_region {
	uint8_t *bytes;
	size_t size;
};

struct vm {
	const struct bpf_insn *insns;
	size_t insn_count;
	struct maps *maps;
	uint64_t reg[VM_REGISTERS];
	struct vm_region region[VM_REGIONS];
	unsigned int regions;
	uint8_t stack[VM_FRAMES][VM_STACK];
	uint64_t stack_at;  /* of the first frame; the others follow, a region each */
	unsigned int depth; /* frames in use */
	struct xdp_md ctx;
	uint64_t ctx_at;
	uint8_t frame[PACKET_MAX];
	uint64_t executed; /* instructions; the two halves of a 64-bit constant are one */
	uint64_t calls;    /* of helpers */
	char error[128];   /* why the run ended early, or empty */
};

/* The program begins at the first instruction. `maps` are changed as the program does. */
void vm_init(struct vm *vm, const struct bpf_insn *insns, size_t count, struct maps *maps);

/*
 * Runs the program on a frame. Returns the verdict (XDP_TX, ...) with *out_len bytes in vm->frame, or -1
 * with vm->error.
 */
int vm_run(struct vm *vm, const uint8_t *frame, size_t len, size_t *out_len);

/* What follows is what the parts of the machine have of one another. False: the run is over. */

__attribute__((format(printf, 2, 3))) bool vm_fail(struct vm *vm, const char *format, ...);

/* Memory of the program's, NULL (and the end of the run) when not all of it is. */
void *vm_at(struct vm *vm, uint64_t address, size_t len);

/* Cuts or lengthens the frame. The caller has checked the length. */
void vm_set_frame_len(struct vm *vm, size_t len);

/* Runs the function at an instruction, arguments in registers 1 to 5, result in register 0. */
bool vm_call(struct vm *vm, size_t pc);
bool vm_call_helper(struct vm *vm, uint32_t helper);

bool vm_alu(struct vm *vm, const struct bpf_insn *insn);
bool vm_jump(struct vm *vm, const struct bpf_insn *insn, size_t *pc);
bool vm_access(struct vm *vm, const struct bpf_insn *insn);

#endif
