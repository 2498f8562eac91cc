/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ICRC: vectors, plain zlib over a copy masked here, which bytes are protected, and the prefix
 * registers that the BPF program works with.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "lib/crc.h"
#include "lib/icrc.h"
#include "vectors.h"
#include "xatomic/wire.h"

enum { PACKET_MAX = 256, UDP_LEN = 8 };

struct packet {
	uint8_t bytes[PACKET_MAX];
	size_t len, ip_len, l3_len; /* whole; IP header; IP and UDP headers */
};

static struct packet from_hex(const char *hex)
{
	struct packet packet = {.len = strlen(hex) / 2};
	unsigned int byte;

	for (size_t i = 0; i < packet.len; i++) {
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		packet.bytes[i] = byte;
	}
	packet.ip_len = packet.bytes[0] >> 4 == 4 ? 20 : 40;
	packet.l3_len = packet.ip_len + UDP_LEN;
	return packet;
}

static uint32_t icrc_of(const struct packet *packet)
{
	return xa_icrc(packet->bytes, packet->bytes + packet->l3_len,
		       packet->len - packet->l3_len - XA_ICRC_LEN);
}

static uint32_t icrc_in(const struct packet *packet)
{
	const uint8_t *p = packet->bytes + packet->len - XA_ICRC_LEN;

	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Which bits of the byte at `at` may change on the way and are therefore counted as ones? */
static uint8_t mask_at(const struct packet *packet, size_t at)
{
	size_t udp = packet->ip_len;

	if (packet->ip_len == 20 && (at == 1 || at == 8 || at == 10 || at == 11))
		return 0xff;
	if (packet->ip_len == 40 && (at == 1 || at == 2 || at == 3 || at == 7))
		return 0xff;
	if (packet->ip_len == 40 && at == 0)
		return 0x0f;
	return at == udp + 6 || at == udp + 7 || at == packet->l3_len + 4 ? 0xff : 0;
}

static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct packet packet = from_hex(vectors[i].hex);

		if (icrc_of(&packet) != icrc_in(&packet))
			fail_msg("%s: %08x", vectors[i].name, icrc_of(&packet));
	}
}

static void test_against_zlib(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct packet packet = from_hex(vectors[i].hex);
		uint8_t masked[8 + PACKET_MAX];

		memset(masked, 0xff, 8);
		for (size_t at = 0; at < packet.len; at++)
			masked[8 + at] = packet.bytes[at] | mask_at(&packet, at);
		assert_int_equal(icrc_of(&packet), crc32(0, masked, 8 + packet.len - XA_ICRC_LEN));
	}
}

/* Every bit of every vector: a flip changes the ICRC exactly if the bit is protected. */
static void test_protected_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct packet packet = from_hex(vectors[i].hex);
		uint32_t icrc = icrc_of(&packet);

		for (size_t bit = 0; bit < 8 * (packet.len - XA_ICRC_LEN); bit++) {
			uint8_t flip = 1 << bit % 8;

			/* The version says which header it is; another one is another packet. */
			if (bit < 8 && flip & 0xf0)
				continue;
			packet.bytes[bit / 8] ^= flip;
			if ((icrc_of(&packet) == icrc) != !!(mask_at(&packet, bit / 8) & flip))
				fail_msg("%s: bit %zu", vectors[i].name, bit);
			packet.bytes[bit / 8] ^= flip;
		}
	}
}

static uint32_t step(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int i = 0; i < 8; i++)
		crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	return crc;
}

static const char *const addresses[][2] = {
	{"::ffff:10.0.0.1", "::ffff:10.0.0.2"},
	{"fd00::1", "fd00::2"},
};

static struct xa_qp make_qp(int family)
{
	struct xa_qp qp = {.family = family, .qpn = 0x11, .rqpn = 0x2f};

	assert_int_equal(inet_pton(AF_INET6, addresses[family][0], qp.peer), 1);
	assert_int_equal(inet_pton(AF_INET6, addresses[family][1], qp.local), 1);
	xa_icrc_prefixes(&qp);
	return qp;
}

static struct packet find_vector(const char *what, int family)
{
	char name[64];

	snprintf(name, sizeof(name), "%s over IPv%d", what, family == XA_IPV4 ? 4 : 6);
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		if (!strcmp(vectors[i].name, name))
			return from_hex(vectors[i].hex);
	fail_msg("no vector %s", name);
	return (struct packet){0};
}

/*
 * The register after the prefix, with what the fields that it leaves out contribute: each byte alone, sent
 * through as many zeros as bytes follow it up to BTH's last word.
 */
static uint32_t complete(uint32_t prefix, const struct packet *packet, const size_t *at, size_t n)
{
	size_t end = packet->l3_len + offsetof(struct xa_bth, apsn);

	for (size_t i = 0; i < n; i++) {
		uint32_t part = step(0, packet->bytes[at[i]]);

		for (size_t zeros = end - at[i] - 1; zeros; zeros--)
			part = step(part, 0);
		prefix ^= part;
	}
	return prefix;
}

static void check_prefix(uint32_t prefix, const struct packet *packet, const size_t *at, size_t n)
{
	uint32_t crc = complete(prefix, packet, at, n);

	for (size_t i = packet->l3_len + offsetof(struct xa_bth, apsn);
	     i < packet->len - XA_ICRC_LEN; i++)
		crc = step(crc, packet->bytes[i]);
	assert_int_equal(~crc, icrc_in(packet));
}

static void check_prefixes(int family)
{
	struct xa_qp qp = make_qp(family);
	struct packet add = find_vector("FETCH_ADD", family);
	struct packet swap = find_vector("CMP_SWAP", family);
	struct packet ack = find_vector("ATOMIC_ACK", family);
	struct packet nak = find_vector("NAK_REMOTE_ACCESS", family);
	size_t bth = add.l3_len, sport = add.ip_len;
	/* Identification, flags and offset (IPv4), source port; BTH flags; opcode, upper P_Key byte. */
	size_t at[] = {bth, bth + 2, bth + 1, sport, sport + 1, 4, 5, 6, 7};
	size_t ip_fields = family == XA_IPV4 ? 4 : 0;

	check_prefix(qp.request_crc, &add, at, 5 + ip_fields);
	check_prefix(qp.request_crc, &swap, at, 5 + ip_fields);
	check_prefix(qp.ack_crc, &ack, at + 2, 3 + ip_fields);
	check_prefix(qp.nak_crc, &nak, at + 2, 3 + ip_fields);
}

static void test_prefixes_over_ipv4(void **state)
{
	(void)state;
	check_prefixes(XA_IPV4);
}

static void test_prefixes_over_ipv6(void **state)
{
	(void)state;
	check_prefixes(XA_IPV6);
}

/* The requester's own CRC against zlib's, at every length that a packet may have and at every alignment. */
static void test_crc_is_that_of_zlib(void **state)
{
	uint8_t bytes[160];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 167 + 13;
	for (size_t from = 0; from < 16; from++)
		for (size_t len = 0; len <= sizeof(bytes) - from; len++)
			assert_int_equal((uint32_t)~xa_crc(UINT32_MAX, bytes + from, len),
					 crc32(0, bytes + from, len));
	memset(bytes, 0xff, 8);
	assert_int_equal(xa_crc(UINT32_MAX, bytes, 8), XA_CRC_ONES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_against_zlib),
		cmocka_unit_test(test_protected_bits),
		cmocka_unit_test(test_prefixes_over_ipv4),
		cmocka_unit_test(test_prefixes_over_ipv6),
		cmocka_unit_test(test_crc_is_that_of_zlib),
	};

	return cmocka_run_group_tests_name("icrc", tests, NULL, NULL);
}
