/* SPDX-License-Identifier: BSD-2-Clause */
#include "classes.h"

#include <netinet/in.h>

enum { DNS_PORT = 53, SEND_BYTES = 64, OTHER_GENERATION = 0x800000 };

/* The word stays as it is. */
static void make_cas_of_other_value(struct scene *s)
{
	scene_make_cas(s);
	s->packet.compare ^= 1ull << 63;
}

static void make_duplicate(struct scene *s)
{
	scene_make_duplicate(s, 1);
}

static void make_duplicate_cas(struct scene *s)
{
	scene_make_cas(s);
	scene_make_duplicate(s, 1);
}

/* *_no_window: the LRU map has dropped the QP's replay window. */
const struct class classes[] = {
	{"fetch_add", XA_IPV4, XA_REASON_executed, NULL, {}},
	{"fetch_add_1_vlan", XA_IPV4, XA_REASON_executed, NULL, {SET(packet.vlans, 1)}},
	{"fetch_add_2_vlans", XA_IPV4, XA_REASON_executed, NULL, {SET(packet.vlans, 2)}},
	{"fetch_add_ipv6", XA_IPV6, XA_REASON_executed, NULL, {}},
	{"fetch_add_no_window", XA_IPV4, XA_REASON_executed, NULL, {SET(has_window, 0)}},
	{"compare_swap", XA_IPV4, XA_REASON_executed, scene_make_cas, {}},
	{"compare_swap_other", XA_IPV4, XA_REASON_executed, make_cas_of_other_value, {}},
	{"compare_swap_ipv6", XA_IPV6, XA_REASON_executed, scene_make_cas, {}},
	{"duplicate", XA_IPV4, XA_REASON_replayed, make_duplicate, {}},
	{"duplicate_cas", XA_IPV4, XA_REASON_replayed, make_duplicate_cas, {}},
	{"duplicate_ipv6", XA_IPV6, XA_REASON_replayed, make_duplicate, {}},
	{"duplicate_no_window",
	 XA_IPV4,
	 XA_REASON_duplicate_lost,
	 make_duplicate,
	 {SET(has_window, 0)}},
	{"sequence_nak", XA_IPV4, XA_REASON_sequence, NULL, {SET(packet.psn, SCENE_PSN + 1)}},
	{"ahead",
	 XA_IPV4,
	 XA_REASON_ahead,
	 NULL,
	 {SET(packet.psn, SCENE_PSN + 1), SET(qp.ctl.nak_sent, 1)}},
	{"rkey_nak", XA_IPV4, XA_REASON_rkey, NULL, {SET(packet.rkey, SCENE_RKEY + 1)}},
	{"alignment_nak", XA_IPV4, XA_REASON_alignment, NULL, {SET(packet.va, SCENE_VA + 4)}},
	{"send_64",
	 XA_IPV4,
	 XA_REASON_opcode,
	 NULL,
	 {SET(packet.opcode, XA_OP_SEND_ONLY), SET(packet.body_len, SEND_BYTES)}},
	{"gsi", XA_IPV4, XA_REASON_gsi, scene_make_gsi, {SET(has_agent, 0)}},
	{"gsi_agent", XA_IPV4, XA_REASON_gsi_agent, scene_make_gsi, {}},
	{"gsi_agent_ipv6", XA_IPV6, XA_REASON_gsi_agent, scene_make_gsi, {}},
	{"bad_icrc", XA_IPV4, XA_REASON_icrc, NULL, {SET(packet.icrc_xor, 1)}},
	{"tcp", XA_IPV4, XA_REASON_not_roce, NULL, {SET(packet.protocol, IPPROTO_TCP)}},
	{"other_udp", XA_IPV4, XA_REASON_not_roce, NULL, {SET(packet.dport, DNS_PORT)}},
	{"other_udp_ipv6", XA_IPV6, XA_REASON_not_roce, NULL, {SET(packet.dport, DNS_PORT)}},
	{"unknown_qp",
	 XA_IPV4,
	 XA_REASON_unknown_qp,
	 NULL,
	 {SET(packet.qpn, SCENE_QPN ^ OTHER_GENERATION)}},
};

const unsigned int class_count = sizeof(classes) / sizeof(*classes);

void class_scene(const struct class *class, struct scene *scene)
{
	scene_init(scene, class->family);
	if (class->make)
		class->make(scene);
	scene_apply(scene, class->sets);
}
