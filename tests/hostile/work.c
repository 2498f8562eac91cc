/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * work.c - which operations, on which words. Half of the words only grow; their adds are all of 1, so that
 * originals are exactly 0, 1, 2..., or all different, so that no add can pass for another. On three words
 * swaps compete with the adds: every swap brings in a number of its own above the sums of adds, so that no
 * value comes twice there. The last is a lock, where values do come again.
 */
#include <time.h>

#include "hostile.h"

enum { TAG_SHIFT = 44, ADD_BITS = 20, ONE_IN_LOCKS = 32, LOCK = WORDS - 1 };

enum use { COUNT, SUM, MIX };

static const enum use uses[WORDS] = {COUNT, COUNT, SUM, SUM, MIX, MIX, MIX};

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void choose_add(struct actor *actor, struct linear_op *op)
{
	op->kind = LINEAR_ADD;
	op->operand = uses[op->word] == COUNT ? 1 : 1 + (rng_next(&actor->rng) >> (64 - ADD_BITS));
}

/* Looking at the word first gives the swap a chance. */
static void choose_swap(struct actor *actor, struct linear_op *op)
{
	struct world *world = actor->world;

	op->kind = LINEAR_SWAP;
	op->operand = atomic_load(&world->words[op->word]);
	op->swap = (uint64_t)(atomic_fetch_add(&world->tags[op->word], 1) + 1) << TAG_SHIFT;
}

/* At most one of an actor at a time, so that the search for an order stays short. */
static void choose_lock(struct actor *actor, struct linear_op *op)
{
	uint64_t own = actor->process + 1;

	op->kind = LINEAR_SWAP;
	op->operand = actor->holds_lock ? own : 0;
	op->swap = actor->holds_lock ? 0 : own;
	actor->lock_is_busy = true;
}

struct linear_op *work_next(struct actor *actor, bool is_host)
{
	struct linear_op *op = &actor->ops[actor->count];
	struct rng *rng = &actor->rng;

	*op = (struct linear_op){.process = actor->process, .seq = actor->count++};
	if (!rng_below(rng, ONE_IN_LOCKS) && !actor->lock_is_busy) {
		op->word = LOCK;
		choose_lock(actor, op);
		return op;
	}
	op->word = rng_below(rng, LOCK);
	if (is_host && rng_percent(rng, 30))
		op->kind = LINEAR_LOAD;
	else if (uses[op->word] == MIX && rng_percent(rng, 50))
		choose_swap(actor, op);
	else
		choose_add(actor, op);
	return op;
}

/* Who cannot know whether it holds the lock tries to give it back, which does no harm. */
void work_done(struct actor *actor, const struct linear_op *op)
{
	if (op->word != LOCK || op->kind != LINEAR_SWAP)
		return;
	actor->lock_is_busy = false;
	if (op->unknown)
		actor->holds_lock = true;
	else
		actor->holds_lock = op->swap && op->result == op->operand;
}

void work_reset(struct world *world)
{
	for (int i = 0; i < WORDS; i++) {
		atomic_store(&world->words[i], 0);
		atomic_store(&world->tags[i], 0);
	}
}
