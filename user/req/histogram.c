/* SPDX-License-Identifier: BSD-2-Clause */
#include "histogram.h"

#include <math.h>

/* Values below HISTOGRAM_SUBS have a bucket each; above, the highest bits count. */
static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < HISTOGRAM_SUBS)
		return value;
	shift = 63 - HISTOGRAM_SUB_BITS - __builtin_clzll(value);
	return (shift + 1) * HISTOGRAM_SUBS + (value >> shift) % HISTOGRAM_SUBS;
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < HISTOGRAM_SUBS)
		return bucket;
	shift = bucket / HISTOGRAM_SUBS - 1;
	return ((HISTOGRAM_SUBS + (uint64_t)bucket % HISTOGRAM_SUBS) << shift) +
	       ((1ull << shift) >> 1);
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	double distance;

	if (!histogram->count)
		histogram->first = histogram->min = value;
	if (value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	distance = (double)value - (double)histogram->first;
	histogram->sum += distance;
	histogram->squares += distance * distance;
	histogram->count++;
	histogram->buckets[bucket_of(value)]++;
}

static uint64_t clamp(const struct histogram *histogram, uint64_t value)
{
	if (value < histogram->min)
		return histogram->min;
	return value > histogram->max ? histogram->max : value;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	uint64_t rank = ceil(share * (double)histogram->count), seen = 0;

	if (rank <= 1)
		return histogram->min;
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= rank)
			return clamp(histogram, value_of(i));
	}
	return histogram->max;
}

double histogram_average(const struct histogram *histogram)
{
	if (!histogram->count)
		return 0;
	return (double)histogram->first + histogram->sum / (double)histogram->count;
}

double histogram_deviation(const struct histogram *histogram)
{
	double n = (double)histogram->count, mean = histogram->sum / n;
	double variance = histogram->squares / n - mean * mean;

	/* Rounding may leave less than nothing. */
	return histogram->count && variance > 0 ? sqrt(variance) : 0;
}
