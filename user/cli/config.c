/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.c - options from a file: a line is the name of an option and its value, "#" begins a comment.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What a file may hold: names of values that are kept as such, not by the address of their text. */
static const char *const keys[] = {
	"offer", /* the one that may come more than once */
	"ports",    "perftest-port", "qps-per-peer", "half-open", "requests-per-second",
	"sessions", "user",
};

enum { OFFER, KEYS = sizeof(keys) / sizeof(keys[0]) };

struct config {
	struct settings *settings;
	FILE *file;
	bool seen[KEYS];
};

static int find_key(const char *key)
{
	for (int i = 0; i < KEYS; i++)
		if (!strcmp(key, keys[i]))
			return i;
	return -1;
}

static const struct xa_option *option_of(int key)
{
	const struct xa_option *option = cli_program.options;

	while (strcmp(option->name, keys[key]) != 0)
		option++;
	return option;
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
static bool take_line(struct config *config, char *line, char *why)
{
	char *word = trim(line), *value = word + strcspn(word, " \t=");
	const struct xa_option *option;
	int key;

	if (!*word)
		return true;
	if (*value)
		*value++ = '\0';
	value += strspn(value, " \t=");
	key = find_key(word);
	if (key < 0) {
		snprintf(why, XA_WHY_LEN, "'%.40s' is no setting; see xatomic-serve(8)", word);
		return false;
	}
	if (key != OFFER && config->seen[key]) {
		snprintf(why, XA_WHY_LEN, "'%s' is there twice; keep one", word);
		return false;
	}
	config->seen[key] = true;
	option = option_of(key);
	return option->parse(option, value, (char *)config->settings + option->offset, why);
}

static bool read_lines(struct config *config, char *why)
{
	char *line = NULL, what[XA_WHY_LEN] = "";
	bool good = true;
	size_t size = 0;

	for (int number = 1; good && getline(&line, &size, config->file) >= 0; number++) {
		good = take_line(config, line, what);
		if (!good)
			snprintf(why, XA_WHY_LEN, "line %d: %.*s", number, XA_WHY_LEN - 24, what);
	}
	free(line);
	if (good && !feof(config->file)) {
		snprintf(why, XA_WHY_LEN, "it cannot be read (%s)", strerror(errno));
		return false;
	}
	return good;
}

bool cli_parse_config(const struct xa_option *option, const char *text, void *field, char *why)
{
	struct config config = {.settings = (void *)((char *)field - option->offset),
				.file = fopen(text, "re")};
	bool good;

	if (!config.file) {
		snprintf(why, XA_WHY_LEN, "it cannot be read (%s)", strerror(errno));
		return false;
	}
	config.settings->config = text;
	good = read_lines(&config, why);
	fclose(config.file);
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
