/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timing.h - clocks, medians, and the program run time that the kernel keeps.
 */
#ifndef XATOMIC_BENCH_TIMING_H
#define XATOMIC_BENCH_TIMING_H

#include <stddef.h>
#include <stdint.h>

/* Nanoseconds that went by, and those that this thread was on a CPU, softirqs it ran included. */
struct span {
	uint64_t wall_ns;
	uint64_t cpu_ns;
};

struct span span_begin(void);
void span_end(struct span *span);

/* Sorts `values`; median of an even number is the mean of the middle two. */
double median(double *values, size_t n);

/* Keeps this thread on one CPU. Returns 0 or -1 with errno. */
int pin_to_cpu(int cpu);

/* Machine and kernel, for headings of results. Both static. */
const char *cpu_model(void);
const char *kernel_release(void);

#endif
