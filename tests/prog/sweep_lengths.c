/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_lengths.c - frames cut at every length, and every length field lying.
 */
#include "sweep.h"

enum { UDP_LEN = 52, UDP_MIN = 8 + 12 + 4, SMALL = 2200 };

static const char *name_of(enum xa_family family)
{
	return family == XA_IPV4 ? "IPv4" : "IPv6";
}

static unsigned int udp_offset(const struct packet *p)
{
	return PACKET_ETH_LEN + PACKET_VLAN_LEN * p->vlans + (p->family == XA_IPV4 ? 20 : 40);
}

/* A frame that ends before the UDP header does is not known to be ours. */
static void cut_everywhere(struct rig *rig, enum xa_family family, int vlans)
{
	struct sweep sweep = {0};
	uint8_t frame[PACKET_MAX];
	struct scene s;
	size_t len;

	scene_init(&s, family);
	s.packet.vlans = vlans;
	len = packet_build(&s.packet, frame);
	for (s.cut = PACKET_ETH_LEN; s.cut < len; s.cut++) {
		bool whole = s.cut >= udp_offset(&s.packet) + PACKET_UDP_LEN;
		enum xa_reason reason = whole ? XA_REASON_malformed : XA_REASON_not_roce;

		if (!sweep_case(&sweep, scene_check(rig, &s, reason, NULL, NULL), "%u bytes",
				s.cut))
			break;
	}
	sweep_done(&sweep, "frame cut at every length, %s, %d tags", name_of(family), vlans);
}

/* Small numbers, the neighbours of powers of two, and numbers that look small modulo 2^8. */
static unsigned int next_length(unsigned int len)
{
	if (len < SMALL)
		return len + 1;
	return len + (len % 256 == 255 ? 1 : 253 - len % 2);
}

static void one_length_lies(struct rig *rig, enum xa_family family, bool is_udp)
{
	unsigned int right = is_udp ? UDP_LEN : family == XA_IPV4 ? 20 + UDP_LEN : UDP_LEN;
	struct sweep sweep = {0};
	struct scene s;

	scene_init(&s, family);
	for (unsigned int len = 0; len < 65536; len = next_length(len)) {
		enum xa_reason reason = len == right ? XA_REASON_executed : XA_REASON_malformed;

		if (is_udp)
			s.packet.udp_len_add = len - right;
		else
			s.packet.ip_len_add = len - right;
		if (!sweep_case(&sweep, scene_check(rig, &s, reason, NULL, NULL), "length %u", len))
			break;
	}
	sweep_done(&sweep, "%s length lies, %s", is_udp ? "UDP" : "IP", name_of(family));
}

/* Both lengths tell the same lie; there are `trailer` bytes more to tell it about. */
static void both_lengths_lie(struct rig *rig, enum xa_family family, unsigned int trailer)
{
	struct sweep sweep = {0};
	struct scene s;

	scene_init(&s, family);
	s.packet.trailer = trailer;
	for (unsigned int len = 0; len < 65536; len = next_length(len)) {
		enum xa_reason reason = XA_REASON_length;

		if (len < UDP_MIN || len > UDP_LEN + trailer)
			reason = XA_REASON_malformed;
		else if (len == UDP_LEN)
			reason = XA_REASON_executed;
		s.packet.udp_len_add = s.packet.ip_len_add = len - UDP_LEN;
		if (!sweep_case(&sweep, scene_check(rig, &s, reason, NULL, NULL), "length %u", len))
			break;
	}
	sweep_done(&sweep, "IP and UDP lengths lie alike, %s, %u bytes of trailer", name_of(family),
		   trailer);
}

void sweep_lengths(struct rig *rig, enum xa_family family)
{
	for (int vlans = 0; vlans <= 2; vlans++)
		cut_everywhere(rig, family, vlans);
	one_length_lies(rig, family, true);
	one_length_lies(rig, family, false);
	both_lengths_lie(rig, family, 0);
	both_lengths_lie(rig, family, 300);
}
