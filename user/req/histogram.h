/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.h - times of many operations in fixed memory: each counts in a bucket that is at most 1/128 of
 * the time wide. Extremes, average and deviation are exact.
 */
#ifndef XATOMIC_REQ_HISTOGRAM_H
#define XATOMIC_REQ_HISTOGRAM_H

#include <stdint.h>

enum {
	HISTOGRAM_SUB_BITS = 7, /* buckets per power of two: 2^7 */
	HISTOGRAM_SUBS = 1 << HISTOGRAM_SUB_BITS,
	HISTOGRAM_BUCKETS = (64 - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUBS,
};

/* All zeros: empty. Values have any unit. */
struct histogram {
	uint64_t count, min, max;
	uint64_t first;      /* value, from which the sums below are counted: so they stay small */
	double sum, squares; /* of value - first */
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* The value that `share` (0 to 1) of all values do not exceed, within the width of a bucket. 0 when empty. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

double histogram_average(const struct histogram *histogram);

/* Standard deviation of the values as a whole population. */
double histogram_deviation(const struct histogram *histogram);

#endif
