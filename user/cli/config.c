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

enum { MAX_LEN = 1 << 20 };
enum { OFFER, KEYS = sizeof(keys) / sizeof(keys[0]) };

struct config {
	struct settings *settings;
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

static bool take_lines(struct config *config, char *text, char *why)
{
	char what[XA_WHY_LEN] = "", *line;

	for (int number = 1; (line = strsep(&text, "\n")); number++) {
		if (take_line(config, line, what))
			continue;
		snprintf(why, XA_WHY_LEN, "line %d: %.*s", number, XA_WHY_LEN - 24, what);
		return false;
	}
	return true;
}

/* Not a line at a time, as a file without an end may be one line. */
static bool read_text(const char *path, char *text, char *why)
{
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, MAX_LEN + 1, file) : 0;
	bool good = file && !ferror(file);

	if (!good)
		snprintf(why, XA_WHY_LEN, "it cannot be read (%s)", strerror(errno));
	else if (length > MAX_LEN)
		snprintf(why, XA_WHY_LEN, "it is longer than %d bytes", MAX_LEN);
	if (file)
		fclose(file);
	if (!good || length > MAX_LEN)
		return false;
	text[length] = '\0';
	if (strlen(text) == length)
		return true;
	snprintf(why, XA_WHY_LEN, "it is no text, as it has a byte 0");
	return false;
}

bool cli_parse_config(const struct xa_option *option, const char *text, void *field, char *why)
{
	struct config config = {.settings = (void *)((char *)field - option->offset)};
	char *lines = malloc(MAX_LEN + 1);
	bool good;

	if (!lines) {
		snprintf(why, XA_WHY_LEN, "there is no memory to read it");
		return false;
	}
	config.settings->config = text;
	good = read_text(text, lines, why) && take_lines(&config, lines, why);
	free(lines);
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
