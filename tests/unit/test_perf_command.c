/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xatomic-req perf: its command line, and lists of queue pairs in files.
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
#include "req/target.h"

static struct req_settings settings;
static const struct xa_command *command;

static struct capture muted;

/* Standard error would only disturb the test's output. */
static void mute(void)
{
	begin_capture(&muted, stderr, STDERR_FILENO);
}

static void unmute(void)
{
	end_capture(&muted, stderr, captured_err, sizeof(captured_err));
}

static int read_words(const char *words)
{
	int status;

	settings = req_defaults;
	status = read_line(&req_program, &settings, words);
	command = captured_command;
	if (status)
		return status;
	mute();
	status = req_check_perf(&settings);
	unmute();
	return status;
}

#define BASE "perf --dev eth0 --rkey 0x142 --addr 8 "
#define ONE  "--peer 192.0.2.1 --lqpn 0x11 --rqpn 0x2f --sq-psn 0 "

static void test_defaults(void **state)
{
	(void)state;
	assert_int_equal(read_words(BASE ONE), XA_EXIT_DONE);
	assert_ptr_equal(command->run, req_perf);
	assert_int_equal(settings.op, REQ_OP_FADD);
	assert_int_equal(settings.add, 1);
	assert_int_equal(settings.outs, 16);
	assert_int_equal(settings.iters, 5000);
	assert_int_equal(settings.seconds, 0);
	assert_int_equal(settings.stride, 0);
	assert_int_equal(req_transport(&settings, XATOMIC_TRANSPORT_AUTO), XATOMIC_TRANSPORT_AUTO);
	assert_false(settings.lat || settings.verify);
	assert_int_equal(read_words(BASE ONE "--lat"), XA_EXIT_DONE);
	assert_int_equal(settings.outs, 1);
	assert_int_equal(settings.iters, 1000);
}

static void test_letters_of_perftest(void **state)
{
	(void)state;
	assert_int_equal(read_words(BASE "--qp-file f -q 16 -o 4 -n 100 --op cswap --stride 64 "
					 "--transport af_packet --verify"),
			 XA_EXIT_DONE);
	assert_int_equal(settings.op, REQ_OP_CSWAP);
	assert_int_equal(settings.qps, 16);
	assert_int_equal(settings.outs, 4);
	assert_int_equal(settings.iters, 100);
	assert_int_equal(settings.stride, 64);
	assert_int_equal(req_transport(&settings, XATOMIC_TRANSPORT_AUTO),
			 XATOMIC_TRANSPORT_AF_PACKET);
	assert_true(settings.verify);
	assert_int_equal(read_words(BASE ONE "-D 3 -o 128"), XA_EXIT_DONE);
	assert_int_equal(settings.seconds, 3);
	assert_int_equal(settings.outs, 128);
}

static void test_transports(void **state)
{
	static const char *const names[] = {"af_packet", "af_xdp", "auto"};
	char line[256];

	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(line, sizeof(line), BASE ONE "--transport %s", names[i]);
		assert_int_equal(read_words(line), XA_EXIT_DONE);
		assert_int_equal(settings.transport, i);
	}
	assert_int_equal(XATOMIC_TRANSPORT_AF_XDP, 1);
	assert_int_equal(XATOMIC_TRANSPORT_AUTO, 2);
}

static void test_wrong_command_lines(void **state)
{
	static const char *const lines[] = {
		"perf",
		BASE,
		BASE "--peer 192.0.2.1 --lqpn 2 --rqpn 2",
		BASE "--peer 192.0.2.1 --lqpn 2 --sq-psn 2",
		BASE "--lqpn 2 --rqpn 2 --sq-psn 2",
		BASE ONE "--qp-file f",
		BASE ONE "-q 2",
		BASE ONE "-n 5 -D 5",
		BASE ONE "-n 0",
		BASE ONE "-D 0",
		BASE ONE "-o 0",
		BASE ONE "-o 129",
		BASE ONE "--lat -o 2",
		BASE ONE "--op add",
		BASE ONE "--op",
		BASE ONE "--stride 4",
		BASE ONE "--transport xdp",
		BASE ONE "--count 5",
		BASE ONE "--window 5",
		BASE ONE "extra",
		"perf --dev eth0 --rkey 1 " ONE,
		"perf --dev eth0 --addr 1 " ONE,
		"fadd --dev eth0 --rkey 1 --addr 1 --add 1 " ONE "-q 2",
		"fadd --dev eth0 --rkey 1 --addr 1 --add 1 " ONE "--lat",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (read_words(lines[i]) != XA_EXIT_USAGE)
			fail_msg("taken: %s", lines[i]);
}

static char path[] = "/tmp/test_perf_command.XXXXXX";

static int read_file(const char *text, const char *peer, struct req_target **targets)
{
	int fd, n;

	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	settings = req_defaults;
	settings.qp_file = path;
	if (peer)
		assert_true(xa_ip_parse(&settings.peer, peer));
	*targets = NULL;
	mute();
	n = req_read_targets(&settings, targets);
	unmute();
	unlink(path);
	return n;
}

/* The QPNs go in as they stand, also as strings. */
#define QP(local, lqpn, rqpn)                                                                      \
	"{\"lqpn\":" #lqpn ",\"rqpn\":" #rqpn ",\"pdn\":0,\"state\":\"RTR\",\"rq-psn\":16777215,"  \
	"\"peer\":\"192.0.2.7\",\"local\":\"" local                                                \
	"\",\"depth\":128,\"msn\":0,\"last_nak\":null}"

static void test_lists_of_queue_pairs(void **state)
{
	static const char *const texts[] = {
		"[" QP("192.0.2.1", 17, 47) "," QP("192.0.2.1", 18, 48) "]",
		QP("192.0.2.1", 17, 47) "\n" QP("192.0.2.1", 18, 48) "\n",
		" \n[" QP("192.0.2.1", 17, 47) "]" QP("192.0.2.1", 18, 48),
	};
	struct req_target *targets;
	char text[INET6_ADDRSTRLEN];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(read_file(texts[i], NULL, &targets), 2);
		assert_string_equal(xa_ip_text(&targets[0].peer, text), "192.0.2.1");
		assert_string_equal(xa_ip_text(&targets[0].local, text), "192.0.2.7");
		assert_int_equal(targets[0].lqpn, 47);
		assert_int_equal(targets[0].rqpn, 17);
		assert_int_equal(targets[0].sq_psn, 0xffffff);
		assert_int_equal(targets[0].depth, 128);
		assert_int_equal(targets[1].lqpn, 48);
		free(targets);
	}
}

static void test_many_queue_pairs(void **state)
{
	enum { MANY = 1000, LINE = 256 };
	char *text = calloc(MANY, LINE);
	struct req_target *targets;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < MANY; i++)
		sprintf(text + strlen(text),
			"{\"lqpn\":%d,\"rqpn\":%d,\"rq-psn\":0,\"peer\":\"fd00::2\",\"local\":"
			"\"fd00::1\",\"depth\":16}\n",
			1000 + i, 5000 + i);
	assert_int_equal(read_file(text, NULL, &targets), MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(targets[i].lqpn, 5000 + i);
	free(targets);
	free(text);
}

static void test_those_of_one_peer(void **state)
{
	const char *text = "[" QP("192.0.2.1", 17, 47) "," QP("192.0.2.3", 18, 48) "]";
	struct req_target *targets;

	(void)state;
	assert_int_equal(read_file(text, "192.0.2.3", &targets), 1);
	assert_int_equal(targets[0].rqpn, 18);
	free(targets);
	assert_int_equal(read_file(text, "192.0.2.4", &targets), -1);
	assert_null(targets);
}

static void test_wrong_lists(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"\n",
		"no JSON",
		"{",
		"[" QP("192.0.2.1", 17, 47),
		"17",
		"[17]",
		"[null]",
		"{}",
		QP("192.0.2.1", 1, 47),
		QP("192.0.2.1", 17, 0),
		QP("192.0.2.1", 16777215, 47),
		QP("192.0.2.1", -17, 47),
		QP("192.0.2.1", "17", 47),
		QP("host", 17, 47),
		QP("192.0.2.1", 17, 47) "]",
		"{\"lqpn\":17,\"rqpn\":47,\"rq-psn\":16777216,\"peer\":\"::1\",\"local\":\"::2\","
		"\"depth\":16}",
		"{\"lqpn\":17,\"rqpn\":47,\"rq-psn\":0,\"peer\":\"::1\",\"local\":\"::2\"}",
		"{\"lqpn\":17,\"rqpn\":47,\"rq-psn\":0,\"local\":\"::2\",\"depth\":16}",
	};
	struct req_target *targets;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (read_file(texts[i], NULL, &targets) != -1 || targets)
			fail_msg("taken: %s", texts[i]);
	settings.qp_file = "/no/such/file";
	mute();
	assert_int_equal(req_read_targets(&settings, &targets), -1);
	settings.qp_file = "/";
	assert_int_equal(req_read_targets(&settings, &targets), -1);
	unmute();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_letters_of_perftest),
		cmocka_unit_test(test_transports),
		cmocka_unit_test(test_wrong_command_lines),
		cmocka_unit_test(test_lists_of_queue_pairs),
		cmocka_unit_test(test_many_queue_pairs),
		cmocka_unit_test(test_those_of_one_peer),
		cmocka_unit_test(test_wrong_lists),
	};

	return cmocka_run_group_tests_name("xatomic-req perf", tests, NULL, NULL);
}
