/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host's own atomics and those of packets on one word. The host turns the top bit over all the time and
 * knows what it must be; packets count in the rest, by FETCH_ADD and by COMPARE_SWAP in turns.
 */
#include <linux/bpf.h>

#include "race.h"

#define TOP_BIT (1ull << 63)

enum { QPS = 64, RQPN = 0x4712 };

struct host_race {
	struct race_rig rig;
	struct race_mr mr;
	struct xa_qp qp;
	uint64_t requests;
	uint64_t counted; /* by packets */
	uint64_t swapped;
	uint64_t turned; /* by the host */
	bool wrong;
	atomic_bool over;
};

static void *turn_over(void *data)
{
	struct host_race *r = data;
	_Atomic uint64_t *word = (_Atomic uint64_t *)r->mr.word;
	uint64_t top = 0;

	for (; !r->over; r->turned++, top ^= TOP_BIT) {
		if ((atomic_fetch_xor(word, TOP_BIT) & TOP_BIT) == top)
			continue;
		tap_note("an update of the host is lost");
		r->wrong = true;
		top ^= TOP_BIT;
	}
	return NULL;
}

/* One request; false when the answer is not what it must be. */
static bool count_one(struct host_race *r, struct packet *packet)
{
	struct answer answer;
	bool swaps = packet->opcode == XA_OP_CMP_SWAP;

	packet->compare = r->counted;
	packet->swap_add = swaps ? r->counted + 1 : 1;
	if (race_ask(&r->rig, packet, &answer) != XDP_TX ||
	    answer.opcode != XA_OP_ATOMIC_ACKNOWLEDGE || (answer.original & ~TOP_BIT) != r->counted)
		return false;
	packet->psn++;
	if (swaps && answer.original != r->counted)
		return true;
	r->counted++;
	r->swapped += swaps;
	return true;
}

static void *count(void *data)
{
	struct host_race *r = data;
	struct packet packet;

	race_packet(&packet, r->qp.qpn, &r->mr);
	for (uint64_t i = 0; i < r->requests && !r->wrong; i++) {
		packet.opcode = i % 2 ? XA_OP_CMP_SWAP : XA_OP_FETCH_ADD;
		r->wrong |= !count_one(r, &packet);
	}
	r->over = true;
	return NULL;
}

bool race_host(const char *object, uint64_t requests)
{
	static const struct race_limits limits = {.max_qps = QPS, .max_mrs = 4};
	struct host_race r = {.requests = requests};
	pthread_t threads[RACERS];
	bool ok;

	race_open(&r.rig, &limits, object);
	race_add_mr(&r.rig, "shared", 1, &r.mr);
	race_add_qp(&r.rig, RQPN, 0, &r.qp);
	race_start(&threads[0], 0, turn_over, &r);
	race_start(&threads[1], 1, count, &r);
	for (int i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	ok = !r.wrong && (*r.mr.word & ~TOP_BIT) == r.counted && r.swapped;
	tap_note("packets counted %lu, %lu of them by COMPARE_SWAP; the host made %lu updates; the "
		 "word is %#lx",
		 r.counted, r.swapped, r.turned, *r.mr.word);
	race_forget_mr(&r.mr);
	race_close(&r.rig);
	return ok;
}
