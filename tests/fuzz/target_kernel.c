/* SPDX-License-Identifier: BSD-2-Clause */
/* The target in the kernel: the program as it was loaded, run by BPF_PROG_TEST_RUN. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"
#include "tests/lib/packet.h"
#include "tests/lib/responder.h"

enum {
	GSI_BYTES = 4096,
	SPARE_WINDOWS = 128
}; /* the LRU hands out elements in batches of so many per CPU */

/* `base` are the words that a slot begins with, `words` those that it has now, or NULL. */
struct mr_slot {
	uint32_t index;
	struct words base, own;
	struct words *words;
};

struct target {
	struct responder responder;
	struct target_limits limits;
	struct mr_slot mrs[MODEL_MRS];
	struct xa_stats baseline;
};

static void must(int err, const char *what)
{
	if (err >= 0)
		return;
	printf("Bail out! %s: %s\n", what, strerror(-err));
	exit(1);
}

static void map_slot(struct target *t, struct mr_slot *slot, struct words *words)
{
	must(responder_set_words(&t->responder, slot->index, words), "mr_words");
	slot->words = words;
}

static void drop_own_words(struct mr_slot *slot)
{
	if (slot->own.word)
		words_close(&slot->own);
	slot->own.word = NULL;
}

static void open_slots(struct target *t)
{
	for (unsigned i = 0; i < MODEL_MRS; i++) {
		struct mr_slot *slot = &t->mrs[i];

		slot->index = t->limits.mr_index[i];
		must(words_open(&slot->base, t->limits.mr_words[i]), "words of an MR");
		map_slot(t, slot, &slot->base);
	}
}

struct target *target_open(const struct target_limits *limits, const char **why)
{
	struct responder_config config = {
		.max_qps = limits->max_qps,
		.max_mrs = limits->max_mrs,
		.unknown_qp = limits->unknown_qp,
		.gsi_bytes = GSI_BYTES,
	};
	struct target *t = calloc(1, sizeof(*t));
	int err;

	if (!t) {
		*why = "no memory";
		return NULL;
	}
	config.replay_windows = limits->replay_windows;
	if (!config.replay_windows)
		config.replay_windows =
			MODEL_QPS * 2 + SPARE_WINDOWS * (libbpf_num_possible_cpus() + 1);
	t->limits = *limits;
	err = responder_open(&t->responder, &config);
	if (err) {
		*why = strerror(-err);
		free(t);
		return NULL;
	}
	open_slots(t);
	return t;
}

void target_close(struct target *t)
{
	for (unsigned i = 0; i < MODEL_MRS; i++) {
		drop_own_words(&t->mrs[i]);
		words_close(&t->mrs[i].base);
	}
	responder_close(&t->responder);
	free(t);
}

static void reset_mr(struct target *t, unsigned i)
{
	static const struct xa_mr unused;
	struct mr_slot *slot = &t->mrs[i];

	if (slot->words != &slot->base)
		map_slot(t, slot, &slot->base);
	drop_own_words(slot);
	memset(slot->base.word, 0, slot->base.count * sizeof(uint64_t));
	target_mr_put(t, i, &unused);
}

void target_reset(struct target *t)
{
	for (uint32_t i = 0; i < t->limits.max_qps; i++) {
		struct xa_qp *qp = &t->responder.qps[i];

		if (qp->qpn)
			target_window_del(t, qp->qpn);
		memset(qp, 0, sizeof(*qp));
	}
	for (unsigned i = 0; i < MODEL_MRS; i++)
		reset_mr(t, i);
	must(responder_events(&t->responder), "events");
	target_agent(t, false);
	while (target_gsi(t, &t->responder.gsi))
		;
	must(responder_stats(&t->responder, &t->baseline), "stats");
}

struct xa_qp *target_qp(struct target *t, uint32_t index)
{
	return &t->responder.qps[index];
}

bool target_window_get(struct target *t, uint32_t qpn, struct xa_window *window)
{
	int err = responder_get_window(&t->responder, qpn, window);

	if (err != -ENOENT)
		must(err, "replay");
	return err == 0;
}

void target_window_put(struct target *t, uint32_t qpn, const struct xa_window *window)
{
	must(responder_set_window(&t->responder, qpn, window), "replay");
}

void target_window_del(struct target *t, uint32_t qpn)
{
	must(responder_del_window(&t->responder, qpn), "replay");
}

void target_mr_get(struct target *t, unsigned slot, struct xa_mr *mr)
{
	must(responder_get_mr(&t->responder, t->limits.mr_index[slot], mr), "mrs");
}

void target_mr_put(struct target *t, unsigned slot, const struct xa_mr *mr)
{
	must(responder_set_mr(&t->responder, t->limits.mr_index[slot], mr), "mrs");
}

uint64_t *target_mr_words(struct target *t, unsigned slot)
{
	return t->mrs[slot].words ? t->mrs[slot].words->word : NULL;
}

void target_mr_map(struct target *t, unsigned slot, uint32_t words)
{
	struct words fresh;

	must(words_open(&fresh, words), "words of an MR");
	must(responder_set_words(&t->responder, t->mrs[slot].index, &fresh), "mr_words");
	drop_own_words(&t->mrs[slot]);
	t->mrs[slot].own = fresh;
	t->mrs[slot].words = &t->mrs[slot].own;
}

void target_mr_unmap(struct target *t, unsigned slot)
{
	map_slot(t, &t->mrs[slot], NULL);
	drop_own_words(&t->mrs[slot]);
}

void target_stats(struct target *t, struct xa_stats *sum)
{
	uint64_t *value = (uint64_t *)sum;
	const uint64_t *base = (const uint64_t *)&t->baseline;

	must(responder_stats(&t->responder, sum), "stats");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*value); i++)
		value[i] -= base[i];
}

bool target_event(struct target *t, struct xa_event *event)
{
	int count = responder_events(&t->responder);

	must(count, "events");
	if (count > 1)
		must(-EPROTO, "one packet gave several events");
	*event = t->responder.event;
	return count == 1;
}

void target_agent(struct target *t, bool alive)
{
	/* Time 1 is long over. */
	must(responder_set_agent(&t->responder, alive ? UINT64_MAX : 1), "agent");
}

bool target_gsi(struct target *t, struct xa_gsi_packet *packet)
{
	int count = responder_gsi(&t->responder);

	must(count, "gsi");
	*packet = t->responder.gsi;
	return count;
}

void target_run(struct target *t, const uint8_t *frame, size_t len, struct target_reply *reply)
{
	int action = responder_run(&t->responder, frame, len, reply->frame, &reply->len);

	must(action, "BPF_PROG_TEST_RUN");
	reply->action = action;
}

_Static_assert(PACKET_MAX <= TARGET_FRAME_MAX, "responder_run() gives up to PACKET_MAX bytes");
