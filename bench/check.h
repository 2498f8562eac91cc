/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - whether a stream was answered rightly. Functions return 0 or -1 after a message on stderr.
 */
#ifndef XATOMIC_BENCH_CHECK_H
#define XATOMIC_BENCH_CHECK_H

#include <stdint.h>

#include "bench/stream.h"

/* What a run may leave behind, of which the difference to the time before it is checked. */
struct account {
	struct sink_counts sink;
	uint64_t executed; /* counters of the responder */
	uint64_t replayed;
	uint64_t naks;
	uint64_t sum;      /* of the words, when there is one MR: many take too long to read */
	uint64_t messages; /* sum of the QPs' MSNs, each modulo 2^24 */
};

int account_take(const struct traffic *traffic, struct account *account);

/* Everything must have grown by as much as was sent. */
int account_check(const struct traffic *traffic, const struct stream_run *run,
		  const struct account *before, const struct account *after);

/* At the end of a stream of FETCH_ADDs, with the number executed since its words were made. */
int check_total(const struct traffic *traffic, uint64_t executed);

/* Sends 256 frames or more to the responder and checks each byte that matters of each answer. */
int validate_answers(struct traffic *traffic, enum route route);

#endif
