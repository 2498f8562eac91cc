/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packet.h - frames for tests: requests with every field free, and the reply that the rules ask for.
 *
 * Written from the wire format alone and sharing no code with the responder, the requester or
 * user/lib/icrc, so that a mistake there cannot hide here. Numbers are in host byte order.
 */
#ifndef XATOMIC_TEST_PACKET_H
#define XATOMIC_TEST_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "xatomic/abi.h"
#include "xatomic/wire.h"

#define PACKET_MAX      2048
#define PACKET_ETH_LEN  14
#define PACKET_VLAN_LEN 4
#define PACKET_UDP_LEN  8

/* A request frame. packet_init() makes a valid FETCH_ADD; a test then changes what it is about. */
struct packet {
	uint8_t dmac[6];
	uint8_t smac[6];
	uint8_t vlans; /* tags, 0-3 */
	uint16_t tpid[3];
	uint16_t tci[3];
	uint16_t ethertype; /* behind the tags; 0: that of the family */

	enum xa_family family;
	uint8_t src[16]; /* GIDs; an IPv4 address is the last four bytes */
	uint8_t dst[16];
	uint8_t version; /* 0: that of the family */
	uint8_t ihl;     /* IPv4 header in words; above 5 the header grows by NOPs */
	uint8_t tos;     /* IPv6: traffic class */
	uint8_t ttl;     /* IPv6: hop limit */
	uint8_t protocol;
	uint16_t id;          /* IPv4 */
	uint16_t frag;        /* IPv4: flags and fragment offset */
	uint16_t ip_csum_xor; /* IPv4: makes the header checksum wrong */
	uint32_t flow;        /* IPv6 flow label */
	uint8_t has_ext;     /* IPv6: 8 bytes of extension header, of type `protocol`, before UDP */
	uint16_t ip_len_add; /* what the length field of the IP header is off by, modulo 2^16 */

	uint16_t sport;
	uint16_t dport;
	uint16_t udp_csum;
	uint16_t udp_len_add; /* what the length field of the UDP header is off by, modulo 2^16 */

	uint8_t opcode;
	uint8_t flags; /* SE, MigReq, PadCnt, TVer */
	uint16_t pkey;
	uint8_t resv8; /* FECN, BECN, 6 reserved bits */
	uint32_t qpn;
	uint8_t ackreq; /* AckReq in bit 7 and 7 reserved bits */
	uint32_t psn;
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
	uint16_t
		body_len; /* bytes from BTH to ICRC: AtomicETH's 28, or less of it, or more behind it */
	uint32_t icrc_xor; /* makes the ICRC wrong */

	uint16_t trailer; /* bytes behind the UDP payload */
};

void packet_init(struct packet *packet, enum xa_family family);

/* Writes the frame, which holds up to PACKET_MAX bytes, and returns its length. */
size_t packet_build(const struct packet *packet, uint8_t *frame);

/* Offset of the IP header: behind Ethernet and as many tags (0x8100, 0x88a8) as there are. */
size_t packet_l3_offset(const uint8_t *frame);

/*
 * ICRC of the bytes from `l3` (IP header without options) to the end of the pad, as a number to be
 * stored least significant byte first (IBA annex A17).
 */
uint32_t packet_icrc(const uint8_t *l3, size_t len);

/* What a responder answers: an ATOMIC_ACKNOWLEDGE, or a NAK (opcode ACKNOWLEDGE). */
struct answer {
	uint8_t opcode;
	uint8_t syndrome;
	uint32_t qpn; /* the requester's */
	uint32_t psn;
	uint32_t msn;
	uint64_t original; /* of an ATOMIC_ACKNOWLEDGE */
};

/* Writes the frame that answers `request`, and returns its length. */
size_t answer_build(const struct answer *answer, const uint8_t *request, uint8_t *frame);

/* Reads a frame that answer_build() could have written; it must hold an AETH. */
void answer_parse(const uint8_t *frame, struct answer *answer);

#endif
