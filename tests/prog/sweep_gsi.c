/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_gsi.c - datagrams for QP 1: every bit of one, and a ring that nobody empties.
 */
#include <linux/bpf.h>

#include "sweep.h"

/* A record and its header, as the kernel lays them into a ring (bpf_ringbuf_reserve). */
enum { RECORD = sizeof(struct xa_gsi_packet) + 8 };

static const char *name_of(enum xa_family family)
{
	return family == XA_IPV4 ? "IPv4" : "IPv6";
}

/* Offset of BTH. */
static unsigned int bth_offset(const struct scene *s)
{
	return PACKET_ETH_LEN + (s->packet.family == XA_IPV4 ? 20 : 40) + PACKET_UDP_LEN;
}

/* From BTH's AckReq byte on, all that a datagram says is covered by its ICRC. */
static void flip_every_bit(struct rig *rig, enum xa_family family)
{
	struct sweep sweep = {0};
	struct scene s;
	unsigned int from, bits = 8 * (XA_GSI_LEN - 8);

	scene_init(&s, family);
	scene_make_gsi(&s);
	from = 8 * (bth_offset(&s) + 8);
	for (unsigned int i = 0; i < bits; i++) {
		s.flip = 1 + from + i;
		if (!sweep_case(&sweep, scene_check(rig, &s, XA_REASON_icrc, NULL, NULL), "bit %u",
				i))
			break;
	}
	sweep_done(&sweep, "every bit of a datagram for QP 1, %s", name_of(family));
}

static bool step(struct rig *rig, const struct scene *s, enum xa_reason reason)
{
	uint8_t frame[PACKET_MAX], out[PACKET_MAX];
	struct xa_stats before, after;
	uint64_t *counter = (uint64_t *)&before + XA_CLASS_OTHER * XA_REASON_COUNT + reason;
	size_t len = packet_build(&s->packet, frame), out_len;

	if (responder_stats(&rig->responder, &before) ||
	    responder_run(&rig->responder, frame, len, out, &out_len) != XDP_DROP ||
	    responder_stats(&rig->responder, &after))
		return false;
	++*counter;
	return tap_same("counters", &before, &after, sizeof(after));
}

/* What does not fit is dropped; what fits is there, in order, and then there is room again. */
static void fill_the_ring(struct rig *rig, enum xa_family family)
{
	unsigned int room = (XA_RING_BYTES - 1) / RECORD;
	struct sweep sweep = {0};
	struct scene s;

	scene_init(&s, family);
	scene_make_gsi(&s);
	sweep_case(&sweep, !scene_place(rig, &s), "set-up");
	for (s.packet.psn = 0; s.packet.psn < room; s.packet.psn++)
		if (!sweep_case(&sweep, step(rig, &s, XA_REASON_gsi_agent), "packet %u of %u",
				s.packet.psn, room))
			break;
	for (int i = 0; i < 10; i++)
		sweep_case(&sweep, step(rig, &s, XA_REASON_gsi_full), "one too many");
	for (unsigned int i = 0; i < room; i++)
		sweep_case(&sweep,
			   responder_gsi(&rig->responder) == 1 &&
				   rig->responder.gsi.frame[bth_offset(&s) + 11] == (uint8_t)i,
			   "packet %u comes out", i);
	sweep_case(&sweep, responder_gsi(&rig->responder) == 0, "there are no more");
	sweep_case(&sweep, scene_check(rig, &s, XA_REASON_gsi_agent, NULL, NULL), "room again");
	sweep_done(&sweep, "a ring that nobody empties, %s", name_of(family));
}

void sweep_gsi(struct rig *rig, enum xa_family family)
{
	flip_every_bit(rig, family);
	fill_the_ring(rig, family);
}
