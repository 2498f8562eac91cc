/* SPDX-License-Identifier: BSD-2-Clause */
#include "scene.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture.h"
#include "expect.h"
#include "lib/icrc.h"
#include "../lib/tap.h"

/* Where the kernel pretends that packets of BPF_PROG_TEST_RUN come in. */
enum { LOOPBACK = 1 };

static const uint8_t peer_v4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
static const uint8_t local_v4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
static const uint8_t peer_v6[16] = {0xfd, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7};
static const uint8_t local_v6[16] = {0xfd, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 8};

static void init_packet(struct packet *p, enum xa_family family)
{
	packet_init(p, family);
	memcpy(p->src, family == XA_IPV4 ? peer_v4 : peer_v6, 16);
	memcpy(p->dst, family == XA_IPV4 ? local_v4 : local_v6, 16);
	p->qpn = SCENE_QPN;
	p->psn = SCENE_PSN;
	p->va = SCENE_VA;
	p->rkey = SCENE_RKEY;
	p->swap_add = 0x0102030405060708;
	p->compare = 0x1112131415161718;
}

/* Every counter starts from a number of its own, so that a store to the wrong one shows. */
static void init_qp(struct xa_qp *qp, const struct packet *p)
{
	*qp = (struct xa_qp){
		.ctl = {.epsn = SCENE_PSN, .state = XA_QP_RTR, .life = 3},
		.qpn = SCENE_QPN,
		.rqpn = SCENE_RQPN,
		.msn = SCENE_MSN,
		.pdn = SCENE_PDN,
		.access = XA_ACCESS_ATOMIC,
		.family = p->family,
		.depth = SCENE_DEPTH,
		.qpn_step = 5,
		.requests = 0x1ffffffff,
		.replayed = 0x2ffffffff,
		.duplicates_dropped = 0x3ffffffff,
		.sequence_naks = 40,
		.fatal_naks = 50,
		.last_nak = {.va = 60, .rkey = 61, .psn = 62, .reason = 3, .opcode = 64},
	};
	memcpy(qp->peer, p->src, 16);
	memcpy(qp->local, p->dst, 16);
}

void scene_init(struct scene *s, enum xa_family family)
{
	memset(s, 0, sizeof(*s));
	init_packet(&s->packet, family);
	init_qp(&s->qp, &s->packet);
	s->mr = (struct xa_mr){
		.iova = SCENE_IOVA,
		.length = SCENE_LENGTH,
		.rkey = SCENE_RKEY,
		.pdn = SCENE_PDN,
		.state = XA_MR_VALID,
		.access = XA_ACCESS_ATOMIC,
		.key_step = 9,
		.name = "region",
	};
	s->has_window = s->has_words = 1;
	for (int i = 0; i < SCENE_WORDS; i++)
		s->words[i] = 0xf1e2d3c4b5a69788 + i;
}

void scene_make_cas(struct scene *s)
{
	s->packet.opcode = XA_OP_CMP_SWAP;
	s->packet.compare = s->words[SCENE_WORD];
}

void scene_make_gsi(struct scene *s)
{
	s->has_agent = 1;
	s->packet.qpn = XA_QPN_GSI;
	s->packet.opcode = XA_OP_UD_SEND_ONLY;
	s->packet.body_len = XA_GSI_LEN - sizeof(struct xa_bth) - XA_ICRC_LEN;
}

void saved_fill(struct xa_saved *saved, uint32_t qpn, const struct packet *p, uint64_t original)
{
	*saved = (struct xa_saved){
		.original = original,
		.guard = original ^ xa_replay_mix(qpn, p->psn, p->opcode),
		.va = p->va,
		.swap_add = p->swap_add,
		.compare = p->compare,
		.rkey = p->rkey,
		.qpn = qpn,
		.psn = p->psn,
		.opcode = p->opcode,
	};
}

void scene_make_duplicate(struct scene *s, uint32_t distance)
{
	struct packet *p = &s->packet;

	p->psn = xa_psn_add(s->qp.ctl.epsn, -distance);
	saved_fill(&s->window.saved[p->psn % s->qp.depth], s->qp.qpn, p, 0x99887766aabbccdd);
}

void scene_apply(struct scene *s, const struct set *sets)
{
	for (int i = 0; i < SETS_MAX && sets[i].size; i++) {
		void *to = (char *)s + sets[i].offset;

		switch (sets[i].size) {
		case 1:
			*(uint8_t *)to = sets[i].value;
			break;
		case 2:
			*(uint16_t *)to = sets[i].value;
			break;
		case 4:
			*(uint32_t *)to = sets[i].value;
			break;
		default:
			*(uint64_t *)to = sets[i].value;
		}
	}
}

const char *reason_name(enum xa_reason reason)
{
#define NAME(word, verdict, meaning) #word,
	static const char *const names[] = {XA_REASONS(NAME)};

	return names[reason];
}

/* A second QP and MR beside those of the scenes, as like them as can be. */
static int set_neighbours(struct rig *rig)
{
	struct scene s;

	scene_init(&s, XA_IPV4);
	s.qp.qpn++;
	rig->qps[s.qp.qpn % rig->responder.config.max_qps] = s.qp;
	s.mr.rkey += 0x100;
	for (int i = 0; i < SCENE_WORDS; i++)
		rig->other_words.word[i] = 0x5555 + i;
	return responder_set_mr(&rig->responder, SCENE_MR + 1, &s.mr)
		       ?: responder_set_words(&rig->responder, SCENE_MR + 1, &rig->other_words);
}

int rig_open_as(struct rig *rig, const struct responder_config *config)
{
	int err;

	memset(rig, 0, sizeof(*rig));
	err = responder_open(&rig->responder, config);
	if (err)
		return err;
	rig->qps = calloc(config->max_qps, sizeof(*rig->qps));
	err = words_open(&rig->words, SCENE_WORDS);
	err = err ?: words_open(&rig->other_words, SCENE_WORDS);
	return err ?: set_neighbours(rig);
}

int rig_open(struct rig *rig, uint32_t max_qps, enum xa_unknown_qp unknown_qp)
{
	struct responder_config config = {
		.max_qps = max_qps,
		.max_mrs = SCENE_MRS,
		.replay_windows = 1024,
		.unknown_qp = unknown_qp,
	};

	return rig_open_as(rig, &config);
}

void rig_close(struct rig *rig)
{
	words_close(&rig->words);
	words_close(&rig->other_words);
	free(rig->qps);
	responder_close(&rig->responder);
}

static size_t qps_bytes(const struct rig *rig)
{
	return rig->responder.config.max_qps * sizeof(struct xa_qp);
}

/* Each change of mr_words costs an RCU grace period. */
static int set_words(struct rig *rig, bool present)
{
	int err = 0;

	if (present != rig->has_words)
		err = responder_set_words(&rig->responder, SCENE_MR, present ? &rig->words : NULL);
	if (!err)
		rig->has_words = present;
	return err;
}

int scene_place(struct rig *rig, struct scene *s)
{
	struct responder *r = &rig->responder;
	int err = responder_set_mr(r, SCENE_MR, &s->mr);

	/* Time 1 is long over. */
	err = err ?: responder_set_agent(r, s->has_agent ? UINT64_MAX : 1);
	xa_icrc_prefixes(&s->qp);
	err = err ?: set_words(rig, s->has_words);
	if (s->has_window)
		err = err ?: responder_set_window(r, s->qp.qpn, &s->window);
	else
		err = err ?: responder_del_window(r, s->qp.qpn);
	memcpy(rig->words.word, s->words, sizeof(s->words));
	memcpy(r->qps, rig->qps, qps_bytes(rig));
	*responder_qp(r, s->qp.qpn) = s->qp;
	return err;
}

static bool same_qps(struct rig *rig, const struct scene *after)
{
	struct xa_qp *got = responder_qp(&rig->responder, after->qp.qpn);
	struct xa_qp *rest = &rig->qps[got - rig->responder.qps], before = *rest;
	bool same = tap_same("QP", &after->qp, got, sizeof(*got));

	*rest = *got;
	same &= tap_same("QP array", rig->qps, rig->responder.qps, qps_bytes(rig));
	*rest = before;
	return same;
}

static bool same_window(struct rig *rig, const struct scene *after)
{
	struct xa_window window;
	int err = responder_get_window(&rig->responder, after->qp.qpn, &window);

	if (err || !after->has_window) {
		if (!err != !!after->has_window)
			tap_note("replay window is %s", err ? "missing" : "there, and was not");
		return !err == !!after->has_window;
	}
	return tap_same("replay window", &after->window, &window, sizeof(window));
}

static bool same_memory(struct rig *rig, const struct scene *after)
{
	struct xa_mr mr;
	bool same;

	same = tap_same("words", after->words, rig->words.word, sizeof(after->words));
	for (int i = 0; i < SCENE_WORDS; i++)
		same &= rig->other_words.word[i] == 0x5555u + i;
	if (responder_get_mr(&rig->responder, SCENE_MR, &mr))
		return false;
	return tap_same("MR", &after->mr, &mr, sizeof(mr)) && same;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static bool same_event(struct rig *rig, const struct xa_event *expected, uint64_t begin)
{
	int got = expected ? responder_await_events(&rig->responder)
			   : responder_events(&rig->responder);
	struct xa_event *event = &rig->responder.event;
	uint64_t at = event->time_ns;

	if (got != !!expected) {
		tap_note("%d events, expected %d", got, !!expected);
		return false;
	}
	if (!expected)
		return true;
	event->time_ns = 0;
	if (at >= begin && at <= monotonic_ns())
		return tap_same("event", expected, event, sizeof(*expected));
	tap_note("the event's time is not that of the packet");
	return false;
}

/* What the agent gets: the frame from its beginning to the end of its ICRC. */
static bool same_handed_over(struct rig *rig, enum xa_reason reason, const uint8_t *frame,
			     uint64_t begin)
{
	const struct xa_gsi_packet *gsi = &rig->responder.gsi;
	bool is_v4 = frame[packet_l3_offset(frame)] >> 4 == 4;
	size_t len = packet_l3_offset(frame) + (is_v4 ? 28 : 48) + XA_GSI_LEN;
	bool expected = reason == XA_REASON_gsi_agent;
	int got = expected ? responder_await_gsi(&rig->responder) : responder_gsi(&rig->responder);

	if (got != expected) {
		tap_note("%d packets for the agent, expected %d", got, expected);
		return false;
	}
	if (!got)
		return true;
	if (gsi->length != len || gsi->ifindex != LOOPBACK) {
		tap_note("agent's packet of %u bytes from interface %u, expected %zu from %u",
			 gsi->length, gsi->ifindex, len, LOOPBACK);
		return false;
	}
	if (gsi->time_ns < begin || gsi->time_ns > monotonic_ns()) {
		tap_note("the agent's packet has another time than it came at");
		return false;
	}
	return tap_same("agent's packet", frame, gsi->frame, len) &&
	       !responder_gsi(&rig->responder);
}

/* Exactly one counter has grown, by one. */
static bool same_stats(struct rig *rig, struct xa_stats *before, const struct outcome *out)
{
	uint64_t *counter = (uint64_t *)before + out->class * XA_REASON_COUNT + out->reason;
	struct xa_stats after;

	++*counter;
	if (responder_stats(&rig->responder, &after))
		return false;
	if (!memcmp(before, &after, sizeof(after)))
		return true;
	for (size_t i = 0; i < sizeof(after) / 8; i++)
		if (((uint64_t *)&after)[i] != ((uint64_t *)before)[i])
			tap_note("counter of class %zu, %s: expected %lu, got %lu",
				 i / XA_REASON_COUNT, reason_name(i % XA_REASON_COUNT),
				 ((uint64_t *)before)[i], ((uint64_t *)&after)[i]);
	return false;
}

static size_t build_frame(const struct scene *s, uint8_t *frame)
{
	size_t len = packet_build(&s->packet, frame);

	if (s->flip)
		frame[(s->flip - 1) / 8] ^= 1 << (s->flip - 1) % 8;
	return s->cut ? s->cut : len;
}

/* The packet as it must come out; what becomes of a dropped one is nobody's business. */
static bool same_frame(struct rig *rig, const struct outcome *out, const uint8_t *in, size_t in_len,
		       const uint8_t *got, size_t got_len)
{
	uint8_t expected[PACKET_MAX];

	if (out->verdict == XDP_DROP)
		return true;
	if (out->verdict == XDP_TX) {
		in_len = answer_build(&out->answer, in, expected);
		in = expected;
		record_reply(rig, got, got_len);
	}
	if (in_len != got_len) {
		tap_note("frame is %zu bytes long, expected %zu", got_len, in_len);
		return false;
	}
	return tap_same(out->verdict == XDP_TX ? "reply" : "passed frame", in, got, in_len);
}

bool scene_check(struct rig *rig, const struct scene *scene, enum xa_reason reason,
		 const struct set *then, struct scene *after)
{
	uint8_t frame[PACKET_MAX] = {0}, got[PACKET_MAX];
	uint64_t begin = monotonic_ns();
	struct scene before = *scene, next;
	struct xa_stats stats;
	struct outcome out;
	size_t len, got_len;
	int verdict;
	bool same;

	if (scene_place(rig, &before) || responder_stats(&rig->responder, &stats)) {
		tap_note("the state could not be set up");
		return false;
	}
	len = build_frame(&before, frame);
	scene_expect(&before, reason, rig->responder.config.unknown_qp, &next, &out);
	if (then)
		scene_apply(&next, then);
	verdict = responder_run(&rig->responder, frame, len, got, &got_len);
	same = verdict == out.verdict;
	if (!same)
		tap_note("verdict %d, expected %d", verdict, out.verdict);
	else
		same = same_frame(rig, &out, frame, len, got, got_len);
	same &= same_qps(rig, &next);
	same &= same_window(rig, &next);
	same &= same_memory(rig, &next);
	same &= same_stats(rig, &stats, &out);
	same &= same_event(rig, out.has_event ? &out.event : NULL, begin);
	same &= same_handed_over(rig, reason, frame, begin);
	if (after)
		*after = next;
	return same;
}

bool scene_step(struct rig *rig, struct scene *s, enum xa_reason reason)
{
	return scene_check(rig, s, reason, NULL, s);
}
