/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MRs that come and go under traffic, one after the other at the same index. Two threads send FETCH_ADDs
 * of 1, half of them with the rkey of the MR that is there, half with the one before it. The words of all
 * lives stay mapped, so that a store after `mr del` has returned is seen, whichever MR it was meant for.
 */
#include <linux/bpf.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "race.h"

enum { QPS = 64, RQPN = 0x4713, MIN_ACKS = 40, MIN_REFUSED = 2 };

struct life {
	struct race_mr mr;
	atomic_ulong acks;
	uint64_t left; /* in the word when the deletion had returned */
};

struct mr_race {
	struct race_rig rig;
	struct life *lives;
	atomic_uint current; /* the life whose MR is there */
	atomic_uint going;   /* lives before this one may be on their way out */
	atomic_uint gone;    /* lives before this one are gone: the deletion has returned */
	atomic_bool over;
	atomic_bool wrong;
};

struct mr_asker {
	struct mr_race *race;
	struct xa_qp *qp; /* live */
	pthread_t thread;
	atomic_ulong refused; /* requests of lives that were gone */
};

static void complain(struct mr_race *r, const char *what, unsigned int life)
{
	if (!atomic_exchange(&r->wrong, true))
		tap_note("%s, life %u", what, life);
}

/* After a fatal NAK. Nobody else uses this QP, so it need not be reset. */
static void revive(struct xa_qp *qp)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)&qp->ctl;
	uint64_t old, new;
	struct xa_qp_ctl ctl;

	do {
		old = atomic_load(word);
		memcpy(&ctl, &old, sizeof(ctl));
		ctl.state = XA_QP_RTR;
		ctl.lock = 0;
		memcpy(&new, &ctl, sizeof(ctl));
	} while (!atomic_compare_exchange_weak(word, &old, new));
}

static void judge(struct mr_asker *asker, unsigned int life, unsigned int gone,
		  const struct answer *answer)
{
	struct mr_race *r = asker->race;

	if (answer->opcode == XA_OP_ATOMIC_ACKNOWLEDGE) {
		r->lives[life].acks++;
		if (life < gone)
			complain(r, "executed after mr del had returned", life);
		return;
	}
	if (answer->syndrome != XA_SYN_NAK_REM_ACCESS)
		complain(r, "NAK other than 0x62", life);
	if (life >= r->going)
		complain(r, "refused though the MR is there", life);
	revive(asker->qp);
	if (life < gone)
		asker->refused++;
}

static void *ask_on(void *data)
{
	struct mr_asker *asker = data;
	struct mr_race *r = asker->race;

	for (unsigned int turn = 0; !r->over && !r->wrong; turn++) {
		unsigned int gone = r->gone, life = r->current;
		struct packet packet;
		struct answer answer;

		if (life && turn % 2)
			life--;
		race_packet(&packet, asker->qp->qpn, &r->lives[life].mr);
		packet.psn = *(volatile uint32_t *)&asker->qp->ctl.epsn;
		if (race_ask(&r->rig, &packet, &answer) == XDP_TX)
			judge(asker, life, gone, &answer);
		else
			complain(r, "no answer", life);
	}
	return NULL;
}

static void await(struct mr_race *r, const atomic_ulong *count, unsigned long least)
{
	while (*count < least && !r->wrong)
		sched_yield();
}

/* Requests that had been under way when the deletion returned are over when later ones are. */
static void await_later_requests(struct mr_race *r, struct mr_asker askers[RACERS])
{
	for (int i = 0; i < RACERS; i++)
		await(r, &askers[i].refused, askers[i].refused + MIN_REFUSED);
}

static void check_life(struct mr_race *r, unsigned int number, const char *when)
{
	const struct life *life = &r->lives[number];

	if (*life->mr.word == life->left && life->acks == life->left)
		return;
	tap_note("life %u: %lu acknowledged, %lu in the word when mr del returned, %lu %s", number,
		 life->acks, life->left, *life->mr.word, when);
	r->wrong = true;
}

/* The next MR comes at once, so that late requests may find it in the place of theirs. */
static void live(struct mr_race *r, struct mr_asker askers[RACERS], mr_del *del, unsigned int n)
{
	struct life *life = &r->lives[n];

	r->current = n;
	await(r, &life->acks, MIN_ACKS);
	r->going = n + 1;
	race_must(del(&r->rig.instance, "mr"), "mr del");
	life->left = *(volatile uint64_t *)life->mr.word;
	r->gone = n + 1;
	race_add_mr(&r->rig, "mr", 1, &r->lives[n + 1].mr);
	await_later_requests(r, askers);
	if (!r->wrong)
		check_life(r, n, "later");
}

static void start(struct mr_race *r, struct mr_asker askers[RACERS])
{
	race_add_mr(&r->rig, "mr", 1, &r->lives[0].mr);
	for (int i = 0; i < RACERS; i++) {
		struct xa_qp qp;

		race_add_qp(&r->rig, RQPN + i, 0, &qp);
		askers[i].race = r;
		askers[i].qp = &r->rig.instance.qps[qp.qpn & (QPS - 1)];
		race_start(&askers[i].thread, i, ask_on, &askers[i]);
	}
}

/* One MR is all that there can be, so the next one has its index. */
bool race_mr(const char *object, mr_del *del, unsigned int lives)
{
	static const struct race_limits limits = {.max_qps = QPS, .max_mrs = 1};
	struct mr_race r = {.lives = calloc(lives + 1, sizeof(*r.lives))};
	struct mr_asker askers[RACERS] = {0};
	unsigned int n;

	race_open(&r.rig, &limits, object);
	start(&r, askers);
	for (n = 0; n < lives && !r.wrong; n++)
		live(&r, askers, del, n);
	r.over = true;
	for (int i = 0; i < RACERS; i++)
		pthread_join(askers[i].thread, NULL);
	for (unsigned int i = 0; i <= n; i++) {
		if (!r.wrong)
			check_life(&r, i, "at the end");
		race_forget_mr(&r.lives[i].mr);
	}
	tap_note("%u lives of an MR, %lu late requests refused", n,
		 askers[0].refused + askers[1].refused);
	race_close(&r.rig);
	free(r.lives);
	return !r.wrong;
}
