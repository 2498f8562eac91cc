/* SPDX-License-Identifier: BSD-2-Clause */
#include "shrink.h"

#include <stdlib.h>
#include <string.h>

/* Steps behind the one that shows the difference are of no use. Returns 0 when there is no difference. */
static size_t differing(struct harness *h, uint64_t seed, const uint32_t *keep, size_t count)
{
	size_t at = harness_episode(h, seed, keep, count, false);

	return at == HARNESS_NO_STEP ? 0 : at + 1;
}

/* Leaves out `chunk` steps at a time. */
static size_t leave_out(struct harness *h, uint64_t seed, uint32_t *keep, size_t count,
			size_t chunk, uint32_t *trial)
{
	size_t from = 0;

	while (from < count) {
		size_t size = chunk < count - from ? chunk : count - from, left;

		memcpy(trial, keep, from * sizeof(*keep));
		memcpy(trial + from, keep + from + size, (count - from - size) * sizeof(*keep));
		left = differing(h, seed, trial, count - size);
		if (left) {
			memcpy(keep, trial, left * sizeof(*keep));
			count = left;
		} else {
			from += size;
		}
	}
	return count;
}

uint32_t *shrink_episode(struct harness *h, uint64_t seed, size_t count, size_t *kept)
{
	uint32_t *keep = malloc(count * sizeof(*keep)), *trial = malloc(count * sizeof(*keep));
	size_t before;

	*kept = 0;
	if (!keep || !trial)
		goto out;
	for (size_t i = 0; i < count; i++)
		keep[i] = i;
	h->strict = true;
	count = differing(h, seed, keep, count);
	for (size_t chunk = count / 2; chunk > 1; chunk /= 2)
		count = leave_out(h, seed, keep, count, chunk, trial);
	do {
		before = count;
		count = leave_out(h, seed, keep, count, 1, trial);
	} while (count < before);
	h->strict = false;
	*kept = count;
out:
	free(trial);
	return keep;
}
