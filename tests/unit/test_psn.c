/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PSN arithmetic: 24 bits, wrap, and both ends of the window of 2^23.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "xatomic/wire.h"

static void test_add_wraps_at_24_bits(void **state)
{
	(void)state;
	assert_int_equal(xa_psn_add(0xfffffe, 1), 0xffffff);
	assert_int_equal(xa_psn_add(0xffffff, 1), 0);
	assert_int_equal(xa_psn_add(0xffffff, 128), 127);
	assert_int_equal(xa_psn_add(5, 0xffffffff), 4);
}

static void test_distance_near_zero(void **state)
{
	(void)state;
	assert_int_equal(xa_psn_diff(7, 7), 0);
	assert_int_equal(xa_psn_diff(8, 7), 1);
	assert_int_equal(xa_psn_diff(7, 8), -1);
	assert_int_equal(xa_psn_diff(0, 0xffffff), 1);
	assert_int_equal(xa_psn_diff(0xffffff, 0), -1);
}

static void test_ends_of_the_window(void **state)
{
	static const uint32_t from[] = {0, 1, 0x7fffff, 0x800000, 0xffffff};

	(void)state;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		assert_int_equal(xa_psn_diff(xa_psn_add(from[i], XA_PSN_WINDOW - 1), from[i]),
				 XA_PSN_WINDOW - 1);
		/* Exactly 2^23 apart is older, from whichever side one looks. */
		assert_int_equal(xa_psn_diff(xa_psn_add(from[i], XA_PSN_WINDOW), from[i]),
				 -(int32_t)XA_PSN_WINDOW);
		assert_int_equal(xa_psn_diff(from[i], xa_psn_add(from[i], XA_PSN_WINDOW)),
				 -(int32_t)XA_PSN_WINDOW);
		assert_int_equal(xa_psn_diff(xa_psn_add(from[i], XA_PSN_WINDOW + 1), from[i]),
				 -(int32_t)XA_PSN_WINDOW + 1);
	}
}

static void test_upper_byte_is_ignored(void **state)
{
	(void)state;
	assert_int_equal(xa_psn_diff(0x80000003, 0x41000001), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_wraps_at_24_bits),
		cmocka_unit_test(test_distance_near_zero),
		cmocka_unit_test(test_ends_of_the_window),
		cmocka_unit_test(test_upper_byte_is_ignored),
	};

	return cmocka_run_group_tests_name("psn", tests, NULL, NULL);
}
