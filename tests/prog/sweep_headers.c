/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_headers.c - every value of the header fields that a reply takes over, told on a duplicate: that
 * can be asked again and again, as it changes nothing but counters.
 */
#include <linux/bpf.h>
#include <string.h>

#include "sweep.h"

typedef void (*set_field)(struct packet *packet, unsigned int value);

static void set_id(struct packet *p, unsigned int value)
{
	p->id = value;
}

static void set_sport(struct packet *p, unsigned int value)
{
	p->sport = value;
}

static void set_tos(struct packet *p, unsigned int value)
{
	p->tos = value;
}

static void set_ttl(struct packet *p, unsigned int value)
{
	p->ttl = value;
}

static void set_resv8(struct packet *p, unsigned int value)
{
	p->resv8 = value;
}

static void set_ackreq(struct packet *p, unsigned int value)
{
	p->ackreq = value;
}

static void set_flow(struct packet *p, unsigned int value)
{
	p->flow = value * 15;
}

static void set_udp_csum(struct packet *p, unsigned int value)
{
	p->udp_csum = value;
}

static void set_tci(struct packet *p, unsigned int value)
{
	p->vlans = 2;
	p->tci[0] = value;
	p->tci[1] = ~value;
}

static const struct header {
	const char *name;
	set_field set;
	unsigned int values;
	enum { BOTH, ONLY_V4, ONLY_V6 } family;
} headers[] = {
	{"IPv4 identification, so every header checksum", set_id, 65536, ONLY_V4},
	{"source port", set_sport, 65536, BOTH},
	{"ToS or traffic class", set_tos, 256, BOTH},
	{"TTL or hop limit", set_ttl, 256, BOTH},
	{"FECN, BECN and reserved bits", set_resv8, 256, BOTH},
	{"AckReq and reserved bits", set_ackreq, 256, BOTH},
	{"flow label", set_flow, 65536, ONLY_V6},
	{"UDP checksum", set_udp_csum, 65536, BOTH},
	{"VLAN TCI", set_tci, 65536, BOTH},
};

static bool reply_is_right(struct rig *rig, const struct packet *p, const struct answer *answer)
{
	uint8_t frame[PACKET_MAX], got[PACKET_MAX], expected[PACKET_MAX];
	size_t len = packet_build(p, frame), got_len;

	if (responder_run(&rig->responder, frame, len, got, &got_len) != XDP_TX)
		return false;
	return got_len == answer_build(answer, frame, expected) &&
	       tap_same("reply", expected, got, got_len);
}

static void every_value(struct rig *rig, const struct header *header, enum xa_family family)
{
	struct answer answer = {.opcode = XA_OP_ATOMIC_ACKNOWLEDGE,
				.syndrome = XA_SYN_ACK_UNLIMITED,
				.qpn = SCENE_RQPN,
				.psn = SCENE_PSN - 1,
				.msn = SCENE_MSN};
	struct sweep sweep = {0};
	struct scene s;

	scene_init(&s, family);
	scene_make_duplicate(&s, 1);
	answer.original = s.window.saved[s.packet.psn % SCENE_DEPTH].original;
	scene_place(rig, &s);
	for (unsigned int value = 0; value < header->values; value++) {
		header->set(&s.packet, value);
		if (!sweep_case(&sweep, reply_is_right(rig, &s.packet, &answer), "value %u", value))
			break;
	}
	sweep_done(&sweep, "every %s, %s", header->name, family == XA_IPV4 ? "IPv4" : "IPv6");
}

void sweep_headers(struct rig *rig, enum xa_family family)
{
	int other = family == XA_IPV4 ? ONLY_V6 : ONLY_V4;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if ((int)headers[i].family != other)
			every_value(rig, &headers[i], family);
}
