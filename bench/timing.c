/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/timing.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

struct span span_begin(void)
{
	return (struct span){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_THREAD_CPUTIME_ID)};
}

void span_end(struct span *span)
{
	span->cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - span->cpu_ns;
	span->wall_ns = read_clock(CLOCK_MONOTONIC) - span->wall_ns;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

const char *cpu_model(void)
{
	static char model[128] = "unknown CPU";
	char line[256];
	FILE *file = fopen("/proc/cpuinfo", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "model name : %127[^\n]", model) == 1)
			break;
	if (file)
		fclose(file);
	return model;
}

const char *kernel_release(void)
{
	static struct utsname name;

	return uname(&name) ? "unknown kernel" : name.release;
}
