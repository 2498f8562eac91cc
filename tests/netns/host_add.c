// SPDX-License-Identifier: BSD-2-Clause
/*
 * host_add.c - a program of the responder's host that works on the words of an MR, as a user would write it:
 * only the public library, linked as a shared object, only C11 atomics.
 *
 * Usage: host_add MR. Adds 1 to word 0 by fetch-and-add and to word 1 by compare-and-swap until SIGTERM,
 * then prints how often.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "xatomic/mr.h"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void add_by_cas(xatomic_word *word)
{
	uint64_t old = atomic_load(word);

	while (!atomic_compare_exchange_weak(word, &old, old + 1))
		;
}

int main(int argc, char **argv)
{
	struct xatomic_mr *mr = argc == 2 ? xatomic_mr_open(NULL, argv[1]) : NULL;
	xatomic_word *words;
	uint64_t added = 0;

	if (!mr) {
		fprintf(stderr, "host_add: %s\n",
			argc == 2 ? xatomic_error() : "usage: host_add MR");
		return 1;
	}
	signal(SIGTERM, on_signal);
	words = xatomic_mr_words(mr);
	printf("adding to 2 of %zu words\n", xatomic_mr_count(mr));
	fflush(stdout);
	for (; !stop; added++) {
		atomic_fetch_add(&words[0], 1);
		add_by_cas(&words[1]);
		sched_yield();
	}
	printf("added %" PRIu64 " to each\n", added);
	xatomic_mr_close(mr);
	return 0;
}
