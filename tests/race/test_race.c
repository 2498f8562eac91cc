/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_race - two CPUs and a control plane at the same QPs and MRs. Prints TAP; decides on counts alone.
 *
 * Environment: ROUNDS (default 200000), BUILD (default build) for the variants of the program.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "race.h"

enum {
	DEFAULT_ROUNDS = 200000,
	ROUNDS_A_LIFE = 10000,
	LIVES_MIN = 20,
	PROOF_ROUNDS = 200000,
	PROOF_LIVES = 5000, /* at most: on a busy machine a request is seldom between two steps */
};

static const char *variant(const char *name)
{
	static char path[4096];
	const char *build = getenv("BUILD");

	snprintf(path, sizeof(path), "%s/race/%s.bpf.o", build ? build : "build", name);
	return path;
}

/* Lives of an MR or a QP cost grace periods each, requests next to nothing. */
static unsigned int lives_of(uint64_t rounds)
{
	return rounds / ROUNDS_A_LIFE + LIVES_MIN;
}

static void run_packets(uint64_t rounds)
{
	tap_result(race_twins(NULL, rounds),
		   "%" PRIu64
		   " requests from both CPUs at once, and their duplicates: each executed "
		   "once and answered the same",
		   rounds);
	tap_result(race_host(NULL, rounds / 2),
		   "%" PRIu64 " requests and the host's own atomics on one word: none is lost",
		   rounds / 2);
	tap_result(race_windows(NULL, rounds),
		   "%" PRIu64 " requests with far fewer windows than QPs: no wrong answer", rounds);
}

static void run_control(const char *object, const char *what, unsigned int lives)
{
	tap_result(race_mr(object, xa_mr_del, lives),
		   "mr del under traffic%s: no word changes after it, no request finds another MR",
		   what);
	tap_result(race_mr(object, slow_mr_del, lives / 2),
		   "mr del, taking its time, under traffic%s", what);
	tap_result(race_qp_del(object, xa_qp_del, lives),
		   "qp del and qp add under traffic%s: no request comes to the wrong life", what);
	tap_result(race_qp_reset(object, xa_qp_reset, lives),
		   "qp reset under traffic%s: no request comes to the wrong life", what);
}

/* A race that a wrong program or a wrong control plane survives would prove nothing. */
static void prove(void)
{
	const char *slow = variant("slow");

	tap_result(!race_mr(slow, hasty_mr_del, PROOF_LIVES),
		   "an mr del that waits for no packet is caught");
	tap_result(!race_qp_del(slow, hasty_qp_del, PROOF_LIVES),
		   "a qp del that waits for no packet is caught");
	tap_result(!race_qp_reset(slow, hasty_qp_reset, PROOF_LIVES),
		   "a qp reset that waits for no packet is caught");
	tap_result(!race_twins(variant("nolock"), PROOF_ROUNDS),
		   "a QP lock that is none is caught");
}

int main(void)
{
	const char *rounds = getenv("ROUNDS"), *why;
	uint64_t count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!race_init(&why)) {
		tap_skip("races", why);
		return tap_done();
	}
	count = rounds && *rounds ? strtoull(rounds, NULL, 0) : DEFAULT_ROUNDS;
	run_packets(count);
	run_control(NULL, "", lives_of(count));
	run_control(variant("slow"), ", slowly", lives_of(count) / 2);
	if (!getenv("XATOMIC_TEST_OBJECT"))
		prove();
	return tap_done();
}
