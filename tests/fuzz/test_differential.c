/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Differential test: seeded sequences of packets and control operations go to the reference model and to
 * the real program, which must agree. Prints TAP.
 *
 * Environment: SEED (default: random, printed), STEPS (default 300000) or SECONDS, EPISODE and KEEP to run
 * chosen steps of one episode again, as a report of a difference tells.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "shrink.h"
#include "tests/lib/tap.h"

enum {
	CONFIGS = 3,
	DEFAULT_STEPS = 300000,
	EPISODE_MIN = 500,
	EPISODE_SPREAD = 3000,
	FAULT_STEPS = 150000,     /* within which a fault must be found */
	FAULT_EPISODES = 1 << 20, /* numbers of episodes that the ordinary run does not reach */
	MANY = 20,
	FEW = 16,
	SECONDS_BETWEEN_REPORTS = 10,
};

/*
 * Small and crowded; larger, with indices far apart and the other answer to unknown QPNs; with fewer replay
 * windows than QPs.
 */
static const struct target_limits configs[CONFIGS] = {
	{
		.max_qps = 64,
		.max_mrs = 32,
		.mr_index = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 31},
		.mr_words = {1, 1, 2, 2, 3, 4, 5, 8, 8, 16, 31, 64, 100, 128, 511, 512},
		.unknown_qp = XA_UNKNOWN_QP_PASS,
	},
	{
		.max_qps = 4096,
		.max_mrs = 600,
		.mr_index = {0, 1, 2, 3, 64, 127, 128, 129, 254, 255, 256, 257, 400, 511, 512, 599},
		.mr_words = {512, 1, 2, 1, 3, 4, 5, 8, 8, 16, 31, 64, 100, 128, 256, 2},
		.unknown_qp = XA_UNKNOWN_QP_DROP,
	},
	{
		.max_qps = 1024,
		.max_mrs = 32,
		.replay_windows = 4,
		.mr_index = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 31},
		.mr_words = {1, 1, 2, 2, 3, 4, 5, 8, 8, 16, 31, 64, 100, 128, 511, 512},
	},
};

static const char *const class_names[] = {"cmp_swap", "fetch_add", "other"};
static const char *const reason_names[] = {
#define REASON_NAME(word, verdict, meaning) #word,
	XA_REASONS(REASON_NAME)};

static uint64_t number_from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static uint64_t random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = time(NULL);
	return seed & 0xffffffffffff;
}

/* Counters per CPU and the program's caches stay where they are. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static size_t episode_steps(uint64_t episode_seed)
{
	return EPISODE_MIN + episode_seed % EPISODE_SPREAD;
}

/* The third configuration is slow to watch, so it gets an episode in eight. */
static struct harness *harness_of(struct harness *harnesses, uint64_t episode)
{
	return &harnesses[episode % 8 == 7 ? 2 : episode % 2];
}

static void run_again(struct harness *h, uint64_t episode_seed, const uint32_t *keep, size_t count)
{
	size_t at;

	h->strict = true;
	at = harness_episode(h, episode_seed, keep, count, true);
	h->strict = false;
	if (at == HARNESS_NO_STEP) {
		printf("# no difference\n");
		return;
	}
	printf("# %s\n", h->difference);
	printf("# expected reason: %s.%s\n", class_names[h->result.class],
	       reason_names[h->result.reason]);
	if (!compare_stats(h))
		printf("# %s\n", h->difference);
}

static void explain(struct harness *h, uint64_t seed, uint64_t episode, size_t at)
{
	uint64_t episode_seed = rng_mix(seed, episode);
	uint32_t *keep;
	size_t kept;

	printf("# seed %" PRIu64 ", episode %" PRIu64 ", step %zu: %s\n", seed, episode, at,
	       h->difference);
	keep = shrink_episode(h, episode_seed, episode_steps(episode_seed), &kept);
	if (kept) {
		printf("# a minimal sequence, also by SEED=%" PRIu64 " EPISODE=%" PRIu64 " KEEP='",
		       seed, episode);
		for (size_t i = 0; i < kept; i++)
			printf("%s%u", i ? " " : "", keep[i]);
		printf("':\n");
		run_again(h, episode_seed, keep, kept);
	}
	free(keep);
}

struct budget {
	uint64_t steps;
	time_t until; /* 0: no limit by time */
};

static bool spent(const struct budget *budget, uint64_t done)
{
	return budget->until ? time(NULL) >= budget->until : done >= budget->steps;
}

static void say_progress(uint64_t done, time_t begin)
{
	static time_t last;
	time_t now = time(NULL);

	if (last && now < last + SECONDS_BETWEEN_REPORTS)
		return;
	last = now;
	if (now > begin)
		printf("# %" PRIu64 " steps, %" PRIu64 " a second\n", done,
		       done / (uint64_t)(now - begin));
	fflush(stdout);
}

/* Returns whether both sides agreed all the time. */
static bool run(struct harness *harnesses, uint64_t seed, const struct budget *budget)
{
	time_t begin = time(NULL);
	uint64_t done = 0, episode = 0;

	for (; !spent(budget, done); episode++) {
		struct harness *h = harness_of(harnesses, episode);
		uint64_t episode_seed = rng_mix(seed, episode);
		size_t at =
			harness_episode(h, episode_seed, NULL, episode_steps(episode_seed), false);

		if (at != HARNESS_NO_STEP) {
			explain(h, seed, episode, at);
			return false;
		}
		done += episode_steps(episode_seed);
		if (budget->until)
			say_progress(done, begin);
	}
	printf("# %" PRIu64 " steps in %" PRIu64 " episodes, %ld s\n", done, episode,
	       (long)(time(NULL) - begin));
	return true;
}

/* ---- does the generator get everywhere? ---- */

static uint64_t reached(const struct harness *harnesses, int kind, int reason)
{
	uint64_t sum = 0;

	for (int i = 0; i < CONFIGS; i++)
		sum += harnesses[i].counters[kind][reason];
	return sum;
}

/* Whether packets of an atomic's class can end so; what is refused before the QP is known is `other`. */
static bool fits_atomics(enum xa_reason reason)
{
	switch (reason) {
	case XA_REASON_opcode:
	case XA_REASON_not_roce:
	case XA_REASON_gsi:
	case XA_REASON_gsi_agent:
	case XA_REASON_gsi_full:
	case XA_REASON_unknown_qp:
	case XA_REASON_malformed:
	case XA_REASON_version:
	case XA_REASON_reserved_qpn:
	case XA_REASON_cnp:
	case XA_REASON_response:
	case XA_REASON_transport:
		return false;
	default:
		return true;
	}
}

static void check_coverage(const struct harness *harnesses)
{
	for (int reason = 0; reason < XA_REASON_COUNT; reason++) {
		uint64_t other = reached(harnesses, XA_CLASS_OTHER, reason), atomics[2];

		for (int kind = 0; kind < 2; kind++)
			atomics[kind] = reached(harnesses, kind, reason);
		tap_result(fits_atomics(reason) ? atomics[0] >= MANY && atomics[1] >= MANY
						: other >= MANY,
			   "%s reached: %s %" PRIu64 ", %s %" PRIu64 ", %s %" PRIu64,
			   reason_names[reason], class_names[0], atomics[0], class_names[1],
			   atomics[1], class_names[2], other);
	}
}

/* ---- would a fault be seen? ---- */

/* Steps until a model with this fault differed from the program, 0 when it did not. */
static uint64_t find_fault(struct harness *harnesses, uint64_t seed, enum model_fault fault)
{
	uint64_t done = 0, episode = FAULT_EPISODES;
	size_t at = HARNESS_NO_STEP;

	while (at == HARNESS_NO_STEP && done < FAULT_STEPS) {
		struct harness *h = harness_of(harnesses, episode);
		uint64_t episode_seed = rng_mix(seed, episode++);
		size_t steps = episode_steps(episode_seed);

		h->model.fault = fault;
		at = harness_episode(h, episode_seed, NULL, steps, false);
		h->model.fault = MODEL_FAULT_none;
		done += at == HARNESS_NO_STEP ? steps : at + 1;
	}
	return at == HARNESS_NO_STEP ? 0 : done;
}

static void check_faults(struct harness *harnesses, uint64_t seed)
{
	for (int fault = MODEL_FAULT_none + 1; fault < MODEL_FAULT_COUNT; fault++) {
		uint64_t steps = find_fault(harnesses, seed, fault);

		tap_result(steps, "a responder that %s (%s) is found after %" PRIu64 " steps",
			   model_fault_meaning(fault), model_fault_name(fault), steps);
	}
}

/* A report is only of use when it is short: here one atomic and its duplicate are enough. */
static void check_shrinking(struct harness *h, uint64_t seed)
{
	uint64_t episode_seed = rng_mix(seed, FAULT_EPISODES);
	size_t kept;

	h->model.fault = MODEL_FAULT_duplicate_executes;
	free(shrink_episode(h, episode_seed, episode_steps(episode_seed), &kept));
	h->model.fault = MODEL_FAULT_none;
	tap_result(kept && kept <= FEW, "a difference is reduced to %zu steps", kept);
}

/* ---- one episode again ---- */

/* The numbers in KEEP, or all of them. */
static size_t steps_to_keep(uint32_t *keep, size_t steps)
{
	char *text = getenv("KEEP"), *end;
	size_t count = 0;

	if (!text || !*text) {
		for (; count < steps; count++)
			keep[count] = count;
		return count;
	}
	for (; count < steps; text = end) {
		uint32_t number = strtoul(text, &end, 0);

		if (end == text)
			break;
		keep[count++] = number;
	}
	return count;
}

static void run_kept(struct harness *harnesses, uint64_t seed, uint64_t episode)
{
	uint64_t episode_seed = rng_mix(seed, episode);
	uint32_t keep[EPISODE_MIN + EPISODE_SPREAD];
	size_t count = steps_to_keep(keep, episode_steps(episode_seed));

	run_again(harness_of(harnesses, episode), episode_seed, keep, count);
}

static bool open_all(struct harness *harnesses)
{
	const char *why;

	for (int i = 0; i < CONFIGS; i++) {
		if (harness_open(&harnesses[i], &configs[i], &why))
			continue;
		tap_result(false, "the program cannot be loaded: %s", why);
		while (i-- > 0)
			harness_close(&harnesses[i]);
		return false;
	}
	return true;
}

static void run_all(struct harness *harnesses, uint64_t seed)
{
	uint64_t seconds = number_from_env("SECONDS", 0);
	struct budget budget = {.steps = number_from_env("STEPS", DEFAULT_STEPS)};
	bool agreed;

	if (seconds)
		budget.until = time(NULL) + seconds;
	agreed = run(harnesses, seed, &budget);
	tap_result(agreed, "model and program agree, seed %" PRIu64, seed);
	if (agreed && !seconds && budget.steps >= DEFAULT_STEPS)
		check_coverage(harnesses);
	if (!agreed || seconds)
		return;
	check_faults(harnesses, seed);
	check_shrinking(&harnesses[0], seed);
}

int main(void)
{
	static struct harness harnesses[CONFIGS];
	uint64_t seed = number_from_env("SEED", random_seed());
	const char *episode = getenv("EPISODE");
	int status = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	stay_on_this_cpu();
	if (geteuid() != 0) {
		tap_skip("model and program agree", "loading a BPF program needs root");
		return tap_done();
	}
	if (!open_all(harnesses))
		return tap_done();
	printf("# SEED=%" PRIu64 "\n", seed);
	if (episode) {
		run_kept(harnesses, seed, strtoull(episode, NULL, 0));
	} else {
		run_all(harnesses, seed);
		status = tap_done();
	}
	for (int i = 0; i < CONFIGS; i++)
		harness_close(&harnesses[i]);
	return status;
}
