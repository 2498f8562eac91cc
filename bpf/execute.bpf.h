/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * execute.bpf.h - stage 8: the atomic itself. A CPU atomic on the mmapped word, so that it is coherent
 * with what the host's own programs do to that word (ATOMIC_GLOB). Words are in host byte order.
 */
#ifndef XATOMIC_BPF_EXECUTE_H
#define XATOMIC_BPF_EXECUTE_H

#include "packet.bpf.h"

/* Returns what the word held before. */
static __always_inline __u64 execute(const struct packet *p, __u64 *word)
{
	__u64 swap_add = load_be64(&atmeth(p)->swap_add);

	if (p->opcode == XA_OP_FETCH_ADD)
		return __sync_fetch_and_add(word, swap_add);
	return __sync_val_compare_and_swap(word, load_be64(&atmeth(p)->compare), swap_add);
}

#endif
