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

#include "scene.h"
#include "../lib/tap.h"

enum { RACERS = 2, REQUESTS = 20000, TRIES = 1000 * REQUESTS, LEAD = XA_MAX_DEPTH / 2 };

struct racer {
	struct rig *rig;
	struct scene scene;
	const struct racer *other; /* NULL: alone */
	uint64_t *originals;       /* by request */
	atomic_uint done;          /* requests that have been answered */
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

	for (unsigned int tries = 0; n < REQUESTS && tries < TRIES; tries++) {
		if (racer->other && n > racer->other->done + LEAD) {
			sched_yield();
			continue;
		}
		n += ask(racer, n);
		racer->done = n;
	}
	return NULL;
}

static void start_race(struct racer *racer, struct rig *rig, const struct scene *scene,
		       const struct racer *other)
{
	*racer = (struct racer){.rig = rig, .scene = *scene, .other = other};
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
		start_race(&racers[i], rig, &s, &racers[!i]);
	for (int i = 0; i < RACERS; i++)
		ok &= end_race(&racers[i], s.words[SCENE_WORD]);
	ok &= added_once(rig, &s);
	tap_result(ok, "%d requests and their retransmissions on two CPUs: each executed once",
		   REQUESTS);
}

/* Changes the state as the control plane must: by compare-and-swap while nobody holds the lock. */
static struct xa_qp_ctl change_state(struct xa_qp *qp, enum xa_qp_state state)
{
	_Atomic(uint64_t) *word = (void *)&qp->ctl;
	uint64_t old = *word, new;
	struct xa_qp_ctl ctl;

	do {
		memcpy(&ctl, &old, sizeof(ctl));
		ctl.lock = 0;
		memcpy(&old, &ctl, sizeof(ctl));
		ctl.state = state;
		memcpy(&new, &ctl, sizeof(ctl));
	} while (!atomic_compare_exchange_weak(word, &old, new));
	return ctl;
}

/* While the QP is in RESET no packet may change it, also none that had seen it before. */
static void taken_away(struct rig *rig)
{
	struct xa_qp *qp = responder_qp(&rig->responder, SCENE_QPN);
	struct racer racer;
	struct scene s;
	unsigned int times = 0;
	bool ok = true;

	prepare(rig, &s);
	start_race(&racer, rig, &s, NULL);
	for (; racer.done < REQUESTS && ok; times++) {
		struct xa_qp_ctl reset = change_state(qp, XA_QP_RESET);

		for (int i = 0; i < 100; i++)
			ok &= !memcmp((void *)&qp->ctl, &reset, sizeof(reset));
		change_state(qp, XA_QP_RTR);
		sched_yield();
	}
	ok &= end_race(&racer, s.words[SCENE_WORD]);
	ok &= added_once(rig, &s);
	tap_result(ok, "QP taken away and given back under packets: each executed once");
	tap_note("%u times", times);
}

void run_races(void)
{
	struct rig rig;
	int err = rig_open(&rig, SCENE_QPS, XA_UNKNOWN_QP_PASS);

	if (err) {
		tap_result(false, "races can be set up: %s", strerror(-err));
		return;
	}
	retransmissions(&rig);
	taken_away(&rig);
	rig_close(&rig);
}
