/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * configs.c - programs of other sizes and settings than the one of the table.
 */
#include "configs.h"

#include <linux/bpf.h>
#include <string.h>

#include "row.h"
#include "../lib/tap.h"

/* Every row about QPs, as what becomes of a packet without one is the only thing that is configured. */
static int dropping_instance(void)
{
	struct rig rig;
	int err = rig_open(&rig, SCENE_QPS, XA_UNKNOWN_QP_DROP);

	if (err)
		return err;
	tap_note("packets for unknown QPs are dropped");
	run_table(&rig, &qp_table);
	run_table(&rig, &parse_table);
	rig_close(&rig);
	return 0;
}

static bool qpn_is(struct rig *rig, struct scene *s, uint32_t qpn, enum xa_reason reason)
{
	s->packet.qpn = qpn;
	return scene_check(rig, s, reason, NULL, NULL);
}

/* The index is as many bits of the QPN as the table needs; the other bits must be right too. */
static int table_of(uint32_t max_qps)
{
	struct rig rig;
	struct scene s;
	bool ok;
	int err = rig_open(&rig, max_qps, XA_UNKNOWN_QP_PASS);

	if (err)
		return err;
	scene_init(&s, XA_IPV4);
	s.qp.qpn = 0xa5ffff;
	ok = qpn_is(&rig, &s, 0xa5ffff, XA_REASON_executed);
	for (int bit = 0; bit < 24; bit++)
		ok &= qpn_is(&rig, &s, 0xa5ffff ^ 1u << bit, XA_REASON_unknown_qp);
	s.qp.qpn = 0xa50000;
	ok &= qpn_is(&rig, &s, 0xa50000, XA_REASON_executed);
	tap_result(ok, "table of %u QPs: last and first index, every bit of the QPN", max_qps);
	rig_close(&rig);
	return 0;
}

/* A region of many pages: words far apart, and the first that is not there any more. */
static int large_region(void)
{
	enum { WORDS = 1 << 20 };
	static const uint32_t at[] = {0, 511, 512, 65535, 65536, WORDS / 2, WORDS - 1};
	uint8_t frame[PACKET_MAX], got[PACKET_MAX];
	struct words words;
	struct scene s;
	struct rig rig;
	size_t len;
	bool ok = true;
	int err = rig_open(&rig, SCENE_QPS, XA_UNKNOWN_QP_PASS);

	if (err)
		return err;
	scene_init(&s, XA_IPV6);
	s.mr.length = 8ull * WORDS;
	err = words_open(&words, WORDS) ?: scene_place(&rig, &s) ?:
	      responder_set_words(&rig.responder, SCENE_MR, &words);
	for (size_t i = 0; !err && i < sizeof(at) / sizeof(at[0]); i++) {
		s.packet.va = SCENE_IOVA + 8ull * at[i];
		s.packet.psn = SCENE_PSN + i;
		len = packet_build(&s.packet, frame);
		ok &= responder_run(&rig.responder, frame, len, got, &len) == XDP_TX;
		ok &= words.word[at[i]] == s.packet.swap_add;
		words.word[at[i]] = 0;
	}
	for (uint32_t i = 0; !err && i < WORDS; i++)
		ok &= words.word[i] == 0;
	if (!err)
		tap_result(ok, "region of %d words: words far apart, and no other", WORDS);
	words_close(&words);
	rig_close(&rig);
	return err;
}

/*
 * An LRU map always has a window to give, but for moments when the other CPU holds all of them. A plain
 * hash that is full stands in for such a moment.
 */
static int no_window(void)
{
	static const struct responder_config config = {.max_qps = SCENE_QPS,
						       .max_mrs = SCENE_MRS,
						       .replay_windows = 1,
						       .plain_replay = true};
	struct scene s;
	struct rig rig;
	int err = rig_open_as(&rig, &config);

	if (err)
		return err;
	scene_init(&s, XA_IPV4);
	err = responder_set_window(&rig.responder, SCENE_QPN + 1, &s.window);
	s.has_window = 0;
	for (int op = 0; !err && op < 2; op++) {
		const struct set then[SETS_MAX] = {SET(qp.requests, s.qp.requests + 1)};

		if (op)
			scene_make_cas(&s);
		tap_result(scene_check(&rig, &s, XA_REASON_busy, then, NULL),
			   "no replay window to be had, %s: dropped, not executed",
			   op ? "CAS" : "FETCH_ADD");
	}
	rig_close(&rig);
	return err;
}

void run_configs(void)
{
	int err = dropping_instance();

	err = err ?: table_of(1);
	err = err ?: table_of(2);
	err = err ?: table_of(XA_MAX_QPS);
	err = err ?: large_region();
	err = err ?: no_window();
	if (err)
		tap_result(false, "programs of other sizes can be loaded: %s", strerror(-err));
}
