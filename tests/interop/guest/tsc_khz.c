/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tsc_khz - prints how many thousand times a second the time stamp counter of this CPU ticks, which is also the one that
 * the emulator shows its guest. Prints nothing where there is none.
 *
 * However busy the machine, counter and clock are read at the same time: of several pairs the one that was read
 * fastest counts.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>

enum { PAIRS = 100 };

struct moment {
	uint64_t ticks;
	double ms;
};

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static struct moment look(void)
{
	uint64_t shortest = UINT64_MAX;
	struct moment best = {0};

	for (int i = 0; i < PAIRS; i++) {
		uint64_t before = __rdtsc();
		double ms = milliseconds();
		uint64_t after = __rdtsc();

		if (after - before < shortest) {
			shortest = after - before;
			best = (struct moment){before + shortest / 2, ms};
		}
	}
	return best;
}

int main(void)
{
	struct timespec pause = {.tv_nsec = 200000000};
	struct moment first = look(), last;

	nanosleep(&pause, NULL);
	last = look();
	printf("%.0f\n", (last.ticks - first.ticks) / (last.ms - first.ms));
	return 0;
}
#else
int main(void)
{
	return 0;
}
#endif
