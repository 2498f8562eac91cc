/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meter.c - a program of the responder's host works on the same words as remote hosts: they add to a counter,
 * it takes out what has come in. Not one addition is lost or counted twice, as remote atomics and the C11
 * atomics of this host are atomic to each other.
 *
 *	meter REGION [MILLISECONDS]
 *
 * Word 0 is what the remote hosts add to, by FETCH_ADD. Every so often (1000) the meter swaps it for 0 and
 * prints what was there. Word 1 is the most that it has found, for remote hosts to read. Ends upon SIGINT or
 * SIGTERM, and prints the total.
 *
 * It needs no privilege but to read and write the region's pin: `xatomic mr add REGION --owner USER`.
 *
 * Build: cc -o meter meter.c $(pkg-config --cflags --libs xatomic)
 */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xatomic/mr.h>

#include "number.h"

enum { COUNTER, PEAK };

/* By compare-and-swap, so that it is right also when another program of this host does the same. */
static void raise_to(xatomic_word *word, uint64_t value)
{
	uint64_t seen = atomic_load(word);

	while (seen < value && !atomic_compare_exchange_weak(word, &seen, value))
		;
}

static uint64_t take(xatomic_word *words)
{
	uint64_t count = atomic_exchange(&words[COUNTER], 0);

	raise_to(&words[PEAK], count);
	if (count)
		printf("%" PRIu64 "\n", count);
	return count;
}

/* Takes at the interval until one of the signals comes, and then once more. */
static uint64_t run(xatomic_word *words, uint64_t ms, const sigset_t *signals)
{
	struct timespec interval = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	uint64_t total = 0;

	while (sigtimedwait(signals, NULL, &interval) < 0)
		total += take(words);
	return total + take(words);
}

int main(int argc, char **argv)
{
	struct xatomic_mr *mr;
	sigset_t signals;
	uint64_t ms;

	if (argc < 2 || argc > 3)
		errx(2, "usage: meter REGION [MILLISECONDS]");
	ms = argc == 3 ? number("MILLISECONDS", argv[2], 1, 3600000) : 1000;
	mr = xatomic_mr_open(NULL, argv[1]);
	if (!mr)
		errx(EXIT_FAILURE, "%s", xatomic_error());
	if (xatomic_mr_count(mr) <= PEAK)
		errx(EXIT_FAILURE, "'%s' has one word, and two are needed", argv[1]);
	/* Blocked, so that they are waited for and come at no other moment. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("metering\n");
	printf("total %" PRIu64 "\n", run(xatomic_mr_words(mr), ms, &signals));
	xatomic_mr_close(mr);
	return EXIT_SUCCESS;
}
