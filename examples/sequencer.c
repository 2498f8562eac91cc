/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sequencer.c - numbers for everybody: no two clients get the same one, and none is left out.
 *
 *	sequencer HOST REGION COUNT [BLOCK]
 *
 * Word 0 of the region is the next number to be given out. A FETCH_ADD of n takes n numbers in one round trip:
 * the word's value before is the first of them, and whoever comes next gets what lies behind. There is nothing
 * to lock, and nobody waits for a client that has died: the numbers that it took are lost with it, no others.
 *
 * Prints COUNT numbers, one a line, taken BLOCK (by default 1) at a time.
 *
 * Build: cc -o sequencer sequencer.c remote.c -lrdmacm -libverbs
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "number.h"
#include "remote.h"

enum { NEXT = 0 };

static int take(struct remote *remote, uint64_t count, uint64_t block)
{
	uint64_t first;

	while (count) {
		if (block > count)
			block = count;
		if (remote_fetch_add(remote, NEXT, block, &first))
			return -1;
		for (uint64_t i = 0; i < block; i++)
			printf("%" PRIu64 "\n", first + i);
		count -= block;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t count, block;
	struct remote *remote;
	int status;

	if (argc < 4 || argc > 5)
		errx(2, "usage: sequencer HOST REGION COUNT [BLOCK]");
	count = number("COUNT", argv[3], 1, UINT64_MAX);
	block = argc == 5 ? number("BLOCK", argv[4], 1, UINT64_MAX) : 1;
	remote = remote_open(argv[1], argv[2]);
	if (!remote)
		return EXIT_FAILURE;
	status = take(remote, count, block);
	remote_close(remote);
	if (fflush(stdout))
		err(EXIT_FAILURE, "standard output");
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
