/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures of wire.h lie where the IBA headers do: offsets counted from BTH, fields found in a
 * packet whose bytes are given.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "xatomic/wire.h"

#define AT(header, type, field) ((header) + offsetof(struct type, field))

enum { EXT = 12, AFTER_AETH = 16 };

static void test_bth_offsets(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct xa_bth, opcode), 0);
	assert_int_equal(offsetof(struct xa_bth, flags), 1);
	assert_int_equal(offsetof(struct xa_bth, pkey), 2);
	assert_int_equal(offsetof(struct xa_bth, qpn), 4);
	assert_int_equal(offsetof(struct xa_bth, apsn), 8);
	assert_int_equal(sizeof(struct xa_bth), EXT);
}

static void test_extended_header_offsets(void **state)
{
	(void)state;
	assert_int_equal(AT(EXT, xa_aeth, smsn), 12);
	assert_int_equal(EXT + sizeof(struct xa_aeth), AFTER_AETH);
	assert_int_equal(AT(AFTER_AETH, xa_atmack, original), 16);
	assert_int_equal(AT(EXT, xa_atmeth, va), 12);
	assert_int_equal(AT(EXT, xa_atmeth, rkey), 20);
	assert_int_equal(AT(EXT, xa_atmeth, swap_add), 24);
	assert_int_equal(AT(EXT, xa_atmeth, compare), 32);
	assert_int_equal(AT(EXT, xa_reth, va), 12);
	assert_int_equal(AT(EXT, xa_reth, rkey), 20);
	assert_int_equal(AT(EXT, xa_reth, length), 24);
}

static void test_packet_lengths(void **state)
{
	(void)state;
	assert_int_equal(XA_ATOMIC_LEN, 44);
	assert_int_equal(XA_ATOMIC_ACK_LEN, 28);
	assert_int_equal(XA_NAK_LEN, 20);
	assert_int_equal(sizeof(struct xa_bth) + sizeof(struct xa_reth) + XA_ICRC_LEN, 32);
	assert_int_equal(sizeof(struct xa_aeth), 4);
	assert_int_equal(sizeof(struct xa_atmack), 8);
	assert_int_equal(sizeof(struct xa_atmeth), 28);
}

/* Masks pick the bits that the header diagram shows, most significant bit first. */
static void test_bth_bits(void **state)
{
	const uint8_t flags = 0x80 | 0x40 | 2 << 4 | 5;

	(void)state;
	assert_int_equal(flags & XA_BTH_SE, 0x80);
	assert_int_equal(flags & XA_BTH_MIGREQ, 0x40);
	assert_int_equal(XA_BTH_PAD(flags), 2);
	assert_int_equal(flags & XA_BTH_TVER, 5);
	assert_int_equal(XA_BTH_ACKREQ, 1u << 31);
}

static void test_opcodes_and_syndromes(void **state)
{
	(void)state;
	assert_int_equal(XA_OP_READ_REQUEST, 0x0c);
	assert_int_equal(XA_OP_ACKNOWLEDGE, 0x11);
	assert_int_equal(XA_OP_ATOMIC_ACKNOWLEDGE, 0x12);
	assert_int_equal(XA_OP_CMP_SWAP, 0x13);
	assert_int_equal(XA_OP_FETCH_ADD, 0x14);
	assert_int_equal(XA_OP_ATOMIC_WRITE, 0x1d);
	assert_int_equal(XA_OP_CNP, 0x81);
	assert_int_equal(XA_SYN_NAK_SEQUENCE, 0x60);
	assert_int_equal(XA_SYN_NAK_INV_REQ, 0x61);
	assert_int_equal(XA_SYN_NAK_REM_ACCESS, 0x62);
	assert_int_equal(XA_SYN_NAK_REM_OP, 0x63);
	assert_int_equal(XA_ROCE_PORT, 0x12b7);
}

/* A COMPARE_SWAP as it is on the wire, every field with a value of its own. */
static const uint8_t cmp_swap[] = {
	0x13, 0x40, 0xff, 0xfe, 0x00, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef, 0x01, 0x02,
	0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24,
	0x25, 0x26, 0x27, 0x28, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
};

static void test_fields_are_big_endian(void **state)
{
	struct xa_bth bth;
	struct xa_atmeth atmeth;

	(void)state;
	memcpy(&bth, cmp_swap, sizeof(bth));
	memcpy(&atmeth, cmp_swap + sizeof(bth), sizeof(atmeth));
	assert_int_equal(bth.opcode, XA_OP_CMP_SWAP);
	assert_int_equal(be16toh(bth.pkey), 0xfffe);
	assert_int_equal(be32toh(bth.qpn) & XA_QPN_MASK, 0x123456);
	assert_int_equal(be32toh(bth.apsn) & XA_PSN_MASK, 0xabcdef);
	assert_true(be32toh(bth.apsn) & XA_BTH_ACKREQ);
	assert_int_equal(be64toh(atmeth.va), 0x0102030405060708);
	assert_int_equal(be32toh(atmeth.rkey), 0x11121314);
	assert_int_equal(be64toh(atmeth.swap_add), 0x2122232425262728);
	assert_int_equal(be64toh(atmeth.compare), 0x3132333435363738);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bth_offsets),
		cmocka_unit_test(test_extended_header_offsets),
		cmocka_unit_test(test_packet_lengths),
		cmocka_unit_test(test_bth_bits),
		cmocka_unit_test(test_opcodes_and_syndromes),
		cmocka_unit_test(test_fields_are_big_endian),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
