/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of xatomic-req: what is taken, how, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture.h"
#include "req/settings.h"
#include "requester/engine.h"

static struct req_settings settings;
static const struct xa_command *command;

static int read_words(const char *words)
{
	int status;

	settings = req_defaults;
	status = read_line(&req_program, &settings, words);
	command = captured_command;
	return status;
}

#define WHERE "--dev eth0 --peer 192.0.2.1 --lqpn 0x11 --rqpn 0x2f --sq-psn 3100 --rkey 0x142 "
#define FADD  "fadd --addr 8 --add 1"

static void test_all_options(void **state)
{
	(void)state;
	assert_int_equal(read_words(WHERE "--netns lab --count 1000 --window 16 --retry 3 "
					  "--timeout 100 fadd --addr 0x2000 --add 5"),
			 XA_EXIT_DONE);
	assert_ptr_equal(command->run, req_fadd);
	assert_string_equal(settings.dev, "eth0");
	assert_string_equal(settings.netns, "lab");
	assert_int_equal(settings.peer.family, XA_IPV4);
	assert_int_equal(settings.lqpn, 0x11);
	assert_int_equal(settings.rqpn, 0x2f);
	assert_int_equal(settings.sq_psn, 3100);
	assert_int_equal(settings.rkey, 0x142);
	assert_int_equal(settings.addr, 0x2000);
	assert_int_equal(settings.add, 5);
	assert_int_equal(settings.count, 1000);
	assert_int_equal(settings.window, 16);
	assert_int_equal(settings.retry, 3);
	assert_int_equal(settings.timeout_us, 100);
}

static void test_defaults(void **state)
{
	(void)state;
	assert_int_equal(read_words(WHERE FADD), XA_EXIT_DONE);
	assert_null(settings.netns);
	assert_int_equal(settings.count, 1);
	assert_int_equal(settings.window, 1);
	assert_int_equal(settings.retry, 7);
	assert_int_equal(req_timeout(settings.timeout_us), 14);
}

static void test_command_first_and_shortened(void **state)
{
	(void)state;
	assert_int_equal(read_words("c --compare 5 --swap 9 --addr 0 " WHERE "-j"), XA_EXIT_DONE);
	assert_ptr_equal(command->run, req_cswap);
	assert_int_equal(settings.compare, 5);
	assert_int_equal(settings.swap, 9);
	assert_true(settings.global.json);
}

static void test_whole_range_of_operands(void **state)
{
	(void)state;
	assert_int_equal(read_words(WHERE "fadd --addr 0xffffffffffffffff --add "
					  "18446744073709551615"),
			 XA_EXIT_DONE);
	assert_true(settings.addr == UINT64_MAX && settings.add == UINT64_MAX);
}

/* An address that the responder will refuse is the responder's to refuse. */
static void test_unaligned_address_is_sent(void **state)
{
	(void)state;
	assert_int_equal(read_words(WHERE "fadd --addr 4 --add 1"), XA_EXIT_DONE);
	assert_int_equal(settings.addr, 4);
}

static void test_ipv6_peer(void **state)
{
	(void)state;
	assert_int_equal(read_words("--dev eth0 --peer fd00::1 --lqpn 2 --rqpn 0xfffffe --sq-psn "
				    "0xffffff --rkey 0 " FADD),
			 XA_EXIT_DONE);
	assert_int_equal(settings.peer.family, XA_IPV6);
}

static void test_wrong_command_lines(void **state)
{
	static const char *const lines[] = {
		"",
		WHERE,
		WHERE "fetch --addr 8 --add 1",
		WHERE "fadd --addr 8",
		WHERE "fadd --add 1",
		WHERE "cswap --addr 8 --compare 1",
		WHERE FADD " --swap 1",
		WHERE FADD " 5",
		WHERE FADD " --count 0",
		WHERE FADD " --window 0",
		WHERE FADD " --window 129",
		WHERE FADD " --retry 8",
		WHERE FADD " --timeout 0",
		WHERE FADD " --timeout 8796093023",
		WHERE FADD " --count -1",
		WHERE FADD " --count 1x",
		WHERE FADD " --netns",
		WHERE FADD " --add 2",
		WHERE "fadd --addr 8 --add 18446744073709551616",
		"--dev eth0 --lqpn 2 --rqpn 2 --sq-psn 0 --rkey 1 " FADD,
		"--dev eth0 --peer 224.0.0.1 --lqpn 2 --rqpn 2 --sq-psn 0 --rkey 1 " FADD,
		"--dev eth0 --peer :: --lqpn 2 --rqpn 2 --sq-psn 0 --rkey 1 " FADD,
		"--dev eth0 --peer host --lqpn 2 --rqpn 2 --sq-psn 0 --rkey 1 " FADD,
		"--dev eth0 --peer ::1 --lqpn 1 --rqpn 2 --sq-psn 0 --rkey 1 " FADD,
		"--dev eth0 --peer ::1 --lqpn 2 --rqpn 0xffffff --sq-psn 0 --rkey 1 " FADD,
		"--dev eth0 --peer ::1 --lqpn 2 --rqpn 2 --sq-psn 0x1000000 --rkey 1 " FADD,
		"--dev eth0 --peer ::1 --lqpn 2 --rqpn 2 --sq-psn 0 --rkey 0x100000000 " FADD,
		"--dev interface-with-a-long-name --peer ::1 --lqpn 2 --rqpn 2 --sq-psn 0 --rkey "
		"1 " FADD,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (read_words(lines[i]) != XA_EXIT_USAGE || command)
			fail_msg("taken: %s", lines[i]);
}

/* Which of the two ways is meant does not depend on an option that both have. */
static void test_connection_or_queue_pair(void **state)
{
	(void)state;
	assert_int_equal(read_words("fadd --dev eth0 --connect 10.0.0.1 --add 1"), XA_EXIT_DONE);
	assert_string_equal(settings.connect, "10.0.0.1");
	assert_int_equal(read_words(WHERE FADD " --connect 10.0.0.1"), XA_EXIT_USAGE);
	assert_non_null(
		strstr(captured_err, "--peer does not go with 'fadd --connect'; leave one"));
}

static void test_timeouts_are_rounded_up(void **state)
{
	static const struct {
		uint64_t us;
		int timeout;
	} rows[] = {{1, 1},      {8, 1},      {9, 2},       {16, 2},       {1000, 8},
		    {67108, 14}, {67109, 15}, {100000, 15}, {1000000, 18}, {8796093022, 31}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(req_timeout(rows[i].us), rows[i].timeout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_options),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_command_first_and_shortened),
		cmocka_unit_test(test_whole_range_of_operands),
		cmocka_unit_test(test_unaligned_address_is_sent),
		cmocka_unit_test(test_ipv6_peer),
		cmocka_unit_test(test_wrong_command_lines),
		cmocka_unit_test(test_connection_or_queue_pair),
		cmocka_unit_test(test_timeouts_are_rounded_up),
	};

	return cmocka_run_group_tests_name("xatomic-req command line", tests, NULL, NULL);
}
