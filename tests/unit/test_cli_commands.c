/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of xatomic: every command, every option, its default and its bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/cli.h"
#include "lib/error.h"
#include "xatomic/mr.h"
#include "capture.h"

static struct settings settings;

static int read_words(const char *words)
{
	cli_defaults(&settings);
	return read_line(&cli_program, &settings, words);
}

static void assert_reads(const char *words, const char *name)
{
	int status = read_words(words);

	if (status)
		print_message("# '%s' gave: %s", words, captured_err);
	assert_int_equal(status, XA_EXIT_DONE);
	assert_non_null(captured_command);
	assert_string_equal(captured_command->name, name);
	assert_string_equal(captured_err, "");
}

static void assert_refuses(const char *words, const char *part)
{
	int status = read_words(words);

	if (status != XA_EXIT_USAGE || !strstr(captured_err, part))
		print_message("# '%s' gave %d: %s", words, status, captured_err);
	assert_int_equal(status, XA_EXIT_USAGE);
	assert_non_null(strstr(captured_err, part));
	assert_int_equal(lines_of(captured_err), 2);
}

static void test_every_command(void **state)
{
	static const struct {
		const char *words, *name;
	} lines[] = {
		{"attach eth0", "attach"},
		{"detach eth0", "detach"},
		{"destroy", "destroy"},
		{"show", "show"},
		{"mr add m --words 1", "mr add"},
		{"mr show", "mr show"},
		{"mr show m", "mr show"},
		{"mr del m", "mr del"},
		{"mr dump m", "mr dump"},
		{"mr set m 0 0", "mr set"},
		{"qp add --peer 10.0.0.1 --rqpn 2", "qp add"},
		{"qp show", "qp show"},
		{"qp show 17", "qp show"},
		{"qp del 17", "qp del"},
		{"qp reset 17", "qp reset"},
		{"stat", "stat"},
		{"monitor", "monitor"},
		/* prefixes */
		{"a eth0", "attach"},
		{"det eth0", "detach"},
		{"des", "destroy"},
		{"sh", "show"},
		{"st", "stat"},
		{"mo", "monitor"},
		{"mr a m --words 1", "mr add"},
		{"mr sh", "mr show"},
		{"mr du m", "mr dump"},
		{"mr de m", "mr del"},
		{"q r 17", "qp reset"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_reads(lines[i].words, lines[i].name);
}

static void test_ambiguous_and_unknown(void **state)
{
	(void)state;
	assert_refuses("d", "'d' is short for several commands; give one of detach, destroy");
	assert_refuses("de eth0", "give one of detach, destroy");
	assert_refuses("m", "give one of mr, monitor");
	assert_refuses("s", "give one of show, save, stat, serve");
	assert_refuses("mr s", "'s' is short for several commands; give one of show, set");
	assert_refuses("mr d m", "'d' is short for several commands; give one of del, dump");
	assert_refuses("mr", "the command is missing; give one of add, show, del, dump, set");
	assert_refuses("frobnicate", "'frobnicate' is no command; give one of attach, detach, "
				     "destroy, upgrade, show, mr, "
				     "qp, save, restore, stat, monitor");
	assert_refuses("qp dump", "'dump' is no command; give one of add, show, del, reset");
	assert_refuses("", "the command is missing");
}

static void test_defaults(void **state)
{
	(void)state;
	unsetenv("XATOMIC_BPFFS");
	assert_reads("show", "show");
	assert_string_equal(settings.place.bpffs, "/sys/fs/bpf");
	assert_string_equal(settings.place.name, "default");
	setenv("XATOMIC_BPFFS", "/b", 1);
	assert_reads("show", "show");
	assert_string_equal(settings.place.bpffs, "/b");
	assert_reads("show --bpffs /c -i other", "show");
	assert_string_equal(settings.place.bpffs, "/c");
	assert_string_equal(settings.place.name, "other");
	setenv("XATOMIC_BPFFS", "", 1);
	assert_reads("attach eth0", "attach");
	assert_string_equal(settings.place.bpffs, "/sys/fs/bpf");
	assert_int_equal(settings.mode, XA_MODE_AUTO);
	assert_int_equal(settings.limits.max_qps, 0);
	assert_int_equal(settings.limits.unknown_qp, -1);
	assert_reads("mr add m --words 8", "mr add");
	assert_true(settings.iova == 0 && settings.pd == 0 && settings.access == XA_ACCESS_ATOMIC);
	assert_true(settings.perm == 0600 && !settings.owner);
	assert_reads("qp add --peer fd00::1 --rqpn 17", "qp add");
	assert_true(settings.depth == 16 && settings.pd == 0 &&
		    settings.access == XA_ACCESS_ATOMIC);
	assert_true(settings.rq_psn == CLI_RANDOM_PSN && !xa_ip_is_host(&settings.local));
	assert_reads("mr dump m", "mr dump");
	assert_true(settings.offset == 0 && settings.count == CLI_ALL);
}

static void test_values_arrive(void **state)
{
	(void)state;
	assert_reads("attach eth0.7 --netns blue --mode generic --max-qps 8 --max-mrs 9 "
		     "--replay-windows 10 "
		     "--unknown-qp drop",
		     "attach");
	assert_string_equal(settings.iface, "eth0.7");
	assert_string_equal(settings.netns, "blue");
	assert_int_equal(settings.mode, XA_MODE_GENERIC);
	assert_true(settings.limits.max_qps == 8 && settings.limits.max_mrs == 9);
	assert_true(settings.limits.replay_windows == 10);
	assert_int_equal(settings.limits.unknown_qp, XA_UNKNOWN_QP_DROP);
	assert_reads("mr add m --words 0x10 --iova 0xfffffffffffffff8 --pd 5 --access "
		     "write,read,atomic --owner "
		     "nobody:7 --perm 0640",
		     "mr add");
	assert_true(settings.words == 16 && settings.iova == 0xfffffffffffffff8 &&
		    settings.pd == 5);
	assert_int_equal(settings.access, XA_ACCESS_ATOMIC | XA_ACCESS_READ | XA_ACCESS_WRITE);
	assert_string_equal(settings.owner, "nobody:7");
	assert_int_equal(settings.perm, 0640);
	assert_reads("mr set m 0x18 0xffffffffffffffff", "mr set");
	assert_true(settings.offset == 0x18 && settings.value == UINT64_MAX);
	assert_reads("qp add --peer 10.0.0.1 --local 10.0.0.2 --rqpn 0xfffffe --rq-psn 0xffffff "
		     "--depth 128 "
		     "--access read",
		     "qp add");
	assert_true(settings.rqpn == 0xfffffe && settings.rq_psn == 0xffffff &&
		    settings.depth == 128);
	assert_true(settings.access == XA_ACCESS_READ && xa_ip_is_host(&settings.local));
	assert_reads("stat --watch", "stat");
	assert_int_equal(settings.watch, 1);
	assert_reads("stat --watch 10", "stat");
	assert_int_equal(settings.watch, 10);
}

static void test_missing(void **state)
{
	(void)state;
	assert_refuses("attach", "IFACE is missing");
	assert_refuses("detach", "IFACE is missing");
	assert_refuses("mr add", "NAME is missing");
	assert_refuses("mr add m", "--words is missing");
	assert_refuses("mr del", "NAME is missing");
	assert_refuses("mr dump", "NAME is missing");
	assert_refuses("mr set m", "OFFSET is missing");
	assert_refuses("mr set m 0", "VALUE is missing");
	assert_refuses("qp add --rqpn 2", "--peer is missing");
	assert_refuses("qp add --peer 10.0.0.1", "--rqpn is missing");
	assert_refuses("qp del", "LQPN is missing");
	assert_refuses("qp reset", "LQPN is missing");
}

static void test_refused_values(void **state)
{
	static const struct {
		const char *words, *part;
	} lines[] = {
		{"attach eth0 --mode fast", "auto, native, generic"},
		{"attach eth0 --max-qps 0", "from 1 to 65536"},
		{"attach eth0 --max-qps 65537", "from 1 to 65536"},
		{"attach eth0 --max-mrs 65537", "from 1 to 65536"},
		{"attach eth0 --replay-windows 0", "from 1"},
		{"attach eth0 --unknown-qp reject", "pass, drop"},
		{"attach eth0123456789abc", "1 to 15 characters"},
		{"attach eth0:1", "without / :"},
		{"-i a.b show", "no valid --instance"},
		{"--bpffs '' show", "it is empty"},
		{"mr add a.b --words 1", "no valid NAME"},
		{"mr add m --words 0", "from 1 to 4294967295"},
		{"mr add m --words 4294967296", "from 1 to 4294967295"},
		{"mr add m --words -1", "from 1 to 4294967295"},
		{"mr add m --words 1 --iova 12", "multiple of 8"},
		{"mr add m --words 1 --access atom", "atomic,read,write"},
		{"mr add m --words 1 --access ''", "atomic,read,write"},
		{"mr add m --words 1 --access atomic,", "atomic,read,write"},
		{"mr add m --words 1 --access atomic,atomic", "each once"},
		{"mr add m --words 1 --perm 8", "octal"},
		{"mr add m --words 1 --perm 1777", "octal"},
		{"mr add m --words 1 --perm ''", "octal"},
		{"mr add m --words 1 --words 1", "--words is given twice"},
		{"mr dump m --offset 4", "multiple of 8"},
		{"mr dump m --count 0", "from 1"},
		{"mr set m 4 0", "multiple of 8"},
		{"mr set m 0 0x10000000000000000", "no valid VALUE"},
		{"mr set m 0 1 2", "one argument too many"},
		{"qp add --peer 0.0.0.0 --rqpn 2", "one host"},
		{"qp add --peer :: --rqpn 2", "one host"},
		{"qp add --peer 239.1.2.3 --rqpn 2", "one host"},
		{"qp add --peer ff02::1 --rqpn 2", "one host"},
		{"qp add --peer host --rqpn 2", "IPv4 or IPv6"},
		{"qp add --peer 10.0.0.1 --local 0.0.0.0 --rqpn 2", "no valid --local"},
		{"qp add --peer 10.0.0.1 --rqpn 1", "from 2 to 16777214"},
		{"qp add --peer 10.0.0.1 --rqpn 0xffffff", "from 2 to 16777214"},
		{"qp add --peer 10.0.0.1 --rqpn 2 --rq-psn 0x1000000", "from 0 to 16777215"},
		{"qp add --peer 10.0.0.1 --rqpn 2 --depth 0", "from 1 to 128"},
		{"qp add --peer 10.0.0.1 --rqpn 2 --depth 129", "from 1 to 128"},
		{"qp add --peer 10.0.0.1 --rqpn 2 --pd 0x100000000", "no valid --pd"},
		{"qp del 0", "from 1 to 16777215"},
		{"qp show 0x1000000", "from 1 to 16777215"},
		{"stat --watch 0", "from 1 to 86400"},
		{"stat 5", "one argument too many"},
		{"show --words 1", "--words does not go with 'show'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_refuses(lines[i].words, lines[i].part);
}

/* What only makes no sense together is found before anything is opened: usage, one line. */
static void test_contradictions(void **state)
{
	static const char *const lines[] = {
		"qp add --peer 10.0.0.1 --local fd00::1 --rqpn 2",
		"mr add m --words 2 --iova 0xfffffffffffffff8",
		"stat --openmetrics --watch",
		"-j stat --openmetrics",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct capture capture;
		int status;

		assert_int_equal(read_words(lines[i]), XA_EXIT_DONE);
		begin_capture(&capture, stderr, STDERR_FILENO);
		status = captured_command->run(&settings);
		end_capture(&capture, stderr, captured_err, sizeof(captured_err));
		assert_int_equal(status, XA_EXIT_USAGE);
		assert_int_equal(lines_of(captured_err), 1);
	}
}

static void test_help_of_every_command(void **state)
{
	char line[64];

	(void)state;
	for (const struct xa_command *c = cli_program.commands; c->name; c++) {
		snprintf(line, sizeof(line), "%s --help", c->name);
		assert_int_equal(read_words(line), XA_EXIT_DONE);
		assert_null(captured_command);
		assert_non_null(strstr(captured_out, c->help));
		assert_int_equal(read_words("--help"), XA_EXIT_DONE);
		assert_non_null(strstr(captured_out, c->help));
	}
}

static void test_owner(void **state)
{
	uid_t owner = 1;
	gid_t group = 1;

	(void)state;
	assert_int_equal(cli_find_owner("root", &owner, &group), 0);
	assert_true(owner == 0 && group == 1);
	assert_int_equal(cli_find_owner("4242:root", &owner, &group), 0);
	assert_true(owner == 4242 && group == 0);
	assert_int_equal(cli_find_owner("0:4243", &owner, &group), 0);
	assert_true(owner == 0 && group == 4243);
	assert_int_equal(cli_find_owner("no-such-user", &owner, &group), -1);
	assert_non_null(strstr(xatomic_error(), "there is no user 'no-such-user'"));
	assert_int_equal(cli_find_owner("root:no-such-group", &owner, &group), -1);
	assert_non_null(strstr(xatomic_error(), "there is no group 'no-such-group'"));
	assert_int_equal(cli_find_owner(":root", &owner, &group), -1);
	assert_int_equal(cli_find_owner("root:", &owner, &group), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_command),  cmocka_unit_test(test_ambiguous_and_unknown),
		cmocka_unit_test(test_defaults),       cmocka_unit_test(test_values_arrive),
		cmocka_unit_test(test_missing),        cmocka_unit_test(test_refused_values),
		cmocka_unit_test(test_contradictions), cmocka_unit_test(test_help_of_every_command),
		cmocka_unit_test(test_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
