/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_verify.c - are the answers right?
 *
 * A queue pair that has its word to itself knows what the word holds, so each original value must be just
 * that: the partial sums of a FETCH_ADD. Where several share one word, the sum in the end tells.
 */
#include <inttypes.h>
#include <stdio.h>

#include "perf.h"

static bool is_shared(const struct perf *perf)
{
	return perf->count > 1 && !perf->settings->stride;
}

static int read_word(struct perf *perf, struct lane *lane, uint64_t *word)
{
	const struct xatomic_wr wr = {
		.opcode = XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = XATOMIC_SEND_SIGNALED,
		.remote_addr = lane->addr,
		.rkey = perf->settings->rkey,
		.reply = word,
	};

	return perf_once(perf, lane, &wr);
}

int perf_verify_begin(struct perf *perf)
{
	int status = XA_EXIT_DONE;

	for (uint32_t i = 0; perf->settings->verify && i < perf->count && !status; i++)
		status = read_word(perf, &perf->lanes[i], &perf->lanes[i].word);
	return status;
}

static uint64_t next_word(const struct req_settings *settings, uint64_t word)
{
	if (settings->op == REQ_OP_FADD)
		return word + settings->add;
	return word == settings->compare ? settings->swap : word;
}

/* May a word that others change too, by compare and swap, hold this value? */
static bool is_possible(const struct perf *perf, uint64_t first, uint64_t value)
{
	return value == first ||
	       (first == perf->settings->compare && value == perf->settings->swap);
}

static void note(struct perf *perf, const struct lane *lane, const char *when, uint64_t value,
		 uint64_t wanted)
{
	if (perf->mismatch[0])
		return;
	snprintf(perf->mismatch, sizeof(perf->mismatch),
		 "the word at 0x%" PRIx64 " held %" PRIu64 " %s and not %" PRIu64 ", after %" PRIu64
		 " operations of QP %" PRIu32
		 "; the responder is wrong, or something else changes the word",
		 lane->addr, value, when, wanted, lane->done, lane->target.rqpn);
}

void perf_verify_one(struct perf *perf, struct lane *lane, uint64_t original)
{
	if (is_shared(perf)) {
		if (perf->settings->op == REQ_OP_CSWAP && !is_possible(perf, lane->word, original))
			note(perf, lane, "before an operation", original, lane->word);
		return;
	}
	if (original != lane->word)
		note(perf, lane, "before an operation", original, lane->word);
	lane->word = next_word(perf->settings, lane->word);
}

static void check_end(struct perf *perf, const struct lane *lane, uint64_t word)
{
	const struct req_settings *settings = perf->settings;
	uint64_t wanted = lane->word;

	if (is_shared(perf) && settings->op == REQ_OP_CSWAP) {
		if (is_possible(perf, lane->word, word))
			return;
	} else if (is_shared(perf)) {
		wanted += perf->ops * settings->add;
	}
	if (word != wanted)
		note(perf, lane, "in the end", word, wanted);
}

int perf_verify_end(struct perf *perf)
{
	uint64_t word;

	for (uint32_t i = 0; perf->settings->verify && !perf->mismatch[0] && i < perf->count; i++) {
		if (read_word(perf, &perf->lanes[i], &word))
			return XA_EXIT_FAILED;
		check_end(perf, &perf->lanes[i], word);
	}
	return perf->mismatch[0] ? xa_fail("%s", perf->mismatch) : XA_EXIT_DONE;
}
