// SPDX-License-Identifier: BSD-2-Clause
/*
 * decode.c - a RoCEv2 packet in words.
 */
#include <stdbool.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>

#include "decode.h"
#include "lib/icrc.h"
#include "xatomic/wire.h"

#define UDP_LEN 8

static const char *const opcode_names[256] = {
	[XA_OP_SEND_FIRST] = "SEND_FIRST",
	[XA_OP_SEND_MIDDLE] = "SEND_MIDDLE",
	[XA_OP_SEND_LAST] = "SEND_LAST",
	[XA_OP_SEND_LAST_IMM] = "SEND_LAST_IMM",
	[XA_OP_SEND_ONLY] = "SEND_ONLY",
	[XA_OP_SEND_ONLY_IMM] = "SEND_ONLY_IMM",
	[XA_OP_WRITE_FIRST] = "RDMA_WRITE_FIRST",
	[XA_OP_WRITE_MIDDLE] = "RDMA_WRITE_MIDDLE",
	[XA_OP_WRITE_LAST] = "RDMA_WRITE_LAST",
	[XA_OP_WRITE_LAST_IMM] = "RDMA_WRITE_LAST_IMM",
	[XA_OP_WRITE_ONLY] = "RDMA_WRITE_ONLY",
	[XA_OP_WRITE_ONLY_IMM] = "RDMA_WRITE_ONLY_IMM",
	[XA_OP_READ_REQUEST] = "RDMA_READ_REQUEST",
	[XA_OP_READ_RESPONSE_ONLY] = "RDMA_READ_RESPONSE_ONLY",
	[XA_OP_ACKNOWLEDGE] = "ACKNOWLEDGE",
	[XA_OP_ATOMIC_ACKNOWLEDGE] = "ATOMIC_ACKNOWLEDGE",
	[XA_OP_CMP_SWAP] = "COMPARE_SWAP",
	[XA_OP_FETCH_ADD] = "FETCH_ADD",
	[XA_OP_ATOMIC_WRITE] = "ATOMIC_WRITE",
	[XA_OP_UD_SEND_ONLY] = "UD_SEND_ONLY",
	[XA_OP_CNP] = "CNP",
};

static const char *opcode_name(uint8_t opcode)
{
	static char number[16];

	if (opcode_names[opcode])
		return opcode_names[opcode];
	snprintf(number, sizeof(number), "opcode 0x%02x", opcode);
	return number;
}

static const char *syndrome_text(uint8_t syndrome)
{
	switch (syndrome) {
	case XA_SYN_NAK_SEQUENCE:
		return "NAK 0x60 (PSN sequence error)";
	case XA_SYN_NAK_INV_REQ:
		return "NAK 0x61 (invalid request)";
	case XA_SYN_NAK_REM_ACCESS:
		return "NAK 0x62 (remote access error)";
	case XA_SYN_NAK_REM_OP:
		return "NAK 0x63 (remote operational error)";
	default:
		return syndrome & XA_SYN_TYPE_MASK ? "NAK" : "ACK";
	}
}

/* The layer 3 header; its length in *l3_len. */
static const uint8_t *find_l3(const struct wiretap_record *r, size_t *l3_len)
{
	const uint8_t *type = r->frame + 2 * ETH_ALEN;

	while ((type[0] << 8 | type[1]) == ETH_P_8021Q || (type[0] << 8 | type[1]) == ETH_P_8021AD)
		type += 4;
	*l3_len = type[2] >> 4 == 4 ? 20 : 40;
	return type + 2;
}

static void print_atmeth(uint8_t opcode, const uint8_t *at)
{
	struct xa_atmeth a;

	memcpy(&a, at, sizeof(a));
	printf("  va 0x%" PRIx64 " rkey 0x%" PRIx32, (uint64_t)be64toh(a.va), ntohl(a.rkey));
	if (opcode == XA_OP_FETCH_ADD)
		printf("  add %" PRIu64, (uint64_t)be64toh(a.swap_add));
	else
		printf("  compare %" PRIu64 " swap %" PRIu64, (uint64_t)be64toh(a.compare),
		       (uint64_t)be64toh(a.swap_add));
}

static void print_aeth(uint8_t opcode, const uint8_t *at)
{
	struct xa_aeth aeth;
	struct xa_atmack ack;
	uint32_t smsn;

	memcpy(&aeth, at, sizeof(aeth));
	smsn = ntohl(aeth.smsn);
	printf("  msn %" PRIu32, smsn & XA_PSN_MASK);
	if (opcode == XA_OP_ACKNOWLEDGE) {
		printf("  %s", syndrome_text(smsn >> 24));
		return;
	}
	memcpy(&ack, at + sizeof(aeth), sizeof(ack));
	printf("  original %" PRIu64, (uint64_t)be64toh(ack.original));
}

/* The record holds the front of a datagram only. */
static void print_mad(const uint8_t *mad)
{
	static const char *const names[] = {"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP"};
	enum { FIRST = 0x10, ATTRIBUTE = 16 };
	unsigned int attribute = mad[ATTRIBUTE] << 8 | mad[ATTRIBUTE + 1];

	if (attribute >= FIRST && attribute < FIRST + sizeof(names) / sizeof(names[0]))
		printf("  CM %s", names[attribute - FIRST]);
	else
		printf("  attribute 0x%x", attribute);
}

/* The headers behind BTH and the ICRC, as far as the UDP length and the record have them. */
static void print_payload(const uint8_t *l3, const uint8_t *bth, size_t roce_len)
{
	uint8_t opcode = bth[0], icrc[XA_ICRC_LEN];
	__le32 crc = htole32(xa_icrc(l3, bth, roce_len - XA_ICRC_LEN));

	if ((opcode == XA_OP_CMP_SWAP || opcode == XA_OP_FETCH_ADD) && roce_len == XA_ATOMIC_LEN)
		print_atmeth(opcode, bth + sizeof(struct xa_bth));
	if ((opcode == XA_OP_ACKNOWLEDGE && roce_len == XA_NAK_LEN) ||
	    (opcode == XA_OP_ATOMIC_ACKNOWLEDGE && roce_len == XA_ATOMIC_ACK_LEN))
		print_aeth(opcode, bth + sizeof(struct xa_bth));
	memcpy(icrc, bth + roce_len - XA_ICRC_LEN, sizeof(icrc));
	if (memcmp(icrc, &crc, sizeof(icrc)))
		printf("  ICRC WRONG");
}

/* The record is of a packet in which the BPF program has found a BTH, so that much is there. */
void decode_print(const struct wiretap_record *r)
{
	size_t l3_len, roce_len;
	const uint8_t *l3 = find_l3(r, &l3_len);
	const uint8_t *udp = l3 + l3_len, *roce = udp + UDP_LEN;
	struct xa_bth bth;

	memcpy(&bth, roce, sizeof(bth));
	roce_len = (udp[4] << 8 | udp[5]) - UDP_LEN;
	printf("%-18s  psn %" PRIu32, opcode_name(bth.opcode), ntohl(bth.apsn) & XA_PSN_MASK);
	if (bth.opcode == XA_OP_UD_SEND_ONLY && roce_len == XA_GSI_LEN)
		print_mad(roce + sizeof(bth) + sizeof(struct xa_deth));
	if (roce_len >= XA_MIN_LEN && roce + roce_len <= r->frame + WIRETAP_SNAP)
		print_payload(l3, roce, roce_len);
}

int decode_opcode(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 0);

	if (end != text && !*end)
		return number < 256 ? (int)number : -1;
	for (int i = 0; i < 256; i++)
		if (opcode_names[i] && !strcmp(opcode_names[i], text))
			return i;
	return -1;
}
