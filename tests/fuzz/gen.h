/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gen.h - what happens next: a packet or an operation of the control plane.
 *
 * A step is made from a seed of its own and from what the model knows at that moment ("a duplicate of what
 * this QP was sent before"), so that the steps that are left make sense when others are taken out.
 */
#ifndef XATOMIC_TESTS_GEN_H
#define XATOMIC_TESTS_GEN_H

#include "rng.h"
#include "target.h"
#include "tests/lib/packet.h"
#include "tests/model/model.h"

#define GEN_PAST 32

enum op {
	OP_PACKET,
	OP_QP_ADD,
	OP_QP_DEL,
	OP_QP_RESET,
	OP_WINDOW_LOST,  /* the LRU has given the window to another QP */
	OP_SLOT_FOREIGN, /* another QP has written over a saved atomic */
	OP_SLOT_TORN,    /* the original in a saved atomic is another writer's */
	OP_MR_ADD,
	OP_MR_DEL,
	OP_MR_UNMAP, /* a deregistration that stops half-way: the words are out, the MR is not */
	OP_MR_MAP,   /* new words, of another size, for an MR that is not registered */
	OP_HOST_STORE,
	OP_AGENT,      /* somebody takes packets for QP 1, or nobody does any more */
	OP_AGENT_READ, /* he takes what waits */
};

struct step {
	enum op op;
	unsigned slot; /* of the QP or the MR */
	struct model_qp_attr qp;
	struct model_mr_attr mr;
	uint32_t psn;   /* OP_QP_RESET, OP_SLOT_* */
	uint32_t words; /* OP_MR_MAP */
	uint32_t word;  /* OP_HOST_STORE */
	uint64_t value; /* likewise; OP_AGENT: 1 somebody, 0 nobody */
	size_t len;     /* OP_PACKET */
	bool locked;    /* likewise: it finds the QP of the slot locked */
	uint8_t frame[TARGET_FRAME_MAX];
};

/* What identifies an atomic, as it was sent once. */
struct past {
	uint32_t psn, rkey;
	uint8_t opcode;
	uint64_t va, swap_add, compare;
};

struct gen {
	const struct model *model;
	const struct target_limits *limits;
	unsigned qps; /* slots in use */
	unsigned last;
	uint32_t qp_index[MODEL_QPS];
	uint32_t words[MODEL_MRS]; /* mapped in the target; 0: none */
	uint32_t old_qpn[8], old_rkey[8];
	struct past past[MODEL_QPS][GEN_PAST];
};

/* Chooses what an episode is about: how many QPs, and which indices they have. */
void gen_start(struct gen *g, const struct model *model, const struct target_limits *limits,
	       uint64_t seed);
void gen_step(struct gen *g, uint32_t number, uint64_t seed, struct step *step);

/* The packet of an OP_PACKET step, for the QP of that slot. */
void gen_packet(struct gen *g, struct rng *rng, unsigned slot, struct step *step);

/* Changes a field or a few bytes of a frame, with the ICRC repaired or not. Returns the new length. */
size_t gen_mutate(struct rng *rng, uint8_t *frame, size_t len);
/* Where a responder would look for it, if the lengths let it. */
void gen_repair_icrc(uint8_t *frame, size_t len);
size_t gen_garbage(struct rng *rng, uint8_t *frame, size_t len);

#endif
