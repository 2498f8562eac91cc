/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep_opcodes.c - all 256 opcodes, at every length that matters, and the ICRC of long packets.
 */
#include "sweep.h"

enum { LONGEST_HEADER = 28, LONG_BODY = 1500 };

static void every_opcode(struct rig *rig, enum xa_family family)
{
	struct sweep sweep = {0};
	struct scene s;

	scene_init(&s, family);
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		enum xa_reason reason = reason_of_request(opcode, s.packet.body_len, 0);

		s.packet.opcode = opcode;
		if (!sweep_case(&sweep, scene_check(rig, &s, reason, NULL, NULL), "opcode 0x%02x",
				opcode))
			break;
	}
	sweep_done(&sweep, "every opcode, %s", family == XA_IPV4 ? "IPv4" : "IPv6");
}

static bool every_length(struct rig *rig, struct sweep *sweep, struct scene *s)
{
	struct packet *p = &s->packet;

	for (p->body_len = 0; p->body_len <= LONGEST_HEADER + 8; p->body_len++) {
		for (unsigned int pad = 0; pad < 4; pad++) {
			enum xa_reason reason = reason_of_request(p->opcode, p->body_len, pad);

			p->flags = pad << 4;
			if (!sweep_case(sweep, scene_check(rig, s, reason, NULL, NULL),
					"opcode 0x%02x, %u bytes, pad %u", p->opcode, p->body_len,
					pad))
				return false;
		}
	}
	return true;
}

static void every_length_of_every_opcode(struct rig *rig, enum xa_family family)
{
	struct sweep sweep = {0};
	struct scene s;

	scene_init(&s, family);
	for (unsigned int opcode = 0; opcode < 32; opcode++) {
		s.packet.opcode = opcode;
		if (!every_length(rig, &sweep, &s))
			break;
	}
	sweep_done(&sweep, "every RC opcode at every length and pad, %s",
		   family == XA_IPV4 ? "IPv4" : "IPv6");
}

/* The ICRC of what is no atomic is walked in pieces, so each length is a case of its own. */
static void every_long_body(struct rig *rig, enum xa_family family)
{
	struct sweep sweep = {0};
	struct scene s;

	scene_init(&s, family);
	s.packet.opcode = XA_OP_SEND_ONLY;
	for (unsigned int len = 0; len <= LONG_BODY; len++) {
		bool good;

		s.packet.body_len = len;
		s.packet.icrc_xor = 0;
		good = scene_check(rig, &s, XA_REASON_opcode, NULL, NULL);
		s.packet.icrc_xor = 1u << len % 32;
		good &= scene_check(rig, &s, XA_REASON_icrc, NULL, NULL);
		if (!sweep_case(&sweep, good, "%u bytes", len))
			break;
	}
	sweep_done(&sweep, "SEND of every length, ICRC right and wrong, %s",
		   family == XA_IPV4 ? "IPv4" : "IPv6");
}

void sweep_opcodes(struct rig *rig, enum xa_family family)
{
	every_opcode(rig, family);
	every_length_of_every_opcode(rig, family);
	every_long_body(rig, family);
}
