/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Far fewer replay windows than QPs, so that windows are recycled all the time while packets on both CPUs
 * hold pointers to them. Each QP counts in a word of its own from PSN 0, so the original value in every
 * answer is the PSN: what no window holds any more may go unanswered, but nothing may be answered wrongly.
 */
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "race.h"

enum { QPS = 128, WINDOWS = 16, RQPN = 0x5000, NEAR = 8 };

struct windows_race {
	struct race_rig rig;
	struct race_mr mr;
	struct xa_qp *qps[QPS]; /* live */
	uint64_t requests;      /* of each thread */
};

struct windows_asker {
	struct windows_race *race;
	unsigned int seed;
	pthread_t thread;
	uint64_t answers;
	bool wrong;
};

static void ask_one(struct windows_asker *asker)
{
	struct windows_race *r = asker->race;
	unsigned int n = rand_r(&asker->seed) % QPS, back = rand_r(&asker->seed) % (2 * NEAR);
	uint32_t expected = *(volatile uint32_t *)&r->qps[n]->ctl.epsn;
	struct packet packet;
	struct answer answer;

	race_packet(&packet, r->qps[n]->qpn, &r->mr);
	packet.va = 8 * n;
	packet.psn = back < NEAR && back <= expected ? expected - back : expected;
	if (race_ask(&r->rig, &packet, &answer) != XDP_TX)
		return;
	asker->answers++;
	if (answer.opcode == XA_OP_ATOMIC_ACKNOWLEDGE && answer.original == packet.psn)
		return;
	if (!asker->wrong)
		tap_note("QP %u, PSN %u: syndrome %#x, original %lu", n, packet.psn,
			 answer.syndrome, answer.original);
	asker->wrong = true;
}

static void *ask_on(void *data)
{
	struct windows_asker *asker = data;

	for (uint64_t i = 0; i < asker->race->requests && !asker->wrong; i++)
		ask_one(asker);
	return NULL;
}

static void start(struct windows_race *r, struct windows_asker askers[RACERS], const char *object)
{
	static const struct race_limits limits = {
		.max_qps = QPS, .max_mrs = 4, .replay_windows = WINDOWS};
	struct xa_qp qp;

	race_open(&r->rig, &limits, object);
	race_add_mr(&r->rig, "counters", QPS, &r->mr);
	for (int i = 0; i < QPS; i++) {
		race_add_qp(&r->rig, RQPN + i, 0, &qp);
		r->qps[i] = &r->rig.instance.qps[qp.qpn & (QPS - 1)];
	}
	for (int i = 0; i < RACERS; i++) {
		askers[i] = (struct windows_asker){.race = r, .seed = i};
		race_start(&askers[i].thread, i, ask_on, &askers[i]);
	}
}

static bool check_counts(const struct windows_race *r)
{
	bool ok = true;

	for (int i = 0; i < QPS; i++) {
		const struct xa_qp *qp = r->qps[i];

		if (r->mr.word[i] == qp->ctl.epsn && qp->msn == qp->ctl.epsn)
			continue;
		tap_note("QP %d: expected PSN %u, MSN %u, but %lu in its word", i, qp->ctl.epsn,
			 qp->msn, r->mr.word[i]);
		ok = false;
	}
	return ok;
}

/* The race is one only when windows are found, and are gone, many times. */
static bool check_mix(const struct windows_race *r)
{
	uint64_t replayed = race_count(&r->rig, XA_CLASS_FETCH_ADD, XA_REASON_replayed);
	uint64_t lost = race_count(&r->rig, XA_CLASS_FETCH_ADD, XA_REASON_duplicate_lost);
	uint64_t executed = race_count(&r->rig, XA_CLASS_FETCH_ADD, XA_REASON_executed);

	tap_note("%d QPs, %d windows: %lu executed, %lu duplicates answered, %lu lost", QPS,
		 WINDOWS, executed, replayed, lost);
	return executed > r->requests / 2 && replayed > r->requests / 1000 &&
	       lost > r->requests / 1000;
}

bool race_windows(const char *object, uint64_t requests)
{
	struct windows_race r = {.requests = requests / RACERS};
	struct windows_asker askers[RACERS];
	bool ok = true;

	start(&r, askers, object);
	for (int i = 0; i < RACERS; i++) {
		pthread_join(askers[i].thread, NULL);
		ok &= !askers[i].wrong;
	}
	ok &= check_counts(&r) & check_mix(&r);
	race_forget_mr(&r.mr);
	race_close(&r.rig);
	return ok;
}
