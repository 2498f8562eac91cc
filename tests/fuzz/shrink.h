/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XATOMIC_TESTS_SHRINK_H
#define XATOMIC_TESTS_SHRINK_H

#include "harness.h"

/*
 * A minimal set of the steps 0 .. count - 1 of an episode with which both sides still differ: none of them
 * can be left out. The caller frees it; *kept is its size, 0 when the difference does not come again.
 */
uint32_t *shrink_episode(struct harness *h, uint64_t seed, size_t count, size_t *kept);

#endif
