/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester's frames: requests as the vectors have them, and responses of which nothing but a whole,
 * right and fitting one gets through.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/icrc.h"
#include "requester/frame.h"
#include "vectors.h"
#include "xatomic/wire.h"

enum { ETH_LEN = 14, TRAILER = 4 };

static const uint8_t own_mac[] = {2, 0, 0, 0, 0, 1}, peer_mac[] = {2, 0, 0, 0, 0, 2};

static struct xa_path make_path(enum xa_family family)
{
	struct xa_path path = {.lqpn = 0x2f, .rqpn = 0x11, .pkey = 0xffff};

	memcpy(path.smac, own_mac, sizeof(own_mac));
	memcpy(path.dmac, peer_mac, sizeof(peer_mac));
	assert_true(xa_ip_parse(&path.local, family == XA_IPV4 ? "10.0.0.1" : "fd00::1"));
	assert_true(xa_ip_parse(&path.peer, family == XA_IPV4 ? "10.0.0.2" : "fd00::2"));
	return path;
}

static const char *name_of(const char *what, enum xa_family family)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s over IPv%d", what, family == XA_IPV4 ? 4 : 6);
	return name;
}

/* The IP packet of a vector. Returns its length. */
static size_t read_vector(const char *name, uint8_t *packet)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		size_t len = strlen(vectors[i].hex) / 2;
		unsigned int byte;

		if (strcmp(vectors[i].name, name))
			continue;
		for (size_t at = 0; at < len; at++) {
			assert_int_equal(sscanf(vectors[i].hex + 2 * at, "%2x", &byte), 1);
			packet[at] = byte;
		}
		return len;
	}
	fail_msg("no vector %s", name);
	return 0;
}

/* A vector as a frame to us. Returns its length. */
static size_t read_frame(const char *what, enum xa_family family, uint8_t *frame)
{
	memcpy(frame, own_mac, sizeof(own_mac));
	memcpy(frame + 6, peer_mac, sizeof(peer_mac));
	memcpy(frame + 12, family == XA_IPV4 ? "\x08\x00" : "\x86\xdd", 2);
	return ETH_LEN + read_vector(name_of(what, family), frame + ETH_LEN);
}

/* Makes the ICRC of a frame right again after a change. */
static void fix_icrc(uint8_t *frame, size_t len)
{
	size_t l3_len = frame[ETH_LEN] >> 4 == 4 ? 28 : 48;
	uint32_t icrc = xa_icrc(frame + ETH_LEN, frame + ETH_LEN + l3_len,
				len - ETH_LEN - l3_len - XA_ICRC_LEN);

	for (int i = 0; i < XA_ICRC_LEN; i++)
		frame[len - XA_ICRC_LEN + i] = icrc >> 8 * i;
}

static bool parses(enum xa_family family, const uint8_t *frame, size_t len)
{
	struct xa_path path = make_path(family);
	struct xa_response response;

	return xa_frame_parse(&path, frame, len, &response);
}

/* Bytes that are the requester's to choose are put into the vector before it is compared. */
static void check_request(const char *what, enum xa_family family, const struct xa_request *request)
{
	struct xa_path path = make_path(family);
	struct xa_template template;
	uint8_t frame[XA_FRAME_MAX], wanted[XA_FRAME_MAX];
	size_t len = read_frame(what, family, wanted), udp = family == XA_IPV4 ? 34 : 54;

	memcpy(wanted, peer_mac, 6);
	memcpy(wanted + 6, own_mac, 6);
	xa_template_init(&template, &path);
	xa_frame_build(&template, request, frame);
	assert_int_equal(template.len, len);
	memcpy(wanted + udp, frame + udp, 2);
	if (family == XA_IPV4) {
		memcpy(wanted + ETH_LEN + 4, frame + ETH_LEN + 4, 2);
		memcpy(wanted + ETH_LEN + 10, frame + ETH_LEN + 10, 2);
	}
	fix_icrc(wanted, len);
	assert_memory_equal(frame, wanted, len);
}

static void test_requests_are_the_vectors(void **state)
{
	const struct xa_request add = {.opcode = XA_OP_FETCH_ADD,
				       .psn = 0xfe,
				       .va = 0x100000008,
				       .rkey = 0x1234ab,
				       .swap_add = 5};
	const struct xa_request swap = {.opcode = XA_OP_CMP_SWAP,
					.psn = 0xffffff,
					.va = 0x100000010,
					.rkey = 0x1234ab,
					.swap_add = 0x1122334455667788};

	(void)state;
	for (int family = XA_IPV4; family <= XA_IPV6; family++) {
		check_request("FETCH_ADD", family, &add);
		check_request("CMP_SWAP", family, &swap);
	}
}

static uint16_t checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void test_ipv4_header_is_right_for_every_psn(void **state)
{
	struct xa_path path = make_path(XA_IPV4);
	struct xa_request request = {.opcode = XA_OP_FETCH_ADD};
	struct xa_template template;
	uint8_t frame[XA_FRAME_MAX];

	(void)state;
	xa_template_init(&template, &path);
	for (request.psn = 0xff0000; request.psn <= XA_PSN_MASK; request.psn += 7) {
		xa_frame_build(&template, &request, frame);
		assert_int_equal(checksum(frame + ETH_LEN), 0xffff);
	}
	assert_int_equal(frame[ETH_LEN + 6], 0x40); /* DF */
	assert_int_equal(frame[ETH_LEN + 8], 64);
}

static void test_vlan_tags(void **state)
{
	struct xa_path path = make_path(XA_IPV4);
	struct xa_request request = {.opcode = XA_OP_FETCH_ADD};
	struct xa_template plain, tagged;
	uint8_t frame[XA_FRAME_MAX], wanted[XA_FRAME_MAX];
	static const uint8_t tags[] = {0x88, 0xa8, 0x00, 0x07, 0x81, 0x00, 0x20, 0x64};

	(void)state;
	xa_template_init(&plain, &path);
	path.vlans = 2;
	path.vlan_tpid[0] = 0x88a8;
	path.vlan_tci[0] = 7;
	path.vlan_tpid[1] = 0x8100;
	path.vlan_tci[1] = 0x2064;
	xa_template_init(&tagged, &path);
	xa_frame_build(&plain, &request, wanted);
	xa_frame_build(&tagged, &request, frame);
	assert_int_equal(tagged.len, plain.len + sizeof(tags));
	assert_memory_equal(frame, wanted, 12);
	assert_memory_equal(frame + 12, tags, sizeof(tags));
	assert_memory_equal(frame + 12 + sizeof(tags), wanted + 12, plain.len - 12);
}

static void test_source_port_is_symmetric_and_in_range(void **state)
{
	static const uint32_t qpns[] = {2, 3, 0x11, 0x2f, 0x1234, 0x7fffff, 0xabcdef, 0xfffffe};

	(void)state;
	for (size_t i = 0; i < sizeof(qpns) / sizeof(qpns[0]); i++)
		for (size_t j = 0; j < sizeof(qpns) / sizeof(qpns[0]); j++) {
			assert_in_range(xa_udp_sport(qpns[i], qpns[j]), 0xc000, 0xffff);
			assert_int_equal(xa_udp_sport(qpns[i], qpns[j]),
					 xa_udp_sport(qpns[j], qpns[i]));
		}
	assert_int_equal(xa_udp_sport(0x11, 0x2f), 0xc000 | 0x11 * 0x2f);
	/* The product 0xc379a59ba4a, folded by 20 and 40 bits, ends in 0xac3e3; its upper 6 bits are 0x2b. */
	assert_int_equal(xa_udp_sport(0xabcdef, 0x123456), 0xc000 | (0x03e3 ^ 0x2b));
}

static void test_atomic_acknowledge_is_read(void **state)
{
	uint8_t frame[XA_FRAME_MAX];
	struct xa_response response;

	(void)state;
	for (int family = XA_IPV4; family <= XA_IPV6; family++) {
		struct xa_path path = make_path(family);
		size_t len = read_frame("ATOMIC_ACK", family, frame);

		assert_true(xa_frame_parse(&path, frame, len, &response));
		assert_int_equal(response.opcode, XA_OP_ATOMIC_ACKNOWLEDGE);
		assert_int_equal(response.psn, 0xfe);
		assert_int_equal(response.syndrome, XA_SYN_ACK_UNLIMITED);
		assert_int_equal(response.original, 0x29);
	}
}

static void test_nak_is_read(void **state)
{
	uint8_t frame[XA_FRAME_MAX];
	struct xa_response response;

	(void)state;
	for (int family = XA_IPV4; family <= XA_IPV6; family++) {
		struct xa_path path = make_path(family);
		size_t len = read_frame("NAK_REMOTE_ACCESS", family, frame);

		assert_true(xa_frame_parse(&path, frame, len, &response));
		assert_int_equal(response.opcode, XA_OP_ACKNOWLEDGE);
		assert_int_equal(response.syndrome, XA_SYN_NAK_REM_ACCESS);
		assert_int_equal(response.psn, 0xfe);
		assert_int_equal(response.original, 0);
	}
}

static void test_other_operations_are_dropped(void **state)
{
	static const char *const names[] = {"FETCH_ADD", "CMP_SWAP", "READ_REQUEST",
					    "READ_RESPONSE_ONLY", "ATOMIC_WRITE"};
	uint8_t frame[XA_FRAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(parses(XA_IPV4, frame, read_frame(names[i], XA_IPV4, frame)));
}

/* ASan watches that nothing behind the cut is read. */
static void test_every_truncation_is_dropped(void **state)
{
	static const char *const names[] = {"ATOMIC_ACK", "NAK_REMOTE_ACCESS"};
	uint8_t frame[XA_FRAME_MAX];

	(void)state;
	for (int family = XA_IPV4; family <= XA_IPV6; family++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			size_t len = read_frame(names[i], family, frame);

			for (size_t cut = 0; cut < len; cut++) {
				uint8_t exact[cut + 1];

				memcpy(exact, frame, cut);
				assert_false(parses(family, exact, cut));
			}
		}
}

/* Bits that may change on the way, or that say nothing to a requester: the reading stays the same. */
static bool may_flip(enum xa_family family, size_t bit)
{
	size_t at = bit / 8, l3 = ETH_LEN, udp = family == XA_IPV4 ? 34 : 54;

	if (at >= 6 && at < 12) /* source MAC */
		return true;
	if (family == XA_IPV6 && at == l3)
		return (1 << bit % 8) & 0x0f;
	if (family == XA_IPV6 && (at == l3 + 1 || at == l3 + 2 || at == l3 + 3 || at == l3 + 7))
		return true;
	return at == udp + 6 || at == udp + 7 || at == udp + 8 + 4;
}

static void check_flips(const char *what, enum xa_family family)
{
	struct xa_path path = make_path(family);
	struct xa_response before, after;
	uint8_t frame[XA_FRAME_MAX];
	size_t len = read_frame(what, family, frame);

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	assert_true(xa_frame_parse(&path, frame, len, &before));
	for (size_t bit = 0; bit < 8 * len; bit++) {
		bool read;

		frame[bit / 8] ^= 1 << bit % 8;
		read = xa_frame_parse(&path, frame, len, &after);
		if (read != may_flip(family, bit))
			fail_msg("%s: bit %zu", name_of(what, family), bit);
		if (read)
			assert_memory_equal(&before, &after, sizeof(before));
		frame[bit / 8] ^= 1 << bit % 8;
	}
}

static void test_every_single_bit_flip(void **state)
{
	(void)state;
	for (int family = XA_IPV4; family <= XA_IPV6; family++) {
		check_flips("ATOMIC_ACK", family);
		check_flips("NAK_REMOTE_ACCESS", family);
	}
}

/* One byte of an ATOMIC_ACK over IPv4 with the ICRC right again: checks that the ICRC does not make. */
static void test_checks_besides_the_icrc(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t value;
		bool accepted;
	} rows[] = {
		{"identification changed, header checksum not", ETH_LEN + 5, 1, false},
		{"UDP source port is free", 35, 1, true},
		{"another UDP destination port", 37, 0xb8, false},
		{"MigReq is free", 43, 0x40, true},
		{"solicited event is free", 43, 0x80, true},
		{"PadCnt 1", 43, 0x10, false},
		{"TVer 1", 43, 1, false},
		{"P_Key of a limited member", 44, 0x7f, true},
		{"P_Key of another partition", 45, 0xfe, false},
		{"another QPN", 49, 0x2e, false},
		{"AckReq is free", 50, 0x80, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t frame[XA_FRAME_MAX];
		size_t len = read_frame("ATOMIC_ACK", XA_IPV4, frame);

		frame[rows[i].at] = rows[i].value;
		fix_icrc(frame, len);
		if (parses(XA_IPV4, frame, len) != rows[i].accepted)
			fail_msg("%s", rows[i].what);
	}
}

/* With a right header checksum, so that it is the fragment that is refused. */
static void test_fragments_are_dropped(void **state)
{
	static const struct {
		uint8_t flags, offset;
		bool accepted;
	} rows[] = {{0x40, 0, true},  {0, 0, true},  {0x80, 0, true},
		    {0x20, 0, false}, {0, 1, false}, {0x1f, 0, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t frame[XA_FRAME_MAX], *ip = frame + ETH_LEN;
		size_t len = read_frame("ATOMIC_ACK", XA_IPV4, frame);
		uint16_t sum;

		ip[6] = rows[i].flags;
		ip[7] = rows[i].offset;
		ip[10] = ip[11] = 0;
		sum = ~checksum(ip);
		ip[10] = sum >> 8;
		ip[11] = sum;
		fix_icrc(frame, len);
		assert_int_equal(parses(XA_IPV4, frame, len), rows[i].accepted);
	}
}

static void test_two_limited_members_do_not_talk(void **state)
{
	struct xa_path path = make_path(XA_IPV4);
	struct xa_response response;
	uint8_t frame[XA_FRAME_MAX];
	size_t len = read_frame("ATOMIC_ACK", XA_IPV4, frame);

	(void)state;
	path.pkey = 0x7fff;
	assert_true(xa_frame_parse(&path, frame, len, &response));
	frame[44] = 0x7f;
	fix_icrc(frame, len);
	assert_false(xa_frame_parse(&path, frame, len, &response));
}

static void test_wrong_addresses_are_dropped(void **state)
{
	uint8_t frame[XA_FRAME_MAX];

	(void)state;
	for (int family = XA_IPV4; family <= XA_IPV6; family++) {
		size_t len = read_frame("ATOMIC_ACK", family, frame);
		struct xa_path path = make_path(family);
		struct xa_response response;

		path.peer.gid[XA_GID_V4_WORD] ^= 1;
		assert_false(xa_frame_parse(&path, frame, len, &response));
		path = make_path(family);
		path.local.gid[XA_GID_V4_WORD] ^= 1;
		assert_false(xa_frame_parse(&path, frame, len, &response));
		path = make_path(!family);
		assert_false(xa_frame_parse(&path, frame, len, &response));
	}
}

static void test_trailer_is_not_read(void **state)
{
	uint8_t frame[XA_FRAME_MAX];

	(void)state;
	for (int family = XA_IPV4; family <= XA_IPV6; family++) {
		size_t len = read_frame("NAK_SEQUENCE", family, frame);

		memset(frame + len, 0xa5, TRAILER);
		assert_true(parses(family, frame, len + TRAILER));
	}
}

static void test_tagged_responses(void **state)
{
	uint8_t frame[XA_FRAME_MAX], tagged[XA_FRAME_MAX];
	size_t len = read_frame("ATOMIC_ACK", XA_IPV4, frame);

	(void)state;
	for (int tags = 1; tags <= 3; tags++) {
		memcpy(tagged, frame, 12);
		for (int i = 0; i < tags; i++)
			memcpy(tagged + 12 + 4 * i, i ? "\x81\x00\x00\x64" : "\x88\xa8\x00\x07", 4);
		memcpy(tagged + 12 + 4 * tags, frame + 12, len - 12);
		assert_int_equal(parses(XA_IPV4, tagged, len + 4 * tags), tags <= 2);
	}
}

/* UDP and IP lengths that agree with each other but not with the opcode, the ICRC right at their end. */
static void test_lengths_must_fit_the_opcode(void **state)
{
	(void)state;
	for (int extra = -8; extra <= 8; extra += 4) {
		uint8_t frame[XA_FRAME_MAX] = {0};
		size_t len = read_frame("ATOMIC_ACK", XA_IPV6, frame) + extra;

		frame[ETH_LEN + 5] += extra;
		frame[ETH_LEN + 40 + 5] += extra;
		fix_icrc(frame, len);
		assert_int_equal(parses(XA_IPV6, frame, len), extra == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_are_the_vectors),
		cmocka_unit_test(test_ipv4_header_is_right_for_every_psn),
		cmocka_unit_test(test_vlan_tags),
		cmocka_unit_test(test_source_port_is_symmetric_and_in_range),
		cmocka_unit_test(test_atomic_acknowledge_is_read),
		cmocka_unit_test(test_nak_is_read),
		cmocka_unit_test(test_other_operations_are_dropped),
		cmocka_unit_test(test_every_truncation_is_dropped),
		cmocka_unit_test(test_every_single_bit_flip),
		cmocka_unit_test(test_checks_besides_the_icrc),
		cmocka_unit_test(test_fragments_are_dropped),
		cmocka_unit_test(test_two_limited_members_do_not_talk),
		cmocka_unit_test(test_wrong_addresses_are_dropped),
		cmocka_unit_test(test_trailer_is_not_read),
		cmocka_unit_test(test_tagged_responses),
		cmocka_unit_test(test_lengths_must_fit_the_opcode),
	};

	return cmocka_run_group_tests_name("requester frames", tests, NULL, NULL);
}
