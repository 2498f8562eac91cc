/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.c - a lock whose holder may die: the others take it back, one of them, and what the dead one still had
 * under way does no harm. Nobody has to agree on the time of day.
 *
 *	lease [-t MILLISECONDS] [-p MILLISECONDS] HOST REGION ID STEPS
 *
 * Takes the lease as holder ID (1 to 65535, each program its own), does STEPS steps of work under it with a
 * pause (-p, 100) behind each, and gives it back. Exit status: 0 done, 1 no connection, 3 lost the lease.
 *
 * Word 0 is the lease, and changes by COMPARE_SWAP only:
 *
 *	holder, 16 bits (0: free) | beat, 16 bits | token, 32 bits
 *
 * - Free: the first whose swap takes has it, with the next token.
 * - The holder renews by raising the beat, several times within the lease's duration (-t, 5000).
 * - Who sees the same word for a whole duration takes the holder for dead, and swaps itself in with the next
 *   token. Of all who do so one wins, as the swap compares with the word that was seen: had the holder renewed,
 *   or another been faster, it would fail.
 * - The holder counts the duration from before it sent its last renewal, the others from after they have seen
 *   it. So the holder's time is over first, if only clocks run at the same rate.
 *
 * That is not enough when the holder checks the time, is stopped, and acts when it is woken up. So each action
 * carries the token, and what is acted on refuses a token lower than one that it has seen: it is fenced. Here
 * that is word 1, a count with the token of its last writer above it: a swap can check both at once.
 *
 * Build: cc -o lease lease.c remote.c -lrdmacm -libverbs
 */
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "number.h"
#include "remote.h"

enum { LEASE, COUNT };

enum outcome { DONE, FAILED, LOST = 3 };

struct lease {
	struct remote *remote;
	uint16_t id;
	uint64_t duration; /* milliseconds */
	uint64_t word;     /* as it is while the lease is ours */
	uint64_t until;    /* when it is not, at the latest */
};

static uint64_t make_word(uint16_t holder, uint16_t beat, uint32_t token)
{
	return (uint64_t)holder << 48 | (uint64_t)beat << 32 | token;
}

static uint16_t holder_of(uint64_t word)
{
	return word >> 48;
}

static uint16_t beat_of(uint64_t word)
{
	return word >> 32;
}

static uint32_t token_of(uint64_t word)
{
	return word;
}

/* Goes on while the machine sleeps, unlike CLOCK_MONOTONIC. */
static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_BOOTTIME, &time);
	return time.tv_sec * 1000ull + time.tv_nsec / 1000000;
}

static void pause_for(uint64_t ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Swaps `seen` for our own word. LOST: the word was another one, which is in *seen now. */
static enum outcome put(struct lease *lease, uint64_t *seen, uint64_t mine)
{
	uint64_t sent = now(), before;

	if (remote_compare_swap(lease->remote, LEASE, *seen, mine, &before))
		return FAILED;
	if (before != *seen) {
		*seen = before;
		return LOST;
	}
	lease->word = mine;
	lease->until = sent + lease->duration;
	return DONE;
}

static void say_whose(const struct lease *lease, uint64_t before)
{
	printf("%u has the lease, token %" PRIu32, lease->id, token_of(lease->word));
	if (holder_of(before))
		printf(", recovered from %u", holder_of(before));
	putchar('\n');
}

/* Waits for the lease. Reads by FETCH_ADD of 0, as the responder does no RDMA READ. */
static enum outcome acquire(struct lease *lease)
{
	uint64_t seen, last, since;
	enum outcome outcome;

	if (remote_fetch_add(lease->remote, LEASE, 0, &seen))
		return FAILED;
	for (since = now();;) {
		last = seen;
		if (!holder_of(seen) || now() - since >= lease->duration) {
			outcome = put(lease, &seen, make_word(lease->id, 0, token_of(seen) + 1));
			if (outcome == DONE)
				say_whose(lease, last);
			if (outcome != LOST)
				return outcome;
		} else {
			pause_for(lease->duration / 20);
			if (remote_fetch_add(lease->remote, LEASE, 0, &seen))
				return FAILED;
		}
		if (seen != last)
			since = now();
	}
}

static enum outcome renew(struct lease *lease)
{
	uint64_t seen = lease->word;

	return put(lease, &seen, make_word(lease->id, beat_of(seen) + 1, token_of(seen)));
}

static enum outcome release(struct lease *lease)
{
	uint64_t seen = lease->word;

	return put(lease, &seen, make_word(0, 0, token_of(seen)));
}

/* The work: counts one up, and is refused once a later holder has been here. */
static enum outcome count_up(struct lease *lease)
{
	uint64_t seen, before;
	uint32_t token = token_of(lease->word);

	if (remote_fetch_add(lease->remote, COUNT, 0, &seen))
		return FAILED;
	while (seen >> 32 <= token) {
		uint32_t count = (uint32_t)seen + 1;

		if (remote_compare_swap(lease->remote, COUNT, seen, (uint64_t)token << 32 | count,
					&before))
			return FAILED;
		if (before == seen) {
			printf("%u counts %" PRIu32 "\n", lease->id, count);
			return DONE;
		}
		seen = before;
	}
	warnx("%u is fenced: token %" PRIu64 " has been here, ours is %" PRIu32, lease->id,
	      seen >> 32, token);
	return LOST;
}

/* A tenth of the duration is left for clocks that do not run at the same rate. */
static bool is_over(const struct lease *lease)
{
	return now() + lease->duration / 10 >= lease->until;
}

static enum outcome work(struct lease *lease, uint64_t steps, uint64_t pause)
{
	enum outcome outcome = DONE;

	while (steps-- && outcome == DONE) {
		if (is_over(lease)) {
			warnx("%u comes too late: its time is over", lease->id);
			return LOST;
		}
		outcome = count_up(lease);
		pause_for(pause);
		if (outcome == DONE)
			outcome = renew(lease);
	}
	return outcome;
}

static enum outcome run(struct lease *lease, uint64_t steps, uint64_t pause)
{
	enum outcome outcome = acquire(lease);

	if (outcome == DONE)
		outcome = work(lease, steps, pause);
	if (outcome == DONE)
		outcome = release(lease);
	if (outcome == LOST)
		warnx("%u has lost the lease", lease->id);
	return outcome;
}

int main(int argc, char **argv)
{
	struct lease lease = {.duration = 5000};
	uint64_t pause = 100, steps;
	enum outcome outcome;
	int option;

	while ((option = getopt(argc, argv, "t:p:")) != -1) {
		if (option == 't')
			lease.duration = number("-t", optarg, 20, 3600000);
		else if (option == 'p')
			pause = number("-p", optarg, 0, 3600000);
		else
			return 2;
	}
	if (argc - optind != 4)
		errx(2, "usage: lease [-t MILLISECONDS] [-p MILLISECONDS] HOST REGION ID STEPS");
	lease.id = number("ID", argv[optind + 2], 1, UINT16_MAX);
	steps = number("STEPS", argv[optind + 3], 1, UINT64_MAX);
	setvbuf(stdout, NULL, _IOLBF, 0);
	lease.remote = remote_open(argv[optind], argv[optind + 1]);
	if (!lease.remote)
		return FAILED;
	outcome = run(&lease, steps, pause);
	remote_close(lease.remote);
	return outcome;
}
