/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The option reader of both programs: what it takes, what it refuses and in how many lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/options.h"
#include "common/output.h"
#include "lib/address.h"
#include "capture.h"

struct settings {
	struct xa_globals global;
	const char *name, *dev, *text;
	uint32_t count;
	uint64_t address;
	int mode;
	struct xa_ip ip;
	int watch;
};

static const char *const modes[] = {"auto", "native", "generic", NULL};

static bool parse_watch(const struct xa_option *option, const char *text, void *field, char *why)
{
	if (text)
		return xa_opt_u32(option, text, field, why);
	*(uint32_t *)field = 1;
	return true;
}

#define AT(field) .offset = offsetof(struct settings, field)

static const struct xa_option options[] = {
	{"NAME", .help = "name of the thing", .parse = xa_opt_name, AT(name)},
	{"dev", 'd', "IFACE", "interface", xa_opt_iface, AT(dev)},
	{"text", .metavar = "TEXT", .help = "text", .parse = xa_opt_text, AT(text)},
	{"count", 'n', "N", "how many", xa_opt_u32, AT(count), .min = 1, .max = 100},
	{"address", .metavar = "ADDR", .help = "where", .parse = xa_opt_u64, AT(address),
	 .multiple = 8},
	{"mode", .metavar = "MODE", .help = "how", .parse = xa_opt_word, AT(mode), .words = modes},
	{"ip", .metavar = "IP", .help = "peer", .parse = xa_opt_ip, AT(ip)},
	{"watch", .metavar = "SECONDS", .help = "again", .parse = parse_watch, AT(watch), .min = 1,
	 .value_optional = true},
	{0},
};

static int run(void *settings)
{
	(void)settings;
	return 7;
}

static const struct xa_command commands[] = {
	{"start", "NAME --address [--ip] [--mode]", "starts", run},
	{"stat", "[--watch]", "counts", run},
	{"thing add", "NAME [--count]", "adds", run},
	{"thing address", "NAME", "addresses", run},
	{"thing show", "[NAME]", "shows", run},
	{0},
};

static const struct xa_program program = {"prog", "tries options", options, commands,
					  "[--dev] [--text]"};

static struct settings settings;

static int read_words(const char *words)
{
	memset(&settings, 0, sizeof(settings));
	return read_line(&program, &settings, words);
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

/* A usage error is a sentence with `part` in it and one line of usage. */
static void assert_refuses(const char *words, const char *part)
{
	int status = read_words(words);

	if (status != XA_EXIT_USAGE || !strstr(captured_err, part))
		print_message("# '%s' gave %d: %s", words, status, captured_err);
	assert_int_equal(status, XA_EXIT_USAGE);
	assert_null(captured_command);
	assert_non_null(strstr(captured_err, part));
	assert_int_equal(lines_of(captured_err), 2);
	assert_non_null(strstr(captured_err, "\nUsage: prog"));
}

static void test_order_is_free(void **state)
{
	static const char *const lines[] = {
		"start n --address 8 --dev eth0.5", "--dev eth0.5 start --address 8 n",
		"--address=8 --dev=eth0.5 start n", "-deth0.5 start --address 8 -- n",
		"start n --addr 8 -d eth0.5",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_reads(lines[i], "start");
		assert_string_equal(settings.name, "n");
		assert_string_equal(settings.dev, "eth0.5");
		assert_int_equal(settings.address, 8);
	}
}

static void test_globals(void **state)
{
	(void)state;
	assert_reads("-j stat", "stat");
	assert_true(settings.global.json && !settings.global.pretty && !settings.global.verbose);
	assert_reads("stat -pv", "stat");
	assert_true(settings.global.json && settings.global.pretty && settings.global.verbose);
	assert_reads("--json -v -v stat --verbose", "stat");
	assert_true(settings.global.json && settings.global.verbose);
}

static void test_prefixes(void **state)
{
	(void)state;
	assert_reads("star n --address 8", "start");
	assert_reads("t s", "thing show");
	assert_reads("thing add n", "thing add");
	assert_reads("th addr n", "thing address");
	assert_refuses("sta", "'sta' is short for several commands; give one of start, stat");
	assert_refuses("s", "'s' is short for several commands; give one of start, stat");
	assert_refuses("t a n", "'a' is short for several commands; give one of add, address");
	assert_refuses("thingy add", "'thingy' is no command; give one of start, stat, thing");
	assert_refuses("thing del", "'del' is no command; give one of add, address, show");
	assert_refuses("stats", "no command");
	assert_refuses("thing", "the command is missing; give one of add, address, show");
	assert_refuses("", "the command is missing; give one of start, stat, thing");
	assert_refuses("''", "the command is missing");
}

static void test_missing_and_surplus(void **state)
{
	(void)state;
	assert_refuses("start --address 8", "NAME is missing: name of the thing");
	assert_refuses("start n", "--address is missing: where");
	assert_refuses("thing show a b", "'b' is one argument too many");
	assert_refuses("stat --count 3", "--count does not go with 'stat'");
	assert_refuses("stat --nonsense", "--nonsense is no option");
	assert_refuses("stat -x", "-x is no option");
	assert_refuses("stat --json=3", "--json takes no value");
	assert_refuses("thing add n --count", "--count needs a value");
	assert_refuses("thing add n -n", "-n needs a value");
	assert_refuses("thing add n --count 3 --count 3", "--count is given twice");
	assert_refuses("stat a b c d e f g h i j k l m n o p q r", "too many");
}

static void test_numbers(void **state)
{
	static const char *const bad[] = {"''", "-1",  "+1",  "0x",    "1k",
					  "0",  "101", "1.5", "0x0x5", "18446744073709551617",
					  "a"};
	char words[64];
	uint64_t value;

	(void)state;
	assert_reads("thing add n --count 0x64", "thing add");
	assert_int_equal(settings.count, 100);
	assert_reads("thing add n --count 010", "thing add");
	assert_int_equal(settings.count, 10);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(words, sizeof(words), "thing add n --count %s", bad[i]);
		assert_refuses(words, "is no valid --count: it must be a number from 1 to 100");
	}
	assert_reads("start n --address 0xfffffffffffffff8", "start");
	assert_int_equal(settings.address, 0xfffffffffffffff8ull);
	assert_refuses("start n --address 12",
		       "'12' is no valid --address: it must be a multiple of 8");
	assert_true(xa_parse_number("18446744073709551615", &value));
	assert_int_equal(value, UINT64_MAX);
	assert_false(xa_parse_number(" 1", &value));
	assert_false(xa_parse_number("1 ", &value));
}

static void test_names_and_words(void **state)
{
	char words[128] = "thing add ";

	(void)state;
	assert_reads("thing add A-z_09", "thing add");
	assert_refuses("thing add a.b", "'a.b' is no valid NAME: a name is 1 to 63");
	assert_refuses("thing add a/b", "is no valid NAME");
	assert_refuses("thing add ''", "is no valid NAME");
	memset(words + 10, 'x', 63);
	assert_reads(words, "thing add");
	memset(words + 10, 'x', 64);
	assert_refuses(words, "is no valid NAME");
	assert_reads("start n --address 0 --mode generic", "start");
	assert_int_equal(settings.mode, 2);
	assert_refuses("start n --address 0 --mode fast",
		       "it must be one of auto, native, generic");
	assert_refuses("stat --dev 0123456789abcdef", "1 to 15 characters");
	assert_refuses("stat --dev a/b", "is no valid --dev");
	assert_refuses("stat --text ''", "it is empty");
}

static void test_addresses(void **state)
{
	static const char *const bad[] = {"1.2.3",     "host",      "0.0.0.0",
					  "::",        "224.0.0.1", "ff02::1",
					  "1.2.3.4/8", "0.1.2.3",   "255.255.255.255"};
	char words[64], text[INET6_ADDRSTRLEN];

	(void)state;
	assert_reads("start n --address 0 --ip 10.0.0.1", "start");
	assert_int_equal(settings.ip.family, XA_IPV4);
	assert_string_equal(xa_ip_text(&settings.ip, text), "10.0.0.1");
	assert_string_equal(xa_ip_gid_text(&settings.ip, text), "::ffff:10.0.0.1");
	assert_reads("start n --address 0 --ip ::ffff:10.0.0.1", "start");
	assert_int_equal(settings.ip.family, XA_IPV4);
	assert_reads("start n --address 0 --ip fd00::1", "start");
	assert_int_equal(settings.ip.family, XA_IPV6);
	assert_string_equal(xa_ip_text(&settings.ip, text), "fd00::1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(words, sizeof(words), "start n --address 0 --ip %s", bad[i]);
		assert_refuses(words, "is no valid --ip: it must be");
	}
}

static void test_optional_value(void **state)
{
	(void)state;
	assert_reads("stat", "stat");
	assert_int_equal(settings.watch, 0);
	assert_reads("stat --watch", "stat");
	assert_int_equal(settings.watch, 1);
	assert_reads("stat --watch 5 -j", "stat");
	assert_int_equal(settings.watch, 5);
	assert_reads("--watch=3 stat", "stat");
	assert_int_equal(settings.watch, 3);
	assert_reads("--watch stat", "stat");
	assert_int_equal(settings.watch, 1);
	assert_refuses("stat --watch 0", "from 1");
	assert_refuses("stat --watch=soon", "from 1");
}

/* -h and -V end well, whatever else is wrong, and run no command. */
static void test_help_and_version(void **state)
{
	static const char *const lines[] = {
		"-h", "start -h", "--help nonsense", "thing add --count 0 -h",
		"-V", "-jV",      "stat -V"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(read_words(lines[i]), XA_EXIT_DONE);
		assert_null(captured_command);
		assert_string_equal(captured_err, "");
		assert_true(strlen(captured_out) > 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_is_free),    cmocka_unit_test(test_globals),
		cmocka_unit_test(test_prefixes),         cmocka_unit_test(test_missing_and_surplus),
		cmocka_unit_test(test_numbers),          cmocka_unit_test(test_names_and_words),
		cmocka_unit_test(test_addresses),        cmocka_unit_test(test_optional_value),
		cmocka_unit_test(test_help_and_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
