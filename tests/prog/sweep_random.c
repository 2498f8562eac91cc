/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_random.c - good requests with every free field at random, and each kind of answer to them: mostly
 * about header checksums and ICRCs.
 */
#include <arpa/inet.h>
#include <string.h>

#include "sweep.h"

static void random_bytes(void *to, size_t len)
{
	uint64_t number = 0;

	for (size_t i = 0; i < len; i++) {
		number = i % 8 ? number >> 8 : any_number();
		((uint8_t *)to)[i] = number;
	}
}

static void random_headers(struct packet *p)
{
	random_bytes(p->dmac, 6);
	random_bytes(p->smac, 6);
	p->dmac[0] &= ~1;
	p->vlans = any_number() % 3;
	random_bytes(p->tci, sizeof(p->tci));
	p->tpid[0] = any_number() % 2 ? 0x8100 : 0x88a8;
	random_bytes(p->src + (p->family == XA_IPV4 ? 12 : 0), p->family == XA_IPV4 ? 4 : 16);
	random_bytes(p->dst + (p->family == XA_IPV4 ? 12 : 0), p->family == XA_IPV4 ? 4 : 16);
	p->tos = any_number();
	p->ttl = any_number();
	p->id = any_number();
	p->frag = any_number() % 2 ? 0x4000 : 0;
	p->flow = any_number() & 0xfffff;
	p->sport = any_number();
	p->udp_csum = any_number();
	p->trailer = any_number() % 4 ? 0 : any_number() % 64;
}

static void random_bth(struct packet *p)
{
	p->opcode = any_number() % 2 ? XA_OP_CMP_SWAP : XA_OP_FETCH_ADD;
	p->flags = any_number() & (XA_BTH_SE | XA_BTH_MIGREQ);
	p->pkey = any_number() % 2 ? 0xffff : 0x7fff;
	p->resv8 = any_number();
	p->qpn = 2 + any_number() % 0xfffffd;
	p->ackreq = any_number();
	p->psn = any_number() & XA_PSN_MASK;
	p->swap_add = any_number();
	p->compare = any_number();
}

static void random_state(struct scene *s)
{
	struct packet *p = &s->packet;
	unsigned int word = any_number() % SCENE_WORDS;

	s->qp.qpn = p->qpn;
	memcpy(s->qp.peer, p->src, 16);
	memcpy(s->qp.local, p->dst, 16);
	s->qp.rqpn = any_number() & XA_QPN_MASK;
	s->qp.msn = any_number() & XA_PSN_MASK;
	s->qp.ctl.epsn = p->psn;
	s->qp.ctl.life = any_number();
	s->qp.depth = 1 << any_number() % 8;
	s->qp.pdn = s->mr.pdn = any_number();
	s->mr.rkey = p->rkey = SCENE_MR << 8 | (any_number() & 0xff);
	s->mr.iova = any_number() & ~7ull;
	if (s->mr.iova > -(uint64_t)SCENE_LENGTH)
		s->mr.iova = -(uint64_t)SCENE_LENGTH;
	p->va = s->mr.iova + 8 * word;
	random_bytes(s->words, sizeof(s->words));
	if (any_number() % 2)
		p->compare = s->words[word];
}

/* One of the four kinds of answer; no retry of a request that went well is left out. */
static enum xa_reason random_kind(struct scene *s)
{
	switch (any_number() % 5) {
	case 0:
		s->packet.rkey ^= 1u << any_number() % 32;
		return XA_REASON_rkey;
	case 1:
		s->packet.psn = xa_psn_add(s->packet.psn, 1 + any_number() % 0x7fffff);
		return XA_REASON_sequence;
	case 2:
		scene_make_duplicate(s, 1 + any_number() % 0x800000);
		return XA_REASON_replayed;
	default:
		return XA_REASON_executed;
	}
}

static bool random_case(struct rig *rig, enum xa_family family)
{
	enum xa_reason reason;
	struct scene s;
	bool ok;

	scene_init(&s, family);
	random_headers(&s.packet);
	random_bth(&s.packet);
	random_state(&s);
	reason = random_kind(&s);
	ok = scene_check(rig, &s, reason, NULL, NULL);
	responder_del_window(&rig->responder, s.qp.qpn);
	return ok;
}

void sweep_random(struct rig *rig, enum xa_family family, int cases)
{
	struct sweep sweep = {0};

	for (int i = 0; i < cases; i++)
		if (!sweep_case(&sweep, random_case(rig, family), "random case %d", i))
			break;
	sweep_done(&sweep, "random requests, %s", family == XA_IPV4 ? "IPv4" : "IPv6");
}
