/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * samples.h - latencies of a client's operations, and the line of JSON that it ends with.
 */
#ifndef XATOMIC_BENCH_SAMPLES_H
#define XATOMIC_BENCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint32_t *ns;
	size_t n;
	size_t room;
	uint64_t begin_ns;
};

uint64_t now_ns(void);

/* Room for this many; what is more is not kept. Exits when there is no memory. */
void samples_begin(struct samples *samples, size_t room);
void samples_add(struct samples *samples, uint64_t ns);

/* {"operations", "seconds", "ops_per_second", "p50_us", "p99_us", "p999_us"}, then frees. */
void samples_print(struct samples *samples, uint64_t operations);

#endif
