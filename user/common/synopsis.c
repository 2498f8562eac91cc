/* SPDX-License-Identifier: BSD-2-Clause */
#include "synopsis.h"

#include <stdlib.h>
#include <string.h>

#define GLOBAL(field) .offset = offsetof(struct xa_globals, field)

const struct xa_option xa_global_options[] = {
	{"json", 'j', .help = "print JSON", GLOBAL(json)},
	{"pretty", 'p', .help = "print JSON in many lines, for people", GLOBAL(pretty)},
	{"verbose", 'v', .help = "say more", GLOBAL(verbose)},
	{"version", 'V', .help = "print the version and exit", GLOBAL(version)},
	{"help", 'h', .help = "print this and exit", GLOBAL(help)},
	{0},
};

/* A name that a synopsis uses and the table lacks is a fault of the program, not of its user. */
static int option_index(const struct xa_program *program, const char *name, size_t len)
{
	for (int i = 0; program->options[i].name; i++)
		if (strlen(program->options[i].name) == len &&
		    !memcmp(program->options[i].name, name, len))
			return i;
	abort();
}

bool xa_next_item(const struct xa_program *program, const char **synopsis, struct xa_item *item)
{
	const char *begin = *synopsis + strspn(*synopsis, " ");
	size_t len = strcspn(begin, " ");

	if (!len)
		return false;
	*synopsis = begin + len;
	item->required = *begin != '[';
	if (!item->required) {
		begin++;
		len -= 2;
	}
	item->positional = *begin != '-';
	if (!item->positional) {
		begin += 2;
		len -= 2;
	}
	item->index = option_index(program, begin, len);
	return true;
}

const char *xa_everywhere(const struct xa_program *program)
{
	return program->everywhere ? program->everywhere : "";
}

static void print_items(FILE *out, const struct xa_program *program, const char *synopsis)
{
	struct xa_item item;

	while (xa_next_item(program, &synopsis, &item)) {
		const struct xa_option *option = &program->options[item.index];

		fputs(item.required ? " " : " [", out);
		fprintf(out, "%s%s", item.positional ? "" : "--", option->name);
		if (option->metavar && !item.positional)
			fprintf(out, option->value_optional ? " [%s]" : " %s", option->metavar);
		fputs(item.required ? "" : "]", out);
	}
}

void xa_print_usage(FILE *out, const struct xa_program *program, const struct xa_command *command)
{
	fprintf(out, "%s", program->name);
	print_items(out, program, xa_everywhere(program));
	if (!command) {
		fprintf(out, " COMMAND ... ('%s --help' lists the commands)", program->name);
		return;
	}
	fprintf(out, " %s", command->name);
	print_items(out, program, command->synopsis);
}

static void print_option(const struct xa_option *option, bool positional)
{
	char left[64], letter[] = "-x, ";

	letter[1] = option->letter;
	snprintf(left, sizeof(left), "%s%s%s%s%s", option->letter ? letter : "    ",
		 positional ? "" : "--", option->name, option->metavar && !positional ? " " : "",
		 option->metavar && !positional ? option->metavar : "");
	printf("  %-26s %s\n", left, option->help);
}

static void print_item_help(const struct xa_program *program, const char *synopsis)
{
	struct xa_item item;

	while (xa_next_item(program, &synopsis, &item))
		print_option(&program->options[item.index], item.positional);
}

static void print_commands(const struct xa_program *program)
{
	printf("\nCommands (a prefix will do while it names one command only):\n");
	for (const struct xa_command *command = program->commands; command->name; command++) {
		printf("  %s", command->name);
		print_items(stdout, program, command->synopsis);
		printf("\n        %s\n", command->help);
	}
}

/* All commands of this name. */
static void print_variants(const struct xa_program *program, const struct xa_command *command)
{
	const char *name = command->name, *separator = "";

	for (command = program->commands; command->name; command++) {
		if (strcmp(command->name, name))
			continue;
		printf("%sUsage: ", separator);
		xa_print_usage(stdout, program, command);
		printf("\n\n%s %s: %s.\n\n", program->name, command->name, command->help);
		print_item_help(program, command->synopsis);
		separator = "\n";
	}
}

void xa_print_help(const struct xa_program *program, const struct xa_command *command)
{
	if (command) {
		print_variants(program, command);
	} else {
		printf("Usage: %s [OPTION]... COMMAND ...\n\n%s: %s.\n", program->name,
		       program->name, program->help);
		print_commands(program);
	}
	printf("\nWith every command:\n");
	print_item_help(program, xa_everywhere(program));
	for (const struct xa_option *option = xa_global_options; option->name; option++)
		print_option(option, false);
	printf("\nNumbers are decimal, or hexadecimal after 0x. Exit status: 0 done, 1 failed, 2 "
	       "usage.\n");
}
