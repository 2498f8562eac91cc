/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: the command lines of both programs, as far as they are read before anything is done.
 * The first byte of an input chooses the program, then each line is an argument.
 */
#include <string.h>

#include "cli/cli.h"
#include "req/settings.h"

enum { ARGS_MAX = 32, TEXT_MAX = 512 };

static void read_xatomic(int argc, char **argv)
{
	const struct xa_command *command = NULL;
	struct settings settings;

	cli_defaults(&settings);
	xa_read_options(&cli_program, &settings, argc, argv, &command);
	cm_policy_free(&settings.serve.policy);
}

static void read_xatomic_req(int argc, char **argv)
{
	const struct xa_command *command = NULL;
	struct req_settings settings = req_defaults;

	xa_read_options(&req_program, &settings, argc, argv, &command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX], *argv[ARGS_MAX + 2] = {"fuzzed"}, *rest = text, *arg;
	int argc = 1;

	if (size == 0 || size > sizeof(text))
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	while (argc <= ARGS_MAX && (arg = strsep(&rest, "\n")))
		argv[argc++] = arg;
	argv[argc] = NULL;
	if (data[0] & 1)
		read_xatomic(argc, argv);
	else
		read_xatomic_req(argc, argv);
	return 0;
}
