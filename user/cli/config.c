/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.c - options from a file: a line is the name of an option and its value, "#" begins a comment.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { LINE_LEN = 1200 };

/* What a file may hold: names of values that are kept as such, not by the address of their text. */
static const struct xa_option *find_option(const char *key)
{
	static const char *const keys[] = {
		"offer",        "ports",     "perftest-port",
		"qps-per-peer", "half-open", "requests-per-second",
		"sessions",     "user",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i]))
			for (const struct xa_option *o = cli_program.options; o->name; o++)
				if (!strcmp(o->name, key))
					return o;
	return NULL;
}

static char *trim(char *text)
{
	char *end;

	text[strcspn(text, "#")] = '\0';
	text += strspn(text, " \t\n");
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* `why` gets what is wrong with a line. */
static bool take_line(struct settings *settings, char *line, char *why)
{
	char *key = trim(line), *value = key + strcspn(key, " \t=");
	const struct xa_option *option;

	if (!*key)
		return true;
	if (*value)
		*value++ = '\0';
	value += strspn(value, " \t=");
	option = find_option(key);
	if (!option) {
		snprintf(why, XA_WHY_LEN, "'%.40s' is no setting; see xatomic-serve(8)", key);
		return false;
	}
	return option->parse(option, value, (char *)settings + option->offset, why);
}

static bool read_lines(struct settings *settings, FILE *file, char *why)
{
	char line[LINE_LEN], what[XA_WHY_LEN] = "";

	for (int number = 1; fgets(line, sizeof(line), file); number++) {
		if (take_line(settings, line, what))
			continue;
		snprintf(why, XA_WHY_LEN, "line %d: %.*s", number, XA_WHY_LEN - 24, what);
		return false;
	}
	return true;
}

bool cli_parse_config(const struct xa_option *option, const char *text, void *field, char *why)
{
	struct settings *settings = (struct settings *)((char *)field - option->offset);
	FILE *file = fopen(text, "re");
	bool good;

	if (!file) {
		snprintf(why, XA_WHY_LEN, "it cannot be read (%s)", strerror(errno));
		return false;
	}
	settings->config = text;
	good = read_lines(settings, file, why);
	fclose(file);
	return good;
}

bool cli_parse_offer(const struct xa_option *option, const char *text, void *field, char *why)
{
	(void)option;
	return cm_policy_add(field, text, why);
}

bool cli_parse_ports(const struct xa_option *option, const char *text, void *field, char *why)
{
	(void)option;
	return cm_ports_parse(field, text, why);
}

bool cli_parse_user(const struct xa_option *option, const char *text, void *field, char *why)
{
	(void)option;
	if (*text && snprintf(field, CLI_USER_LEN, "%s", text) < CLI_USER_LEN)
		return true;
	snprintf(why, XA_WHY_LEN, "it must be a name of /etc/passwd");
	return false;
}
