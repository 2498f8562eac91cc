/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may have what: prefixes, offers, ports, rates, and the file that they are read from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture.h"
#include "cli/cli.h"
#include "cm/policy.h"

static bool has(const char *prefix, const char *address)
{
	struct cm_prefix p;
	struct xa_ip ip;

	assert_true(cm_prefix_parse(&p, prefix));
	assert_true(xa_ip_parse(&ip, address));
	return cm_prefix_has(&p, &ip);
}

static void test_prefixes(void **state)
{
	(void)state;
	assert_true(has("10.0.0.0/8", "10.255.0.1"));
	assert_false(has("10.0.0.0/8", "11.0.0.1"));
	assert_true(has("10.1.2.3", "10.1.2.3"));
	assert_false(has("10.1.2.3", "10.1.2.2"));
	assert_true(has("10.1.2.2/31", "10.1.2.3"));
	assert_false(has("10.1.2.0/31", "10.1.2.3"));
	assert_true(has("0.0.0.0/0", "192.0.2.1"));
	assert_false(has("0.0.0.0/0", "fd00::1"));
	assert_false(has("::/0", "192.0.2.1"));
	assert_true(has("::/0", "fd00::1"));
	assert_true(has("fd00:77::/32", "fd00:77:1::2"));
	assert_false(has("fd00:77::/32", "fd00:78::2"));
	assert_true(has("fd00::1", "fd00::1"));
	assert_true(has("10.0.0.0/8", "::ffff:10.0.0.1"));
}

static void test_no_prefixes(void **state)
{
	static const char *const bad[] = {"",           "10.0.0.0/33", "10.0.0.1/8", "fd00::/129",
					  "fd00::1/64", "10.0.0.0/",   "10.0.0/8",   "10.0.0.0/x",
					  "any",        "10.0.0.0/8/8"};
	struct cm_prefix prefix;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(cm_prefix_parse(&prefix, bad[i]));
}

static const char *found(const struct cm_policy *policy, const char *peer, const char *mr)
{
	const struct cm_offer *offer;
	struct xa_ip ip;

	assert_true(xa_ip_parse(&ip, peer));
	offer = cm_policy_find(policy, &ip, mr);
	return offer ? offer->mr : "none";
}

static void test_offers(void **state)
{
	struct cm_policy policy = {0};
	char why[XA_WHY_LEN];

	(void)state;
	assert_string_equal(found(&policy, "10.0.0.1", NULL), "none");
	assert_true(cm_policy_add(&policy, "a to 10.0.0.0/8,fd00::/8", why));
	assert_true(cm_policy_add(&policy, "b to 10.1.0.0/16 access read,atomic depth 4", why));
	assert_string_equal(found(&policy, "10.0.0.1", NULL), "a");
	assert_string_equal(found(&policy, "10.1.0.1", NULL), "a");
	assert_string_equal(found(&policy, "10.1.0.1", "b"), "b");
	assert_string_equal(found(&policy, "10.0.0.1", "b"), "none");
	assert_string_equal(found(&policy, "fd01::1", NULL), "a");
	assert_string_equal(found(&policy, "192.0.2.1", NULL), "none");
	assert_int_equal(policy.offers[0].access, XA_ACCESS_ATOMIC);
	assert_int_equal(policy.offers[0].depth, 16);
	assert_int_equal(policy.offers[1].access, XA_ACCESS_ATOMIC | XA_ACCESS_READ);
	assert_int_equal(policy.offers[1].depth, 4);
	cm_policy_free(&policy);
}

static void test_no_offers(void **state)
{
	static const char *const bad[] = {
		"",
		"a",
		"a to",
		"a.b to 10.0.0.0/8",
		"a to 10.0.0.1/8",
		"a to 10.0.0.0/8 access",
		"a to 10.0.0.0/8 access all",
		"a to 10.0.0.0/8 depth 0",
		"a to 10.0.0.0/8 depth 129",
		"a to 10.0.0.0/8 for ever",
		"a to 1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
		"1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1",
	};
	struct cm_policy policy = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char why[XA_WHY_LEN] = "";

		assert_false(cm_policy_add(&policy, bad[i], why));
		assert_true(why[0]);
	}
	assert_int_equal(policy.offer_count, 0);
}

static void test_ports(void **state)
{
	char why[XA_WHY_LEN];
	struct cm_ports ports;

	(void)state;
	assert_true(cm_ports_parse(&ports, "18516,1,65535", why));
	assert_int_equal(ports.count, 3);
	assert_true(cm_ports_have(&ports, 65535));
	assert_false(cm_ports_have(&ports, 2));
	assert_false(cm_ports_parse(&ports, "", why));
	assert_false(cm_ports_parse(&ports, "0", why));
	assert_false(cm_ports_parse(&ports, "65536", why));
	assert_false(cm_ports_parse(&ports, "5,6,5", why));
	assert_string_equal(why, "it names a port twice");
	assert_false(cm_ports_parse(&ports, "1;2", why));
	assert_false(cm_ports_parse(&ports, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", why));
}

static void test_bucket(void **state)
{
	struct cm_bucket bucket = {.rate = 10};
	uint64_t now = 5;
	int taken = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		taken += cm_bucket_take(&bucket, now);
	assert_int_equal(taken, 10);
	for (int i = 0; i < 1000; i++)
		taken += cm_bucket_take(&bucket, now += 10 * 1000 * 1000);
	assert_in_range(taken, 109, 111);
	now += 3600ull * 1000 * 1000 * 1000;
	for (taken = 0; cm_bucket_take(&bucket, now); taken++)
		;
	assert_int_equal(taken, 10);
}

static char path[] = "/tmp/xatomic-config-XXXXXX";

/* Runs the option reader on a file with this text, and `rest` behind it. Returns the exit status. */
static int read_config(struct settings *settings, const char *text, const char *rest)
{
	char line[128];
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	cli_defaults(settings);
	snprintf(line, sizeof(line), "serve --config %s %s", path, rest);
	return read_line(&cli_program, settings, line);
}

static void test_config_file(void **state)
{
	struct settings settings;

	(void)state;
	assert_int_equal(read_config(&settings,
				     "# who may have what\n\n"
				     "offer = a to 10.0.0.0/8\n"
				     "offer b to fd00::/8 access atomic,read # the other one\n"
				     "ports 1000,1001\n"
				     "  perftest-port=0\t\n"
				     "half-open 7\nuser nobody\n",
				     ""),
			 XA_EXIT_DONE);
	assert_int_equal(settings.serve.policy.offer_count, 2);
	assert_string_equal(settings.serve.policy.offers[1].mr, "b");
	assert_int_equal(settings.serve.ports.count, 2);
	assert_int_equal(settings.serve.perftest_port, 0);
	assert_int_equal(settings.serve.half_open, 7);
	assert_int_equal(settings.serve.qps_per_peer, 64);
	assert_string_equal(settings.user, "nobody");
	cm_policy_free(&settings.serve.policy);
}

/* The command line has the last word. */
static void test_config_and_options(void **state)
{
	struct settings settings;

	(void)state;
	assert_int_equal(read_config(&settings, "half-open 7\nports 1\n", "--half-open=9"),
			 XA_EXIT_DONE);
	assert_int_equal(settings.serve.half_open, 9);
	assert_int_equal(settings.serve.ports.list[0], 1);
}

static void test_config_faults(void **state)
{
	static const char *const bad[] = {
		"nonsense 1\n", "half-open\n",         "half-open 0\n",
		"ports x\n",    "offer a to nobody",   "words 5\n",
		"config x\n",   "\n\nhalf-open 1 2\n", "sessions 3\nsessions 4\n",
	};
	struct settings settings;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_config(&settings, bad[i], ""), XA_EXIT_USAGE);
		assert_non_null(strstr(captured_err, "line "));
		cm_policy_free(&settings.serve.policy);
	}
}

static void test_config_that_cannot_be_read(void **state)
{
	static const struct {
		const char *path, *why;
	} rows[] = {
		{"/tmp", "it cannot be read (Is a directory)"},
		{"/tmp/none/conf", "it cannot be read (No such file or directory)"},
		{"/dev/zero", "it is longer than 1048576 bytes"},
		{"/bin/true", "it is no text"},
	};
	struct settings settings;
	char line[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(line, sizeof(line), "serve --config %s", rows[i].path);
		cli_defaults(&settings);
		assert_int_equal(read_line(&cli_program, &settings, line), XA_EXIT_USAGE);
		assert_non_null(strstr(captured_err, rows[i].why));
	}
}

static void test_long_comment(void **state)
{
	char text[6000] = "half-open 7 # ";
	struct settings settings;

	(void)state;
	memset(text + 14, 'x', sizeof(text) - 15);
	assert_int_equal(read_config(&settings, text, ""), XA_EXIT_DONE);
	assert_int_equal(settings.serve.half_open, 7);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_no_prefixes),
		cmocka_unit_test(test_offers),
		cmocka_unit_test(test_no_offers),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_bucket),
		cmocka_unit_test(test_config_file),
		cmocka_unit_test(test_config_and_options),
		cmocka_unit_test(test_config_faults),
		cmocka_unit_test(test_config_that_cannot_be_read),
		cmocka_unit_test(test_long_comment),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
