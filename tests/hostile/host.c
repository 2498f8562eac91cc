/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.c - a program on the responder's host: C11 atomics on the mapped words.
 */
#include <pthread.h>
#include <unistd.h>

#include "hostile.h"

/* One operation of each host thread for so many of all requesters: a hundred times faster, it must wait. */
enum { PACE = 8, NAP_US = 50 };

static uint64_t perform(xatomic_word *word, const struct linear_op *op)
{
	uint64_t expected = op->operand;

	switch (op->kind) {
	case LINEAR_ADD:
		return atomic_fetch_add(word, op->operand);
	case LINEAR_SWAP:
		atomic_compare_exchange_strong(word, &expected, op->swap);
		return expected;
	default:
		return atomic_load(word);
	}
}

static void act(struct actor *actor)
{
	struct linear_op *op = work_next(actor, true);

	op->invoked = now_ns();
	op->result = perform(&actor->world->words[op->word], op);
	op->returned = now_ns();
	work_done(actor, op);
}

void *host_run(void *data)
{
	struct actor *actor = &((struct host *)data)->actor;
	struct world *world = actor->world;

	while (!atomic_load(&world->over)) {
		if (actor->count < actor->room &&
		    actor->count < atomic_load(&world->completed) / PACE)
			act(actor);
		else
			usleep(NAP_US);
	}
	return NULL;
}
