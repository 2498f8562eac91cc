/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets for a QP: good ones, and all the ways in which one can be bad. */
#include <string.h>

#include "gen.h"

static uint8_t any_atomic(struct rng *rng)
{
	return rng_percent(rng, 50) ? XA_OP_CMP_SWAP : XA_OP_FETCH_ADD;
}

/* What a requester or the network may choose freely. */
static void vary(struct rng *rng, struct packet *p)
{
	static const uint16_t tpids[] = {0x8100, 0x88a8};
	static const uint16_t frags[] = {0x4000, 0x4000, 0x0000, 0x8000, 0xc000};
	uint64_t bits = rng_next(rng);

	p->vlans = rng_percent(rng, 75) ? 0 : 1 + (bits & 1);
	p->tpid[0] = RNG_PICK(rng, tpids);
	p->tci[0] = bits >> 8;
	p->smac[5] = bits >> 24;
	p->sport = bits >> 32;
	p->id = bits >> 48;
	p->frag = RNG_PICK(rng, frags);
	bits = rng_next(rng);
	p->tos = bits & 0xff;
	p->ttl = bits >> 8;
	p->flow = bits >> 16 & 0xfffff;
	p->udp_csum = bits & 1 ? bits >> 36 : 0;
	p->flags = bits >> 52 & (XA_BTH_SE | XA_BTH_MIGREQ);
	if (rng_percent(rng, 20)) {
		bits = rng_next(rng);
		p->resv8 = bits;
		p->ackreq = bits >> 8;
		p->pkey = bits & 0x10000 ? 0x7fff : 0xffff;
		p->ip_csum_xor = bits >> 20;
		p->trailer = bits >> 40 & 63;
	}
}

/* Mostly an MR that this QP may use, if there is one. */
static const struct model_mr *pick_mr(const struct gen *g, struct rng *rng,
				      const struct model_qp *qp)
{
	unsigned start = rng_below(rng, MODEL_MRS);

	if (rng_percent(rng, 2))
		return &g->model->mrs[start];
	for (unsigned i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *mr = &g->model->mrs[(start + i) % MODEL_MRS];

		if (mr->used && mr->mapped && mr->attr.pdn == qp->attr.pdn &&
		    mr->attr.access & XA_ACCESS_ATOMIC)
			return mr;
	}
	return &g->model->mrs[start];
}

static void aim(struct rng *rng, const struct model_mr *mr, struct packet *p)
{
	uint64_t words = mr->used ? mr->attr.length / 8 : 1, word = rng_below(rng, words);

	if (rng_percent(rng, 40))
		word = rng_percent(rng, 50) ? words - 1 : 0;
	p->va = mr->attr.iova + word * 8;
	p->rkey = mr->attr.rkey;
	p->opcode = any_atomic(rng);
	p->swap_add = rng_percent(rng, 60) ? rng_below(rng, 3) : rng_next(rng);
	p->compare = rng_percent(rng, 50) ? mr->words[word] : rng_below(rng, 4);
}

static void from_past(const struct past *past, struct packet *p)
{
	p->psn = past->psn;
	p->opcode = past->opcode;
	p->va = past->va;
	p->rkey = past->rkey;
	p->swap_add = past->swap_add;
	p->compare = past->compare;
}

static void duplicate(struct gen *g, struct rng *rng, unsigned slot, struct packet *p)
{
	uint32_t back = 1 + rng_below(rng, rng_percent(rng, 50) ? 3 : GEN_PAST);
	uint32_t psn = (g->model->qps[slot].epsn - back) & XA_PSN_MASK;

	from_past(&g->past[slot][psn % GEN_PAST], p);
}

static void other_duplicate(struct gen *g, struct rng *rng, unsigned slot, struct packet *p)
{
	duplicate(g, rng, slot, p);
	switch (rng_below(rng, 6)) {
	case 0:
		p->opcode ^= XA_OP_CMP_SWAP ^ XA_OP_FETCH_ADD;
		break;
	case 1:
		p->va ^= 1ull << rng_below(rng, 64);
		break;
	case 2:
		p->rkey ^= 1u << rng_below(rng, 32);
		break;
	case 3:
		p->swap_add ^= 1ull << rng_below(rng, 64);
		break;
	default:
		p->compare ^= 1ull << rng_below(rng, 64);
	}
}

static void far_behind(struct gen *g, struct rng *rng, unsigned slot, struct packet *p)
{
	const struct model_qp *qp = &g->model->qps[slot];
	uint32_t depth = qp->attr.depth;
	uint32_t distances[] = {
		depth - 1, depth,    depth + 1,     2 * depth, 128,
		129,       0x7fffff, XA_PSN_WINDOW, 0x7ffffe,  rng_below(rng, XA_PSN_WINDOW),
	};

	p->psn = qp->epsn - RNG_PICK(rng, distances);
}

static void ahead(struct gen *g, struct rng *rng, unsigned slot, struct packet *p)
{
	uint32_t distances[] = {
		1, 1, 2, 3, 128, 0x7ffffe, 0x7fffff, XA_PSN_WINDOW, rng_below(rng, XA_PSN_WINDOW)};

	p->psn = g->model->qps[slot].epsn + RNG_PICK(rng, distances);
}

/* The MR that a packet is for, or any. */
static const struct model_mr *target_mr(const struct gen *g, struct rng *rng,
					const struct packet *p)
{
	for (unsigned slot = 0; slot < MODEL_MRS; slot++)
		if (g->model->mrs[slot].attr.rkey == p->rkey)
			return &g->model->mrs[slot];
	return &g->model->mrs[rng_below(rng, MODEL_MRS)];
}

static void wrong_va(struct gen *g, struct rng *rng, struct packet *p)
{
	const struct model_mr *mr = target_mr(g, rng, p);
	uint64_t iova = mr->attr.iova, end = iova + mr->attr.length;
	uint64_t places[] = {
		iova - 8,
		iova - 1,
		iova - 7,
		end,
		end - 7,
		end - 4,
		end - 1,
		end + 8,
		UINT64_MAX,
		UINT64_MAX - 7,
		0,
		p->va + (1ull << 63),
		p->va + 1,
		p->va + 4,
		p->va - 4,
		rng_next(rng),
		p->va ^ 1ull << rng_below(rng, 64),
	};

	p->va = RNG_PICK(rng, places);
}

static void wrong_rkey(struct gen *g, struct rng *rng, struct packet *p)
{
	uint32_t rkeys[] = {
		p->rkey ^ 1u << rng_below(rng, 8),
		p->rkey ^ 1u << rng_below(rng, 32),
		p->rkey + 0x100,
		g->limits->max_mrs << 8 | (p->rkey & 0xff),
		0,
		UINT32_MAX,
		RNG_PICK(rng, g->old_rkey),
		g->model->mrs[rng_below(rng, MODEL_MRS)].attr.rkey,
		g->model->mrs[rng_below(rng, MODEL_MRS)].attr.rkey,
	};

	p->rkey = RNG_PICK(rng, rkeys);
}

static void other_opcode(struct rng *rng, struct packet *p)
{
	static const uint8_t opcodes[] = {0x03, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0a, 0x0b, 0x0c,
					  0x15, 0x16, 0x17, 0x18, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};

	p->opcode = rng_percent(rng, 60) ? RNG_PICK(rng, opcodes) : rng_below(rng, 0x20);
	p->body_len = rng_percent(rng, 70) ? rng_below(rng, 30) : rng_below(rng, 1800);
	p->flags |= rng_below(rng, 4) << 4;
}

static void strange_l2_l3(struct rng *rng, struct packet *p)
{
	static const uint16_t frags[] = {0x2000, 0x0001, 0x1fff, 0x6000};

	switch (rng_below(rng, 9)) {
	case 0:
		p->dmac[0] |= 1;
		break;
	case 1:
		p->vlans = 3;
		break;
	case 2:
		p->ethertype = rng_next(rng);
		break;
	case 3:
		p->version = 1 + rng_below(rng, 15);
		break;
	case 4:
		p->ihl = 3 + rng_below(rng, 13);
		break;
	case 5:
		p->has_ext = 1;
		p->protocol = RNG_PICK(rng, ((uint8_t[]){0, 43, 44, 60, 17}));
		break;
	case 6:
		p->protocol = rng_next(rng);
		break;
	case 7:
		p->frag = RNG_PICK(rng, frags);
		break;
	default:
		p->ip_len_add = rng_percent(rng, 50) ? rng_next(rng) : rng_below(rng, 9) - 4;
	}
}

static void strange_address(struct rng *rng, struct packet *p)
{
	uint8_t *gid = rng_percent(rng, 50) ? p->src : p->dst;

	if (rng_percent(rng, 15))
		p->family = p->family == XA_IPV4 ? XA_IPV6 : XA_IPV4;
	else if (rng_percent(rng, 50))
		gid[15] = 1 + rng_below(rng, 3);
	else
		gid[rng_below(rng, 16)] ^= 1 << rng_below(rng, 8);
}

static void strange_qpn(struct gen *g, struct rng *rng, struct packet *p)
{
	uint32_t qpns[] = {
		XA_QPN_SMI,
		XA_QPN_GSI,
		XA_QPN_MULTICAST,
		RNG_PICK(rng, g->old_qpn),
		p->qpn ^ g->limits->max_qps,
		p->qpn ^ 1u << rng_below(rng, 24),
		g->model->qps[rng_below(rng, g->qps)].attr.qpn,
	};

	p->qpn = RNG_PICK(rng, qpns);
}

static uint16_t strange_16(struct rng *rng, uint16_t value)
{
	if (rng_percent(rng, 50))
		return rng_next(rng);
	return value ^ 1 << rng_below(rng, 16);
}

static void strange_bth(struct gen *g, struct rng *rng, struct packet *p)
{
	static const uint8_t opcodes[] = {0x81, 0x0d, 0x10, 0x11, 0x12, 0x33, 0x53, 0x54,
					  0x64, 0x80, 0x93, 0xb3, 0xb4, 0xd3, 0xe0, 0xf4};

	switch (rng_below(rng, 8)) {
	case 0:
		p->flags |= 1 + rng_below(rng, 15);
		break;
	case 1:
		p->flags |= rng_below(rng, 4) << 4;
		break;
	case 2:
		p->pkey = strange_16(rng, p->pkey);
		break;
	case 3:
	case 4:
		p->opcode = rng_percent(rng, 80) ? RNG_PICK(rng, opcodes) : rng_next(rng);
		break;
	case 5:
		p->body_len = rng_percent(rng, 50) ? rng_below(rng, 64) : 24 + rng_below(rng, 9);
		break;
	default:
		strange_qpn(g, rng, p);
	}
}

static void strange_udp(struct rng *rng, struct packet *p)
{
	switch (rng_below(rng, 4)) {
	case 0:
		p->dport = strange_16(rng, p->dport);
		break;
	case 1:
		p->udp_len_add = rng_percent(rng, 50) ? rng_next(rng) : rng_below(rng, 9) - 4;
		break;
	case 2: /* IP and UDP agree, but lie */
		p->udp_len_add = rng_below(rng, 81) - 40;
		p->ip_len_add = p->udp_len_add;
		break;
	default:
		p->icrc_xor = 1u << rng_below(rng, 32);
	}
}

static void strange(struct gen *g, struct rng *rng, struct packet *p)
{
	switch (rng_below(rng, 5)) {
	case 0:
		strange_l2_l3(rng, p);
		break;
	case 1:
		strange_address(rng, p);
		break;
	case 2:
		strange_udp(rng, p);
		break;
	default:
		strange_bth(g, rng, p);
	}
}

/* A datagram for the connection manager; what it says is nobody's business here. */
static void make_gsi(struct rng *rng, struct packet *p)
{
	p->qpn = XA_QPN_GSI;
	p->opcode = XA_OP_UD_SEND_ONLY;
	p->psn = rng_next(rng);
	p->body_len = XA_GSI_LEN - sizeof(struct xa_bth) - XA_ICRC_LEN;
	if (rng_percent(rng, 10))
		p->body_len += rng_below(rng, 9) - 4;
}

/* PSN and content; a new request by far most often. */
static void choose_request(struct gen *g, struct rng *rng, unsigned slot, struct packet *p)
{
	unsigned dice = rng_below(rng, 100);

	if (dice < 14)
		duplicate(g, rng, slot, p);
	else if (dice < 20)
		other_duplicate(g, rng, slot, p);
	else if (dice < 24)
		far_behind(g, rng, slot, p);
	else if (dice < 29)
		ahead(g, rng, slot, p);
	else if (dice < 33)
		wrong_va(g, rng, p);
	else if (dice < 36)
		wrong_rkey(g, rng, p);
	if (rng_below(rng, 1000) < 35)
		other_opcode(rng, p);
}

static void remember(struct gen *g, unsigned slot, const struct packet *p)
{
	g->past[slot][p->psn % GEN_PAST] = (struct past){
		.psn = p->psn,
		.opcode = p->opcode,
		.va = p->va,
		.rkey = p->rkey,
		.swap_add = p->swap_add,
		.compare = p->compare,
	};
}

void gen_packet(struct gen *g, struct rng *rng, unsigned slot, struct step *step)
{
	const struct model_qp *qp = &g->model->qps[slot];
	struct packet p;

	step->slot = slot;
	packet_init(&p, qp->attr.ipv6 ? XA_IPV6 : XA_IPV4);
	vary(rng, &p);
	memcpy(p.src, qp->attr.peer, 16);
	memcpy(p.dst, qp->attr.local, 16);
	p.qpn = qp->attr.qpn;
	p.psn = qp->epsn;
	aim(rng, pick_mr(g, rng, qp), &p);
	choose_request(g, rng, slot, &p);
	if (rng_percent(rng, 3))
		make_gsi(rng, &p);
	p.psn &= XA_PSN_MASK;
	if (rng_percent(rng, 10))
		strange(g, rng, &p);
	if (p.psn == qp->epsn)
		remember(g, slot, &p);
	step->len = packet_build(&p, step->frame);
	if (rng_percent(rng, 6))
		step->len = gen_mutate(rng, step->frame, step->len);
	else if (rng_percent(rng, 2))
		step->len = gen_garbage(rng, step->frame, step->len);
}
