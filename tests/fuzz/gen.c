/* SPDX-License-Identifier: BSD-2-Clause */
#include "gen.h"

#include <string.h>

/* An episode begins with nothing, and without MRs there is little to see. */
enum { FIRST_STEPS = 24 };

/* Values around which things go wrong. */
static const uint32_t psns[] = {0,        1,        2,        0x7ffffe, 0x7fffff,
				0x800000, 0xfffff0, 0xfffffd, 0xfffffe, 0xffffff};
static const uint8_t depths[] = {1, 1, 2, 4, 4, 8, 16, 16, 32, 64, 128};
static const uint8_t no_atomic[] = {0, XA_ACCESS_WRITE, XA_ACCESS_READ,
				    XA_ACCESS_READ | XA_ACCESS_WRITE};

static uint32_t any_psn(struct rng *rng)
{
	return rng_percent(rng, 70) ? RNG_PICK(rng, psns) : rng_next(rng) & XA_PSN_MASK;
}

static unsigned any_access(struct rng *rng)
{
	if (rng_percent(rng, 6))
		return RNG_PICK(rng, no_atomic);
	return XA_ACCESS_ATOMIC | RNG_PICK(rng, no_atomic);
}

static uint32_t any_pdn(struct rng *rng)
{
	return rng_percent(rng, 75) ? 0 : rng_percent(rng, 80) ? 1 : rng_next(rng);
}

static void choose_indices(struct gen *g, struct rng *rng)
{
	for (unsigned slot = 0; slot < g->qps; slot++) {
		unsigned same = 0;

		g->qp_index[slot] = rng_below(rng, g->limits->max_qps);
		while (g->qp_index[same] != g->qp_index[slot])
			same++;
		if (same < slot)
			slot--;
	}
}

void gen_start(struct gen *g, const struct model *model, const struct target_limits *limits,
	       uint64_t seed)
{
	struct rng rng = {seed};

	memset(g, 0, sizeof(*g));
	g->model = model;
	g->limits = limits;
	g->qps = rng_percent(&rng, 50) ? 1 + rng_below(&rng, 4) : 1 + rng_below(&rng, MODEL_QPS);
	choose_indices(g, &rng);
	memcpy(g->words, limits->mr_words, sizeof(g->words));
}

/* Few addresses, so that a wrong one is often another QP's. */
static void any_address(struct rng *rng, bool ipv6, uint8_t net, uint8_t *gid)
{
	memset(gid, 0, 16);
	if (ipv6) {
		gid[0] = 0xfd;
		gid[1] = rng_below(rng, 2);
	} else {
		gid[10] = gid[11] = 0xff;
		gid[12] = 10;
	}
	gid[14] = net;
	gid[15] = 1 + rng_below(rng, 3);
}

/* Index in the low bits, above them a generation that is not 0. */
static uint32_t any_qpn(struct gen *g, struct rng *rng, unsigned slot)
{
	uint32_t generations = (XA_QPN_MASK + 1) / g->limits->max_qps, qpn;

	do {
		uint32_t generation = rng_percent(rng, 20) ? 1 : rng_below(rng, generations);

		if (rng_percent(rng, 10))
			generation = generations - 1;
		qpn = generation * g->limits->max_qps | g->qp_index[slot];
	} while (qpn < g->limits->max_qps || qpn == XA_QPN_MULTICAST || qpn == XA_QPN_GSI ||
		 qpn == g->model->qps[slot].attr.qpn);
	return qpn;
}

static void qp_add(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	struct model_qp_attr *qp = &step->qp;

	step->op = OP_QP_ADD;
	qp->ipv6 = rng_percent(rng, 40);
	any_address(rng, qp->ipv6, 1, qp->peer);
	any_address(rng, qp->ipv6, 2, qp->local);
	qp->qpn = any_qpn(g, rng, slot);
	qp->rqpn = rng_next(rng) & XA_QPN_MASK;
	qp->psn = any_psn(rng);
	qp->msn = rng_percent(rng, 70) ? 0 : any_psn(rng);
	qp->pdn = any_pdn(rng);
	qp->access = any_access(rng);
	qp->depth = RNG_PICK(rng, depths);
}

/* Often a PSN for which the life before has left saved atomics behind. */
static void qp_reset(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	const struct model_qp *qp = &g->model->qps[slot];

	step->op = OP_QP_RESET;
	step->psn = any_psn(rng);
	if (rng_percent(rng, 60))
		step->psn = (qp->epsn + 2 - rng_below(rng, 8)) & XA_PSN_MASK;
}

static void qp_del(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	step->op = OP_QP_DEL;
	RNG_PICK(rng, g->old_qpn) = g->model->qps[slot].attr.qpn;
}

static void spoil_window(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	static const enum op ops[] = {OP_WINDOW_LOST, OP_SLOT_FOREIGN, OP_SLOT_TORN};

	step->op = RNG_PICK(rng, ops);
	step->psn = (g->model->qps[slot].epsn - 1 - rng_below(rng, 6)) & XA_PSN_MASK;
	step->value = rng_next(rng);
}

static uint64_t any_iova(struct rng *rng, uint64_t length)
{
	switch (rng_below(rng, 6)) {
	case 0:
		return 0;
	case 1:
		return 0x100000000;
	case 2: /* ends where addresses end */
		return -length;
	case 3:
		return 0x8000000000000000 - length / 16 * 8;
	case 4: /* its end is 8 before the end of addresses */
		return -length - 8;
	default:
		return rng_next(rng) & ~7ull;
	}
}

static void mr_add(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	const struct model_mr *mr = &g->model->mrs[slot];
	uint8_t key = mr->attr.rkey ? mr->attr.rkey + 1 + 2 * rng_below(rng, 127) : rng_next(rng);

	step->op = OP_MR_ADD;
	step->mr.rkey = g->limits->mr_index[slot] << 8 | key;
	if (step->mr.rkey == 0)
		step->mr.rkey = 1;
	step->mr.pdn = any_pdn(rng);
	step->mr.access = any_access(rng);
	step->mr.length = g->words[slot] * 8ull;
	step->mr.iova = any_iova(rng, step->mr.length);
}

static void mr_del(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	step->op = OP_MR_DEL;
	RNG_PICK(rng, g->old_rkey) = g->model->mrs[slot].attr.rkey;
}

static void mr_map(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	step->op = OP_MR_MAP;
	step->words =
		rng_percent(rng, 50) ? 1 + rng_below(rng, 4) : 1 + rng_below(rng, MODEL_WORDS);
	g->words[slot] = step->words;
}

static void mr_step(struct gen *g, struct rng *rng, struct step *step)
{
	unsigned slot = rng_below(rng, MODEL_MRS);
	const struct model_mr *mr = &g->model->mrs[slot];

	step->slot = slot;
	if (!mr->used && g->words[slot] == 0) {
		mr_map(g, rng, slot, step);
	} else if (!mr->used) {
		mr_add(g, rng, slot, step);
	} else if (mr->mapped && rng_below(rng, 400) == 0) {
		step->op = OP_MR_UNMAP; /* rare: it takes as long as thousands of packets */
		g->words[slot] = 0;
	} else if (!mr->mapped || rng_percent(rng, 30)) {
		mr_del(g, rng, slot, step);
	} else {
		step->op = OP_HOST_STORE;
		step->word = rng_below(rng, g->words[slot]);
		step->value = rng_percent(rng, 50) ? rng_below(rng, 4) : rng_next(rng);
	}
}

/* A QP that is in error is soon reset, so that packets have something to do. */
static void qp_step(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	const struct model_qp *qp = &g->model->qps[slot];
	unsigned dice = rng_below(rng, 1000);

	step->slot = slot;
	if (!qp->used && dice < 700)
		qp_add(g, rng, slot, step);
	else if (!qp->used)
		gen_packet(g, rng, slot, step);
	else if (dice < (qp->error ? 40 : 4))
		qp_del(g, rng, slot, step);
	else if (dice < (qp->error ? 600 : 12))
		qp_reset(g, rng, slot, step);
	else if (dice < 22)
		spoil_window(g, rng, slot, step);
	else
		gen_packet(g, rng, slot, step);
}

static void agent_step(struct rng *rng, struct step *step)
{
	step->op = rng_percent(rng, 50) ? OP_AGENT : OP_AGENT_READ;
	step->value = rng_percent(rng, 80);
}

void gen_step(struct gen *g, uint32_t number, uint64_t seed, struct step *step)
{
	struct rng rng = {seed};

	step->op = OP_PACKET;
	step->locked = rng_below(&rng, 400) == 0;
	step->qp = (struct model_qp_attr){0};
	step->mr = (struct model_mr_attr){0};
	if (!rng_percent(&rng, 40))
		g->last = rng_below(&rng, g->qps);
	if (rng_below(&rng, 1000) < 8)
		agent_step(&rng, step);
	else if (rng_percent(&rng, number < FIRST_STEPS ? 50 : 4))
		mr_step(g, &rng, step);
	else
		qp_step(g, &rng, g->last, step);
}
