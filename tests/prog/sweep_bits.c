/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_bits.c - every single bit of a good frame turned over: what is protected makes it silent, what is
 * not makes no difference, what is somebody else's passes.
 */
#include "sweep.h"

enum base { ETH, TAGS, L3, UDP, BTH };

/* Bits that share a fate. `mask` tells the bits of a single byte; 0: all bits of `len` bytes. */
struct field {
	const char *name;
	enum base base;
	uint16_t at;
	uint16_t len;
	uint8_t mask;
	enum xa_reason reason;
};

#define ANSWERED     XA_REASON_executed
#define REASON(word) XA_REASON_##word

static const struct field common[] = {
	{"group bit of the destination MAC", ETH, 0, 1, 0x01, REASON(not_roce)},
	{"first byte of the destination MAC", ETH, 0, 1, 0xfe, ANSWERED},
	{"MACs", ETH, 1, 11, 0, ANSWERED},
	{"TPID", TAGS, 0, 2, 0, REASON(not_roce)},
	{"TCI", TAGS, 2, 2, 0, ANSWERED},
	{"second TPID", TAGS, 4, 2, 0, REASON(not_roce)},
	{"second TCI", TAGS, 6, 2, 0, ANSWERED},
	{"UDP source port", UDP, 0, 2, 0, REASON(icrc)},
	{"UDP destination port", UDP, 2, 2, 0, REASON(not_roce)},
	{"UDP length", UDP, 4, 2, 0, REASON(malformed)},
	{"UDP checksum", UDP, 6, 2, 0, ANSWERED},
	{"TVer", BTH, 1, 1, 0x0f, REASON(version)},
	{"MigReq and SE", BTH, 1, 1, 0xc0, REASON(icrc)},
	{"P_Key, membership", BTH, 2, 1, 0x80, REASON(icrc)},
	{"P_Key, high byte", BTH, 2, 1, 0x7f, REASON(pkey)},
	{"P_Key, low byte", BTH, 3, 1, 0, REASON(pkey)},
	{"FECN, BECN, reserved", BTH, 4, 1, 0, ANSWERED},
	{"DestQP", BTH, 5, 3, 0, REASON(unknown_qp)},
	{"AckReq, reserved, PSN", BTH, 8, 4, 0, REASON(icrc)},
};

static const struct field ipv4[] = {
	{"version and IHL", L3, 0, 1, 0, REASON(not_roce)},
	{"ToS", L3, 1, 1, 0, ANSWERED},
	{"total length", L3, 2, 2, 0, REASON(malformed)},
	{"identification", L3, 4, 2, 0, REASON(icrc)},
	{"reserved flag and DF", L3, 6, 1, 0xc0, REASON(icrc)},
	{"MF and offset", L3, 6, 1, 0x3f, REASON(not_roce)},
	{"offset", L3, 7, 1, 0, REASON(not_roce)},
	{"TTL", L3, 8, 1, 0, ANSWERED},
	{"protocol", L3, 9, 1, 0, REASON(not_roce)},
	{"header checksum", L3, 10, 2, 0, ANSWERED},
	{"source", L3, 12, 4, 0, REASON(peer)},
	{"destination", L3, 16, 4, 0, REASON(foreign)},
};

static const struct field ipv6[] = {
	{"version", L3, 0, 1, 0xf0, REASON(not_roce)},
	{"traffic class", L3, 0, 1, 0x0f, ANSWERED},
	{"traffic class and flow label", L3, 1, 3, 0, ANSWERED},
	{"payload length", L3, 4, 2, 0, REASON(malformed)},
	{"next header", L3, 6, 1, 0, REASON(not_roce)},
	{"hop limit", L3, 7, 1, 0, ANSWERED},
	{"source", L3, 8, 16, 0, REASON(peer)},
	{"destination", L3, 24, 16, 0, REASON(foreign)},
};

static unsigned int base_offset(const struct packet *p, enum base base)
{
	unsigned int l3 = PACKET_ETH_LEN + PACKET_VLAN_LEN * p->vlans;
	unsigned int udp = l3 + (p->family == XA_IPV4 ? 20 : 40);

	switch (base) {
	case ETH:
		return 0;
	case TAGS:
		return PACKET_ETH_LEN - 2;
	case L3:
		return l3;
	case UDP:
		return udp;
	default:
		return udp + PACKET_UDP_LEN;
	}
}

static const struct field *find_field(const struct packet *p, const struct field *fields,
				      size_t count, unsigned int bit)
{
	for (const struct field *f = fields; f < fields + count; f++) {
		unsigned int at = base_offset(p, f->base) + f->at, byte = bit / 8;

		if (f->base == TAGS && f->at >= PACKET_VLAN_LEN * p->vlans)
			continue;
		if (byte >= at && byte < at + f->len && (!f->mask || f->mask >> bit % 8 & 1))
			return f;
	}
	return NULL;
}

#define FIND(p, fields, bit) find_field(p, fields, sizeof(fields) / sizeof(fields[0]), bit)

/* The frame carries the ICRC of `p`, but another opcode: the class that it is counted in changes too. */
static enum xa_reason flip_opcode(struct scene *s, unsigned int bit)
{
	struct packet *p = &s->packet;
	uint8_t frame[PACKET_MAX];
	unsigned int l3 = base_offset(p, L3), len = base_offset(p, BTH) + 12 + p->body_len - l3;
	enum xa_reason reason;

	packet_build(p, frame);
	p->icrc_xor = packet_icrc(frame + l3, len);
	p->opcode ^= 1 << bit;
	packet_build(p, frame);
	p->icrc_xor ^= packet_icrc(frame + l3, len);
	reason = reason_of_request(p->opcode, p->body_len, 0);
	return reason == XA_REASON_executed || reason == XA_REASON_opcode ? XA_REASON_icrc : reason;
}

/* Turns the bit over and tells what must come of it; `good` is the reason of the good frame. */
static enum xa_reason flip(struct scene *s, unsigned int bit, enum xa_reason good,
			   const char **name)
{
	const struct packet *p = &s->packet;
	unsigned int bth = base_offset(p, BTH), trailer = bth + 12 + p->body_len + 4;
	const struct field *f;

	*name = "opcode";
	if (bit / 8 == bth)
		return flip_opcode(s, bit % 8);
	s->flip = bit + 1;
	f = FIND(p, common, bit);
	f = f ?: p->family == XA_IPV4 ? FIND(p, ipv4, bit) : FIND(p, ipv6, bit);
	*name = f ? f->name : "rest";
	if (f)
		return f->reason == ANSWERED ? good : f->reason;
	if (bit / 8 >= trailer)
		return good;
	if (bit / 8 == bth + 1) /* PadCnt is all that is left of this byte */
		return good == XA_REASON_opcode ? XA_REASON_icrc : XA_REASON_length;
	if (bit / 8 < bth) /* EtherType is all that is left before BTH */
		return XA_REASON_not_roce;
	return XA_REASON_icrc;
}

static void flip_all(struct rig *rig, const struct scene *base, enum xa_reason good,
		     const char *what)
{
	struct sweep sweep = {0};
	uint8_t frame[PACKET_MAX];
	unsigned int bits = 8 * packet_build(&base->packet, frame);

	for (unsigned int bit = 0; bit < bits; bit++) {
		struct scene s = *base;
		const char *name;
		enum xa_reason reason = flip(&s, bit, good, &name);

		if (!sweep_case(&sweep, scene_check(rig, &s, reason, NULL, NULL),
				"byte %u bit %u (%s), expected %s", bit / 8, bit % 8, name,
				reason_name(reason)))
			break;
	}
	sweep_done(&sweep, "every bit of a frame turned over, %s, %s, %u tags",
		   base->packet.family == XA_IPV4 ? "IPv4" : "IPv6", what, base->packet.vlans);
}

void sweep_bits(struct rig *rig, enum xa_family family)
{
	for (int vlans = 0; vlans <= 2; vlans++) {
		struct scene s;

		scene_init(&s, family);
		s.packet.vlans = vlans;
		s.packet.trailer = 4;
		flip_all(rig, &s, XA_REASON_executed, "FETCH_ADD");
		scene_make_cas(&s);
		flip_all(rig, &s, XA_REASON_executed, "CAS");
		scene_make_duplicate(&s, 2);
		flip_all(rig, &s, XA_REASON_replayed, "CAS again");
		scene_init(&s, family);
		s.packet.vlans = vlans;
		s.packet.opcode = XA_OP_SEND_ONLY;
		s.packet.body_len = 47;
		flip_all(rig, &s, XA_REASON_opcode, "SEND");
	}
}
