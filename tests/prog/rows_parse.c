/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_parse.c - Ethernet, VLAN, IP, UDP and the lengths: what is ours, what passes, what lies.
 */
#include <netinet/in.h>

#include "row.h"

#define ETHERNET  "Ethernet: unicast, up to two tags 0x8100 or 0x88a8"
#define IPV4_RULE "RoCEv2 has no IPv4 options (rxe_icrc_hdr takes 20 bytes) and no fragments"
#define IPV6_RULE "RoCEv2 has no IPv6 extension headers (rxe_icrc_hdr takes 40 bytes)"
#define UDP_RULE  "IBA annex A17: UDP destination port 4791"
#define LENGTHS   "lengths come from the headers, agree, and lie in the frame"
#define NOT_SEEN  "IBA annex A17: not covered by the ICRC, not looked at"

static void as_ipv6_mapped(struct scene *s)
{
	struct scene v4;

	scene_init(&v4, XA_IPV4);
	for (int i = 0; i < 16; i++) {
		s->packet.src[i] = v4.packet.src[i];
		s->packet.dst[i] = v4.packet.dst[i];
	}
	s->qp = v4.qp;
}

static const struct row rows[] = {
	{"plain request", "IBA 9.4.5: FETCH_ADD is acknowledged with the original value",
	 R(executed)},

	{"group destination MAC", ETHERNET, R(not_roce), .before = {SET(packet.dmac[0], 0x03)}},
	{"any other destination MAC", ETHERNET, R(executed), .before = {SET(packet.dmac[0], 0xfe)}},
	{"any source MAC", ETHERNET, R(executed), .before = {SET(packet.smac[0], 0xfc)}},
	{"RoCE v1 EtherType", ETHERNET, R(not_roce), .before = {SET(packet.ethertype, 0x8915)}},
	{"ARP EtherType", ETHERNET, R(not_roce), .before = {SET(packet.ethertype, 0x0806)}},
	{"IPv4 under the EtherType of IPv6", ETHERNET, R(not_roce), ONLY_V4,
	 .before = {SET(packet.ethertype, 0x86dd)}},
	{"IPv6 under the EtherType of IPv4", ETHERNET, R(not_roce), ONLY_V6,
	 .before = {SET(packet.ethertype, 0x0800)}},
	{"one C-tag", ETHERNET, R(executed), .before = {SET(packet.vlans, 1)}},
	{"one S-tag", ETHERNET, R(executed),
	 .before = {SET(packet.vlans, 1), SET(packet.tpid[0], 0x88a8)}},
	{"S-tag and C-tag", ETHERNET, R(executed),
	 .before = {SET(packet.vlans, 2), SET(packet.tpid[0], 0x88a8)}},
	{"two C-tags", ETHERNET, R(executed), .before = {SET(packet.vlans, 2)}},
	{"C-tag and S-tag", ETHERNET, R(executed),
	 .before = {SET(packet.vlans, 2), SET(packet.tpid[1], 0x88a8)}},
	{"three C-tags", ETHERNET, R(not_roce), .before = {SET(packet.vlans, 3)}},
	{"three S-tags", ETHERNET, R(not_roce),
	 .before = {SET(packet.vlans, 3), SET(packet.tpid[0], 0x88a8), SET(packet.tpid[1], 0x88a8),
		    SET(packet.tpid[2], 0x88a8)}},
	{"a tag of TPID 0x9100", ETHERNET, R(not_roce),
	 .before = {SET(packet.vlans, 1), SET(packet.tpid[0], 0x9100)}},
	{"a second tag of TPID 0x9100", ETHERNET, R(not_roce),
	 .before = {SET(packet.vlans, 2), SET(packet.tpid[1], 0x9100)}},
	{"one tag and trailer", ETHERNET, R(executed),
	 .before = {SET(packet.vlans, 1), SET(packet.trailer, 7)}},

	{"IP version 5", IPV4_RULE, R(not_roce), ONLY_V4, .before = {SET(packet.version, 5)}},
	{"IP version 6 in IPv4", IPV4_RULE, R(not_roce), ONLY_V4,
	 .before = {SET(packet.version, 6)}},
	{"IP version 12", IPV4_RULE, R(not_roce), ONLY_V4, .before = {SET(packet.version, 12)}},
	{"IHL 4", IPV4_RULE, R(not_roce), ONLY_V4, .before = {SET(packet.ihl, 4)}},
	{"IHL 0", IPV4_RULE, R(not_roce), ONLY_V4, .before = {SET(packet.ihl, 0)}},
	{"one word of IP options", IPV4_RULE, R(not_roce), ONLY_V4, .before = {SET(packet.ihl, 6)}},
	{"ten words of IP options", IPV4_RULE, R(not_roce), ONLY_V4,
	 .before = {SET(packet.ihl, 15)}},
	{"TCP", UDP_RULE, R(not_roce), .before = {SET(packet.protocol, IPPROTO_TCP)}},
	{"UDP-Lite", UDP_RULE, R(not_roce), .before = {SET(packet.protocol, 136)}},
	{"protocol 16", UDP_RULE, R(not_roce), .before = {SET(packet.protocol, 16)}},
	{"first fragment", IPV4_RULE, R(not_roce), ONLY_V4, .before = {SET(packet.frag, 0x2000)}},
	{"first fragment with DF", IPV4_RULE, R(not_roce), ONLY_V4,
	 .before = {SET(packet.frag, 0x6000)}},
	{"last fragment, offset 8", IPV4_RULE, R(not_roce), ONLY_V4,
	 .before = {SET(packet.frag, 1)}},
	{"last fragment, offset 2048", IPV4_RULE, R(not_roce), ONLY_V4,
	 .before = {SET(packet.frag, 0x100)}},
	{"last fragment, largest offset", IPV4_RULE, R(not_roce), ONLY_V4,
	 .before = {SET(packet.frag, 0x1fff)}},
	{"fragment in the middle", IPV4_RULE, R(not_roce), ONLY_V4,
	 .before = {SET(packet.frag, 0x2010)}},
	{"IPv4 header checksum wrong", NOT_SEEN, R(executed), ONLY_V4,
	 .before = {SET(packet.ip_csum_xor, 0x5aa5)}},
	{"UDP checksum not 0", NOT_SEEN, R(executed), .before = {SET(packet.udp_csum, 0xbeef)}},

	{"IPv6 of version 4", IPV6_RULE, R(not_roce), ONLY_V6, .before = {SET(packet.version, 4)}},
	{"IPv6 of version 7", IPV6_RULE, R(not_roce), ONLY_V6, .before = {SET(packet.version, 7)}},
	{"IPv6 of version 14", IPV6_RULE, R(not_roce), ONLY_V6,
	 .before = {SET(packet.version, 14)}},
	{"hop-by-hop options", IPV6_RULE, R(not_roce), ONLY_V6,
	 .before = {SET(packet.protocol, IPPROTO_HOPOPTS), SET(packet.has_ext, 1)}},
	{"routing header", IPV6_RULE, R(not_roce), ONLY_V6,
	 .before = {SET(packet.protocol, IPPROTO_ROUTING), SET(packet.has_ext, 1)}},
	{"fragment header", IPV6_RULE, R(not_roce), ONLY_V6,
	 .before = {SET(packet.protocol, IPPROTO_FRAGMENT), SET(packet.has_ext, 1)}},
	{"destination options", IPV6_RULE, R(not_roce), ONLY_V6,
	 .before = {SET(packet.protocol, IPPROTO_DSTOPTS), SET(packet.has_ext, 1)}},
	{"IPv4-mapped addresses in IPv6, QP of IPv4", "a QP has one address family", R(foreign),
	 ONLY_V6, as_ipv6_mapped},
	{"QP of IPv6 with the same GID", "a QP has one address family", R(foreign), ONLY_V4,
	 .before = {SET(qp.family, XA_IPV6)}},

	{"UDP port 4790", UDP_RULE, R(not_roce), .before = {SET(packet.dport, 4790)}},
	{"UDP port 4791 + 256", UDP_RULE, R(not_roce), .before = {SET(packet.dport, 4791 + 256)}},
	{"UDP port 4791, bytes swapped", UDP_RULE, R(not_roce),
	 .before = {SET(packet.dport, 0xb712)}},
	{"only the source port is 4791", UDP_RULE, R(not_roce),
	 .before = {SET(packet.sport, 4791), SET(packet.dport, 0xc123)}},
	{"source port 4791 too", UDP_RULE, R(executed), .before = {SET(packet.sport, 4791)}},
	{"source port 0", UDP_RULE, R(executed), .before = {SET(packet.sport, 0)}},

	{"UDP length one short", LENGTHS, R(malformed), .before = {SET(packet.udp_len_add, -1)}},
	{"UDP length one long", LENGTHS, R(malformed), .before = {SET(packet.udp_len_add, 1)}},
	{"IP length one short", LENGTHS, R(malformed), .before = {SET(packet.ip_len_add, -1)}},
	{"IP length one long", LENGTHS, R(malformed), .before = {SET(packet.ip_len_add, 1)}},
	{"IP length off by 256", LENGTHS, R(malformed), .before = {SET(packet.ip_len_add, 256)}},
	{"IP length off by 0x8000", LENGTHS, R(malformed),
	 .before = {SET(packet.ip_len_add, 0x8000)}},
	{"both lengths one beyond the frame", LENGTHS, R(malformed),
	 .before = {SET(packet.udp_len_add, 1), SET(packet.ip_len_add, 1)}},
	{"both lengths one into the trailer", LENGTHS, R(length),
	 .before = {SET(packet.udp_len_add, 1), SET(packet.ip_len_add, 1), SET(packet.trailer, 1)}},
	{"UDP length 0", LENGTHS, R(malformed),
	 .before = {SET(packet.udp_len_add, -52), SET(packet.ip_len_add, -52)}},
	{"UDP length 7", LENGTHS, R(malformed),
	 .before = {SET(packet.udp_len_add, -45), SET(packet.ip_len_add, -45)}},
	{"UDP length 8, no payload", LENGTHS, R(malformed),
	 .before = {SET(packet.udp_len_add, -44), SET(packet.ip_len_add, -44)}},
	{"UDP length 23, one too few for BTH and ICRC", LENGTHS, R(malformed),
	 .before = {SET(packet.udp_len_add, -29), SET(packet.ip_len_add, -29)}},
	{"UDP length 24, too few for an atomic", LENGTHS, R(length),
	 .before = {SET(packet.udp_len_add, -28), SET(packet.ip_len_add, -28)}},
	{"UDP length 65535 makes the IP length wrap", LENGTHS, R(malformed),
	 .before = {SET(packet.udp_len_add, 65535 - 52), SET(packet.ip_len_add, 65535 - 52)}},
	{"trailer of one byte", LENGTHS, R(executed), .before = {SET(packet.trailer, 1)}},
	{"trailer of four bytes, as an FCS", LENGTHS, R(executed),
	 .before = {SET(packet.trailer, 4)}},
	{"trailer of 1000 bytes", LENGTHS, R(executed), .before = {SET(packet.trailer, 1000)}},
};

TABLE(parse_table, rows);
