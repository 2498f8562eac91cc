/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.h - what one packet costs, and whether the interpreter is to be believed.
 */
#ifndef XATOMIC_TEST_INSNS_MEASURE_H
#define XATOMIC_TEST_INSNS_MEASURE_H

#include "classes.h"

struct cost {
	uint64_t insns; /* instructions executed, as compiled; what helpers do is not among them */
	uint64_t calls; /* of helpers */
};

/*
 * Runs the packet of a class in the interpreter and in the kernel, from the same state. True when both
 * agree on the verdict, the frame, every map and ring, and the packet has met what its class says;
 * else notes tell what is wrong.
 */
bool measure(struct rig *rig, const struct class *class, struct cost *cost);

#endif
