/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer target: the command line, one argument a line, with an option of every kind. */
#include <string.h>

#include "common/options.h"
#include "lib/address.h"

enum { ARGS_MAX = 32, TEXT_MAX = 512 };

struct settings {
	struct xa_globals global;
	const char *name, *dev, *text;
	uint32_t number;
	uint64_t address;
	int word;
	struct xa_ip ip;
};

static const char *const words[] = {"auto", "native", "generic", NULL};

#define AT(field) .offset = offsetof(struct settings, field)

static const struct xa_option options[] = {
	{"NAME", .help = "name", .parse = xa_opt_name, AT(name)},
	{"dev", 'd', "IFACE", "interface", xa_opt_iface, AT(dev)},
	{"text", .metavar = "TEXT", .help = "text", .parse = xa_opt_text, AT(text)},
	{"number", 'n', "N", "number", xa_opt_u32, AT(number), .min = 1, .max = 100},
	{"address", .metavar = "ADDR", .help = "address", .parse = xa_opt_u64, AT(address),
	 .multiple = 8},
	{"word", .metavar = "WORD", .help = "word", .parse = xa_opt_word, AT(word), .words = words},
	{"ip", .metavar = "IP", .help = "peer", .parse = xa_opt_ip, AT(ip)},
	{0},
};

static int no_run(void *settings)
{
	(void)settings;
	return XA_EXIT_DONE;
}

static const struct xa_command commands[] = {
	{"mr add", "NAME --number [--address] [--text]", "adds", no_run},
	{"mr show", "[NAME]", "shows", no_run},
	{"qp add", "--ip [--dev]", "adds", no_run},
	{"attach", "NAME", "attaches", no_run},
	{0},
};

static const struct xa_program program = {"fuzz", "fuzzed", options, commands, "[--word]"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX], *argv[ARGS_MAX + 2] = {"fuzz"}, *rest = text, *arg;
	const struct xa_command *command = NULL;
	struct settings settings = {0};
	int argc = 1;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	while (argc <= ARGS_MAX && (arg = strsep(&rest, "\n")))
		argv[argc++] = arg;
	argv[argc] = NULL;
	xa_read_options(&program, &settings, argc, argv, &command);
	return 0;
}
