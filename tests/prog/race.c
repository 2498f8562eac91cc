/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * race.c - two CPUs at one QP: a request and its retransmission at the same time, and a control plane that
 * takes the QP away under the packets. Whoever wins, every PSN is executed once and answered the same.
 */
#include "race.h"

#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scene.h"
#include "../lib/tap.h"

enum { RACERS = 2, REQUESTS = 20000, LEAD = XA_MAX_DEPTH / 2 };

/*
 * Nothing takes that many tries in a row, or seconds for one lock or in all, unless the program never unlocks. The
 * CPU that holds a lock may be a virtual one that does not run for a while, so tries tell nothing there.
 */
enum { TRIES = 200000, LOCK_SECONDS = 20, SECONDS = 60 };

static cpu_set_t allowed; /* before any thread takes one, as threads inherit */

/*
 * Gives the calling thread a CPU, and the right to run there when others want it too: threads that take
 * turns on one CPU race for nothing. Where that is not allowed the races are weaker, and no less right.
 */
static void take_cpu(int which)
{
	struct sched_param first = {.sched_priority = 1};
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0, n = which % CPU_COUNT(&allowed); cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && n-- == 0)
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setscheduler(0, SCHED_FIFO, &first);
}

struct racer {
	struct rig *rig;
	struct scene scene;
	int cpu;
	const struct racer *other; /* NULL: alone */
	uint64_t *originals;       /* by request */
	atomic_uint done;          /* requests that have been answered */
	atomic_bool given_up;
	pthread_t thread;
};

/* One FETCH_ADD of 1; true when it was acknowledged. */
static bool ask(struct racer *racer, uint32_t n)
{
	uint8_t frame[PACKET_MAX], got[PACKET_MAX];
	struct packet *p = &racer->scene.packet;
	struct answer answer;
	size_t len;

	p->psn = xa_psn_add(SCENE_PSN, n);
	len = packet_build(p, frame);
	if (responder_run(&racer->rig->responder, frame, len, got, &len) != XDP_TX)
		return false;
	answer_parse(got, &answer);
	racer->originals[n] = answer.original;
	return answer.opcode == XA_OP_ATOMIC_ACKNOWLEDGE && answer.psn == p->psn;
}

/* Whoever is far ahead waits: what is older than the window cannot be answered any more. */
static void *run_race(void *data)
{
	struct racer *racer = data;
	uint32_t n = 0;

	take_cpu(racer->cpu);
	for (unsigned int tries = 0; n < REQUESTS && tries < TRIES;) {
		if (racer->other && !racer->other->given_up && n > racer->other->done + LEAD) {
			sched_yield();
			continue;
		}
		tries = ask(racer, n) ? 0 : tries + 1;
		n += !tries;
		racer->done = n;
	}
	racer->given_up = n < REQUESTS;
	return NULL;
}

static void start_race(struct racer *racer, int cpu, struct rig *rig, const struct scene *scene,
		       const struct racer *other)
{
	*racer = (struct racer){.rig = rig, .scene = *scene, .cpu = cpu, .other = other};
	racer->originals = calloc(REQUESTS, sizeof(*racer->originals));
	pthread_create(&racer->thread, NULL, run_race, racer);
}

/* Every request was answered with what the word held before it. */
static bool end_race(struct racer *racer, uint64_t first)
{
	bool ok;

	pthread_join(racer->thread, NULL);
	ok = racer->done == REQUESTS;
	if (!ok)
		tap_note("%u of %d requests were answered", racer->done, REQUESTS);
	for (uint32_t n = 0; n < racer->done; n++)
		ok &= racer->originals[n] == first + n;
	free(racer->originals);
	return ok;
}

static void prepare(struct rig *rig, struct scene *s)
{
	scene_init(s, XA_IPV4);
	s->packet.swap_add = 1;
	s->qp.depth = XA_MAX_DEPTH;
	scene_place(rig, s);
}

static bool added_once(const struct rig *rig, const struct scene *s)
{
	uint64_t added = rig->words.word[SCENE_WORD] - s->words[SCENE_WORD];

	if (added != REQUESTS)
		tap_note("executed %lu times, not %d", added, REQUESTS);
	return added == REQUESTS;
}

static void retransmissions(struct rig *rig)
{
	struct racer racers[RACERS] = {0};
	struct scene s;
	bool ok = true;

	prepare(rig, &s);
	for (int i = 0; i < RACERS; i++)
		start_race(&racers[i], i, rig, &s, &racers[!i]);
	for (int i = 0; i < RACERS; i++)
		ok &= end_race(&racers[i], s.words[SCENE_WORD]);
	ok &= added_once(rig, &s);
	tap_result(ok, "%d requests and their retransmissions on two CPUs: each executed once",
		   REQUESTS);
}

/*
 * Changes the control word as everybody must: by compare-and-swap while the lock is as expected. `after`
 * gets the new word. False when the lock is stuck.
 */
static bool change_ctl(struct xa_qp *qp, uint8_t lock_before, enum xa_qp_state state, uint8_t lock,
		       struct xa_qp_ctl *after)
{
	_Atomic(uint64_t) *word = (void *)&qp->ctl;
	time_t end = time(NULL) + LOCK_SECONDS;
	uint64_t old = *word, new;

	do {
		memcpy(after, &old, sizeof(old));
		after->lock = lock_before;
		memcpy(&old, after, sizeof(old));
		after->state = state;
		after->lock = lock;
		memcpy(&new, after, sizeof(new));
		if (atomic_compare_exchange_strong(word, &old, new))
			return true;
	} while (time(NULL) <= end);
	tap_note("the lock has not been given back for %d s", LOCK_SECONDS);
	return false;
}

/* While the QP is in RESET no packet may change it, also none that had seen it before. */
static bool take_away(struct xa_qp *qp)
{
	struct xa_qp_ctl reset, rtr;

	if (!change_ctl(qp, 0, XA_QP_RESET, 0, &reset))
		return false;
	for (int i = 0; i < 100; i++) {
		if (memcmp((void *)&qp->ctl, &reset, sizeof(reset))) {
			tap_note("a packet has changed a QP in RESET");
			return false;
		}
	}
	return change_ctl(qp, 0, XA_QP_RTR, 0, &rtr);
}

static void taken_away(struct rig *rig)
{
	struct xa_qp *qp = responder_qp(&rig->responder, SCENE_QPN);
	struct racer racer;
	struct scene s;
	unsigned int times = 0;
	bool ok = true;

	prepare(rig, &s);
	start_race(&racer, 1, rig, &s, NULL);
	for (; racer.done < REQUESTS && !racer.given_up && ok; times++) {
		ok = take_away(qp);
		sched_yield();
	}
	ok &= end_race(&racer, s.words[SCENE_WORD]);
	ok &= added_once(rig, &s);
	tap_result(ok, "QP taken away and given back under packets: each executed once");
	tap_note("%u times", times);
}

struct holder {
	struct xa_qp *qp;
	atomic_uint rounds; /* how often the lock was taken and given back */
	atomic_bool stop;
};

/* Some hundred nanoseconds, on any machine. */
static void short_while(void)
{
	struct timespec now;

	for (int i = 0; i < 10; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

/* Another packet, as far as the lock can tell. */
static void *hold_now_and_then(void *data)
{
	struct holder *holder = data;
	struct xa_qp_ctl ctl;

	take_cpu(1);
	while (!holder->stop && change_ctl(holder->qp, 0, XA_QP_RTR, 1, &ctl)) {
		short_while();
		change_ctl(holder->qp, 1, XA_QP_RTR, 0, &ctl);
		holder->rounds++;
		short_while();
	}
	return NULL;
}

/*
 * Only packets that met a holder who was running count: one that was descheduled keeps the lock for longer
 * than anybody may wait. Without waiting every other of them would find the QP locked.
 */
static void waiting(struct rig *rig)
{
	enum { PACKETS = 20000, ENOUGH = 200 };
	struct holder holder = {.qp = responder_qp(&rig->responder, SCENE_QPN)};
	uint8_t frame[PACKET_MAX], got[PACKET_MAX];
	unsigned int met = 0, dropped = 0;
	pthread_t thread;
	struct scene s;
	size_t len, got_len;

	scene_init(&s, XA_IPV4);
	scene_make_duplicate(&s, 1);
	scene_place(rig, &s);
	len = packet_build(&s.packet, frame);
	pthread_create(&thread, NULL, hold_now_and_then, &holder);
	while (!holder.rounds)
		sched_yield();
	for (int i = 0; i < PACKETS; i++) {
		unsigned int rounds = holder.rounds;
		int verdict = responder_run(&rig->responder, frame, len, got, &got_len);

		if (holder.rounds == rounds)
			continue;
		met++;
		dropped += verdict != XDP_TX;
	}
	holder.stop = true;
	pthread_join(thread, NULL);
	if (met < ENOUGH)
		tap_skip("a packet waits for the lock", "no second CPU to hold it meanwhile");
	else
		tap_result(dropped < met / 8,
			   "a packet waits for the lock: %u of %u did not get it", dropped, met);
}

static void *run_all(void *data)
{
	struct rig *rig = data;

	take_cpu(0);
	retransmissions(rig);
	taken_away(rig);
	waiting(rig);
	return NULL;
}

void run_races(void)
{
	pthread_t thread;
	struct rig rig;
	int err = rig_open(&rig, SCENE_QPS, XA_UNKNOWN_QP_PASS);

	if (err) {
		tap_result(false, "races can be set up: %s", strerror(-err));
		return;
	}
	sched_getaffinity(0, sizeof(allowed), &allowed);
	alarm(SECONDS);
	pthread_create(&thread, NULL, run_all, &rig);
	pthread_join(thread, NULL);
	alarm(0);
	rig_close(&rig);
}
