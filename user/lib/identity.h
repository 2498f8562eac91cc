/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identity.h - QPNs and rkeys: an index, and above or below it a part that changes at every use, so that a
 * stale or guessed number finds nothing.
 */
#ifndef XATOMIC_LIB_IDENTITY_H
#define XATOMIC_LIB_IDENTITY_H

#include <stdint.h>

#include "xatomic/abi.h"

/*
 * QPN = generation << log2(max_qps) | index. Sets qpn and qpn_step for the next use of `index`, from what
 * they were (0: never used; the first generation is random). Generations grow by an odd step, so none
 * comes back before all others have had their turn, at least 255. Never 0, 1 or 0xffffff (IBA: SMI, GSI,
 * multicast). `max_qps` is a power of two.
 */
void xa_next_qpn(struct xa_qp *qp, uint32_t index, uint32_t max_qps);

/* rkey = index << 8 | key. Sets rkey and key_step likewise; never 0. */
void xa_next_rkey(struct xa_mr *mr, uint32_t index);

/* The next power of two, `n` itself when it is one. 0 gives 1. */
uint32_t xa_round_up_pow2(uint32_t n);

#endif
