/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void samples_begin(struct samples *s, size_t room)
{
	s->ns = malloc(room * sizeof(*s->ns));
	if (!s->ns) {
		perror("bench: samples");
		exit(1);
	}
	s->room = room;
	s->n = 0;
	s->begin_ns = now_ns();
}

void samples_add(struct samples *s, uint64_t ns)
{
	if (s->n < s->room)
		s->ns[s->n++] = ns < UINT32_MAX ? ns : UINT32_MAX;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double percentile_us(const struct samples *s, double part)
{
	return s->n ? s->ns[(size_t)(s->n * part)] / 1000.0 : 0;
}

void samples_print(struct samples *s, uint64_t operations)
{
	double seconds = (now_ns() - s->begin_ns) / 1e9;

	qsort(s->ns, s->n, sizeof(*s->ns), compare);
	printf("{\"operations\": %llu, \"seconds\": %.4f, \"ops_per_second\": %.1f, "
	       "\"p50_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f}\n",
	       (unsigned long long)operations, seconds, operations / seconds, percentile_us(s, 0.5),
	       percentile_us(s, 0.99), percentile_us(s, 0.999));
	free(s->ns);
}
