/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QPNs and rkeys: no number comes back within 255 uses of its index, none is a reserved one, none can be
 * foretold. Also the small arithmetic of the control plane.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/attach.h"
#include "lib/identity.h"
#include "lib/name.h"
#include "xatomic/wire.h"

enum { USES = 1000, NO_RETURN = 255 };

static uint32_t qpns[USES], rkeys[USES];

static void assert_no_return(const uint32_t *numbers)
{
	for (int i = 0; i < USES; i++)
		for (int j = i + 1; j < i + NO_RETURN && j < USES; j++)
			assert_int_not_equal(numbers[i], numbers[j]);
}

static void try_index(uint32_t index, uint32_t max_qps)
{
	struct xa_qp qp = {0};

	for (int i = 0; i < USES; i++) {
		xa_next_qpn(&qp, index, max_qps);
		assert_int_equal(qp.qpn & (max_qps - 1), index);
		assert_in_range(qp.qpn, 2, XA_QPN_MULTICAST - 1);
		assert_true(qp.qpn_step & 1);
		qpns[i] = qp.qpn;
	}
	assert_no_return(qpns);
}

static void test_qpn(void **state)
{
	static const uint32_t sizes[] = {1, 2, 8, 1024, 32768, 65536};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t max = sizes[i], indexes[] = {0, max > 1, max / 2, max - 1};

		for (size_t j = 0; j < sizeof(indexes) / sizeof(indexes[0]); j++)
			for (int again = 0; again < 8; again++)
				try_index(indexes[j], max);
	}
}

static void test_rkey(void **state)
{
	static const uint32_t indexes[] = {0, 1, 255, 1023, 65535};

	(void)state;
	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		for (int again = 0; again < 16; again++) {
			struct xa_mr mr = {0};

			for (int j = 0; j < USES; j++) {
				xa_next_rkey(&mr, indexes[i]);
				assert_int_equal(mr.rkey >> 8, indexes[i]);
				assert_int_not_equal(mr.rkey, 0);
				rkeys[j] = mr.rkey;
			}
			assert_no_return(rkeys);
		}
	}
}

/* Of 64 first numbers of 256 possible ones, fewer than 32 different ones would be a wonder (1e-12). */
static void test_unpredictable(void **state)
{
	uint8_t qpn_seen[256] = {0}, rkey_seen[256] = {0};
	int qpn_kinds = 0, rkey_kinds = 0;

	(void)state;
	for (int i = 0; i < 64; i++) {
		struct xa_qp qp = {0};
		struct xa_mr mr = {0};

		xa_next_qpn(&qp, 5, 65536);
		xa_next_rkey(&mr, 5);
		qpn_kinds += !qpn_seen[qp.qpn >> 16]++;
		rkey_kinds += !rkey_seen[mr.rkey & 0xff]++;
	}
	assert_in_range(qpn_kinds, 32, 64);
	assert_in_range(rkey_kinds, 32, 64);
}

static void test_round_up(void **state)
{
	(void)state;
	assert_int_equal(xa_round_up_pow2(0), 1);
	assert_int_equal(xa_round_up_pow2(1), 1);
	assert_int_equal(xa_round_up_pow2(2), 2);
	assert_int_equal(xa_round_up_pow2(5), 8);
	assert_int_equal(xa_round_up_pow2(128), 128);
	assert_int_equal(xa_round_up_pow2(32769), 65536);
}

static void test_default_windows(void **state)
{
	(void)state;
	assert_int_equal(xa_default_windows(1024, 2), 1024 + 3 * 128);
	assert_int_equal(xa_default_windows(1, 1), 1 + 2 * 128);
}

static void test_old_kernel(void **state)
{
	static const char *const old[] = {"2.6.40", "5.15.0-91-generic", "6.0.19", "nonsense"};
	static const char *const young[] = {"6.1.0-18-amd64", "6.1", "6.12.57", "7.0.1", "10.0"};

	(void)state;
	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
		assert_true(xa_is_old_kernel(old[i]));
	for (size_t i = 0; i < sizeof(young) / sizeof(young[0]); i++)
		assert_false(xa_is_old_kernel(young[i]));
}

static void test_names(void **state)
{
	(void)state;
	assert_true(xa_is_name("a") && xa_is_name("A-z_09") && xa_is_name("-"));
	assert_false(xa_is_name("") || xa_is_name("a.b") || xa_is_name("a/b") ||
		     xa_is_name("a+new"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qpn),
		cmocka_unit_test(test_rkey),
		cmocka_unit_test(test_unpredictable),
		cmocka_unit_test(test_round_up),
		cmocka_unit_test(test_default_windows),
		cmocka_unit_test(test_old_kernel),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
