/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The histogram of times against sorted samples.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "req/histogram.h"

enum { SAMPLES = 100000 };

static struct histogram histogram;
static uint64_t samples[SAMPLES];

static int empty(void **state)
{
	(void)state;
	memset(&histogram, 0, sizeof(histogram));
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void test_empty(void **state)
{
	(void)state;
	assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
	assert_true(histogram_average(&histogram) == 0);
	assert_true(histogram_deviation(&histogram) == 0);
}

static void test_one_value_is_exact(void **state)
{
	static const uint64_t values[] = {0, 1, 127, 128, 129, 2947, 1ull << 40, UINT64_MAX};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		empty(state);
		histogram_add(&histogram, values[i]);
		assert_true(histogram_quantile(&histogram, 0) == values[i]);
		assert_true(histogram_quantile(&histogram, 0.5) == values[i]);
		assert_true(histogram_quantile(&histogram, 1) == values[i]);
		assert_true(histogram.min == values[i] && histogram.max == values[i]);
	}
}

/* Ranks as those of the nearest-rank method: of ten values, the median is the fifth. */
static void test_small_values_are_exact(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		histogram_add(&histogram, i);
	assert_int_equal(histogram_quantile(&histogram, 0.5), 5);
	assert_int_equal(histogram_quantile(&histogram, 0.51), 6);
	assert_int_equal(histogram_quantile(&histogram, 0.9), 9);
	assert_int_equal(histogram_quantile(&histogram, 0.99), 10);
	assert_int_equal(histogram_quantile(&histogram, 0), 1);
	assert_true(fabs(histogram_average(&histogram) - 5.5) < 1e-9);
	assert_true(fabs(histogram_deviation(&histogram) - sqrt(8.25)) < 1e-9);
}

static void check_quantile(double share)
{
	size_t rank = ceil(share * SAMPLES);
	double wanted = (double)samples[rank ? rank - 1 : 0];
	double got = (double)histogram_quantile(&histogram, share);

	if (fabs(got - wanted) > wanted / 128)
		fail_msg("quantile %g is %g and not %g", share, got, wanted);
}

static void test_against_sorted_samples(void **state)
{
	static const double shares[] = {0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};
	uint64_t random = 88172645463325252ull;
	double mean = 0, square = 0;

	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* Over many powers of two, most of them small, as times are. */
		samples[i] = 2500 + (random >> 20) % (1ull << (random % 30));
		histogram_add(&histogram, samples[i]);
		mean += (double)samples[i] / SAMPLES;
	}
	for (size_t i = 0; i < SAMPLES; i++)
		square += ((double)samples[i] - mean) * ((double)samples[i] - mean) / SAMPLES;
	qsort(samples, SAMPLES, sizeof(samples[0]), compare);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		check_quantile(shares[i]);
	assert_int_equal(histogram.min, samples[0]);
	assert_int_equal(histogram.max, samples[SAMPLES - 1]);
	assert_true(fabs(histogram_average(&histogram) / mean - 1) < 1e-9);
	assert_true(fabs(histogram_deviation(&histogram) / sqrt(square) - 1) < 1e-6);
}

/* No value falls outside, and the quantile of one among two differs by less than its bucket. */
static void test_every_power_of_two(void **state)
{
	for (int i = 0; i < 64; i++)
		for (int step = -1; step <= 1; step++) {
			uint64_t value = (1ull << i) + step, got;

			empty(state);
			histogram_add(&histogram, value);
			histogram_add(&histogram, value);
			histogram_add(&histogram, 0);
			histogram_add(&histogram, UINT64_MAX);
			got = histogram_quantile(&histogram, 0.75);
			assert_true((got > value ? got - value : value - got) <= value / 128);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_empty, empty),
		cmocka_unit_test_setup(test_one_value_is_exact, empty),
		cmocka_unit_test_setup(test_small_values_are_exact, empty),
		cmocka_unit_test_setup(test_against_sorted_samples, empty),
		cmocka_unit_test_setup(test_every_power_of_two, empty),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
