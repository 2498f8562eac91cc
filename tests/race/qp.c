/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A QP that lives again and again, at the same index and from the same PSN, under traffic. Two threads send
 * that PSN all the time; each request is a FETCH_ADD of 1 to the word of the life that it was made for. In
 * each life exactly one request is executed, and it must be one of that life: a request that was matched
 * against the QP's last life must not come to be executed in this one.
 *
 * After `qp del` the QPN tells which life a request was made for. After `qp reset` nothing does, and a
 * thread can be put to sleep before its request is sent; so there the request is made by the generator, in
 * the same run as the program under test.
 */
#include <linux/bpf.h>
#include <sched.h>
#include <string.h>

#include "generator.h"
#include "race.h"
#include "traffic.h"

enum { MAX_QPS = 1, RQPN = 0x4714, PSN = 100, WORDS = 2 * LIVES, MIN_ASKED = 3, PATIENCE = 100000 };

struct qp_race {
	struct race_rig rig;
	struct race_mr mr;
	struct traffic_bpf *generator;
	_Atomic uint64_t now; /* life in the upper half, its QPN in the lower */
	atomic_bool over;
	bool wrong;
};

struct qp_asker {
	struct qp_race *race;
	pthread_t thread;
	atomic_ulong asked;
	atomic_ulong answered;
	atomic_bool wrong;
};

static void make_request(const struct qp_race *r, unsigned int word, struct packet *packet)
{
	race_packet(packet, (uint32_t)r->now, &r->mr);
	packet->psn = PSN;
	packet->va = 8 * word;
}

static int ask(struct qp_race *r, struct answer *answer)
{
	static const uint8_t blank[TWIN_FRAME];
	struct packet packet;
	uint64_t now = r->now;

	if (r->generator)
		return race_run(generator_fd(r->generator), blank, sizeof(blank), answer);
	make_request(r, (now >> 32) % LIVES, &packet);
	packet.qpn = (uint32_t)now;
	return race_ask(&r->rig, &packet, answer);
}

static void *ask_on(void *data)
{
	struct qp_asker *asker = data;

	for (; !asker->race->over; asker->asked++) {
		struct answer answer;

		if (ask(asker->race, &answer) != XDP_TX)
			continue;
		asker->answered++;
		if (answer.opcode != XA_OP_ATOMIC_ACKNOWLEDGE || answer.original)
			asker->wrong = true;
	}
	return NULL;
}

static void await(atomic_ulong *count, unsigned long least)
{
	while (*count < least)
		sched_yield();
}

/* Requests of this life have been executed and repeated, on both CPUs. */
static void await_requests(struct qp_race *r, struct qp_asker askers[RACERS])
{
	volatile struct xa_qp_ctl *ctl = &r->rig.instance.qps[0].ctl;

	for (int i = 0; i < PATIENCE && ctl->epsn != PSN + 1; i++)
		sched_yield();
	for (int i = 0; i < RACERS; i++)
		await(&askers[i].asked, askers[i].asked + MIN_ASKED);
}

/*
 * A request that was made while the QP was being reset and found it ready belongs to this life as well: it
 * came when the grace period was over.
 */
static void check_life(struct qp_race *r, unsigned int life)
{
	const struct xa_qp *qp = &r->rig.instance.qps[0];
	unsigned int own = life % LIVES;

	r->wrong = r->mr.word[own] + r->mr.word[own + LIVES] != 1;
	for (unsigned int i = 0; i < WORDS; i++)
		r->wrong |= r->mr.word[i] && i % LIVES != own;
	for (unsigned int i = 0; i < WORDS && r->wrong; i++)
		if (r->mr.word[i])
			tap_note("life %u: word %u is %lu", life, i, r->mr.word[i]);
	if (qp->msn != 1 || qp->ctl.epsn != PSN + 1) {
		tap_note("life %u: MSN %u, expected PSN %u", life, qp->msn, qp->ctl.epsn);
		r->wrong = true;
	}
	r->mr.word[own] = r->mr.word[own + LIVES] = 0;
}

static void next_by_del(struct qp_race *r, qp_del *del, unsigned int life)
{
	struct xa_qp qp;

	race_must(del(&r->rig.instance, (uint32_t)r->now), "qp del");
	race_add_qp(&r->rig, RQPN, PSN, &qp);
	r->now = (uint64_t)life << 32 | qp.qpn;
}

static void next_by_reset(struct qp_race *r, qp_reset *reset)
{
	struct xa_qp qp;

	race_must(reset(&r->rig.instance, (uint32_t)r->now, PSN, &qp), "qp reset");
}

static void open_generator(struct qp_race *r)
{
	struct packet packet;

	r->generator = generator_open(&r->rig, 0, true);
	for (unsigned int i = 0; i < WORDS; i++) {
		make_request(r, i, &packet);
		generator_set(r->generator, i, &packet);
	}
}

static void start(struct qp_race *r, struct qp_asker askers[RACERS], const char *object)
{
	static const struct race_limits limits = {.max_qps = MAX_QPS, .max_mrs = 4};
	struct xa_qp qp;

	race_open(&r->rig, &limits, object);
	race_add_mr(&r->rig, "lives", WORDS, &r->mr);
	race_add_qp(&r->rig, RQPN, PSN, &qp);
	r->now = qp.qpn;
	for (int i = 0; i < RACERS; i++)
		askers[i].race = r;
}

static bool end(struct qp_race *r, struct qp_asker askers[RACERS], unsigned int lives)
{
	r->over = true;
	for (int i = 0; i < RACERS; i++) {
		pthread_join(askers[i].thread, NULL);
		if (askers[i].wrong)
			tap_note("an answer was no acknowledgement of the first request of a life");
		r->wrong |= askers[i].wrong;
	}
	tap_note("%u lives of a QP, %lu requests, %lu answered", lives,
		 askers[0].asked + askers[1].asked, askers[0].answered + askers[1].answered);
	generator_close(r->generator);
	race_forget_mr(&r->mr);
	race_close(&r->rig);
	return !r->wrong;
}

bool race_qp_del(const char *object, qp_del *del, unsigned int lives)
{
	struct qp_asker askers[RACERS] = {0};
	struct qp_race r = {0};
	unsigned int life = 0;

	start(&r, askers, object);
	for (int i = 0; i < RACERS; i++)
		race_start(&askers[i].thread, i, ask_on, &askers[i]);
	for (; life < lives && !r.wrong; life++) {
		if (life)
			next_by_del(&r, del, life);
		await_requests(&r, askers);
		check_life(&r, life);
	}
	return end(&r, askers, life);
}

bool race_qp_reset(const char *object, qp_reset *reset, unsigned int lives)
{
	struct qp_asker askers[RACERS] = {0};
	struct qp_race r = {0};
	unsigned int life = 0;

	start(&r, askers, object);
	open_generator(&r);
	for (int i = 0; i < RACERS; i++)
		race_start(&askers[i].thread, i, ask_on, &askers[i]);
	for (; life < lives && !r.wrong; life++) {
		if (life)
			next_by_reset(&r, reset);
		await_requests(&r, askers);
		check_life(&r, life);
	}
	return end(&r, askers, life);
}
