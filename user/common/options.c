/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "synopsis.h"

enum { MAX_OPTIONS = 64, MAX_WORDS = 16, FIRST_VAL = 256 };

/* What stands on the command line, before anybody has judged it. */
struct line {
	const struct xa_program *program;
	const struct xa_command *command;
	struct xa_globals *globals;
	const struct xa_option *options[MAX_OPTIONS + 1]; /* the program's, then the global ones */
	int option_count;
	const char *values[MAX_OPTIONS];
	uint64_t given; /* bit = index into options */
	const char *words[MAX_WORDS];
	int word_count;
	int command_words;           /* how many of the words name the command */
	const struct xa_option *way; /* given, and tells which of a command's ways is meant */
	char error[512];             /* the first one; empty: none */
};

/* Keeps the first error only: what follows is often but its consequence. */
__attribute__((format(printf, 2, 3))) static bool wrong(struct line *line, const char *format, ...)
{
	va_list args;

	if (line->error[0])
		return false;
	va_start(args, format);
	vsnprintf(line->error, sizeof(line->error), format, args);
	va_end(args);
	return false;
}

static bool is_positional(const struct xa_option *option)
{
	return isupper((unsigned char)option->name[0]);
}

static void list_options(struct line *line)
{
	for (const struct xa_option *o = line->program->options; o->name; o++)
		line->options[line->option_count++] = o;
	for (const struct xa_option *o = xa_global_options; o->name; o++)
		line->options[line->option_count++] = o;
}

/* getopt's view of the table. In-order mode, so that words keep their place among the options. */
static void fill_getopt(const struct line *line, char *letters, struct option *longs)
{
	letters += sprintf(letters, "-:");
	for (int i = 0; i < line->option_count; i++) {
		const struct xa_option *option = line->options[i];
		bool value = option->metavar && !option->value_optional;

		if (is_positional(option))
			continue;
		if (option->letter)
			letters += sprintf(letters, "%c%s", option->letter, value ? ":" : "");
		*longs++ = (struct option){option->name,
					   value                    ? required_argument
					   : option->value_optional ? optional_argument
								    : no_argument,
					   NULL, FIRST_VAL + i};
	}
	*longs = (struct option){0};
}

static int find_letter(const struct line *line, int letter)
{
	for (int i = 0; i < line->option_count; i++)
		if (line->options[i]->letter == letter)
			return i;
	return 0;
}

static void take_word(struct line *line, const char *word)
{
	if (line->word_count == MAX_WORDS)
		wrong(line, "'%s' is one argument too many; leave it out", word);
	else
		line->words[line->word_count++] = word;
}

static void take_option(struct line *line, int index, char **argv)
{
	const struct xa_option *option = line->options[index];
	uint64_t unused;

	if (option->metavar && line->given >> index & 1)
		wrong(line, "--%s is given twice; give it once", option->name);
	/* getopt wants an optional value behind '='; people put a blank. */
	if (option->value_optional && !optarg && argv[optind] &&
	    xa_parse_number(argv[optind], &unused))
		optarg = argv[optind++];
	line->values[index] = optarg;
	line->given |= 1ull << index;
}

static void refuse_option(struct line *line, int found, char **argv)
{
	if (found == ':')
		wrong(line, "%s needs a value; put one behind it", argv[optind - 1]);
	else if (optopt >= FIRST_VAL)
		wrong(line, "--%s takes no value; leave out the '=' and what follows",
		      line->options[optopt - FIRST_VAL]->name);
	else if (optopt)
		wrong(line, "-%c is no option of this program; see --help", optopt);
	else
		wrong(line, "%s is no option of this program, or short for several; see --help",
		      argv[optind - 1]);
}

static void collect(struct line *line, int argc, char **argv)
{
	char letters[3 + 2 * MAX_OPTIONS];
	struct option longs[MAX_OPTIONS + 1];
	int found;

	fill_getopt(line, letters, longs);
	opterr = 0;
	optind = 0;
	while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (found == 1)
			take_word(line, optarg);
		else if (found == '?' || found == ':')
			refuse_option(line, found, argv);
		else
			take_option(line,
				    found >= FIRST_VAL ? found - FIRST_VAL
						       : find_letter(line, found),
				    argv);
	}
	while (optind < argc)
		take_word(line, argv[optind++]);
}

/* The nth word of a command's name, its length in *len; NULL when the name has fewer words. */
static const char *name_word(const struct xa_command *command, int nth, size_t *len)
{
	const char *word = command->name;

	for (; nth && word; nth--) {
		word = strchr(word, ' ');
		word = word ? word + 1 : NULL;
	}
	*len = word ? strcspn(word, " ") : 0;
	return word;
}

struct match {
	const struct xa_command *command;
	int names;      /* different words that `given` may stand for */
	char list[128]; /* those words */
};

static void add_name(struct match *match, const char *name, size_t len)
{
	size_t used = strlen(match->list);

	match->names++;
	snprintf(match->list + used, sizeof(match->list) - used, "%s%.*s", used ? ", " : "",
		 (int)len, name);
}

/*
 * Which commands have a word at place `nth` that begins with `given` and agree with `like` before it?
 * A word given in full stands for itself only.
 */
static struct match match_word(const struct line *line, const struct xa_command *like, int nth,
			       const char *given)
{
	struct match match = {0};
	const char *last = "";
	size_t len, last_len = 0, given_len = strlen(given);

	for (const struct xa_command *c = line->program->commands; c->name; c++) {
		const char *word = name_word(c, nth, &len);

		if (!word || (nth && strncmp(c->name, like->name, word - c->name)) ||
		    strncmp(word, given, given_len))
			continue;
		if (len == given_len) {
			match = (struct match){.command = c, .names = 1};
			break;
		}
		/* Commands of one group stand together in the table. */
		if (len == last_len && !strncmp(word, last, len))
			continue;
		last = word;
		last_len = len;
		add_name(&match, word, len);
		match.command = c;
	}
	return match;
}

static bool find_command(struct line *line)
{
	const struct xa_command *command = NULL;
	struct match match;
	size_t len;
	int nth = 0;

	do {
		const char *given = nth < line->word_count ? line->words[nth] : "";

		match = match_word(line, command, nth, given);
		if (!*given)
			return wrong(line, "the command is missing; give one of %s", match.list);
		if (!match.names)
			return wrong(line, "'%s' is no command; give one of %s", given,
				     match_word(line, command, nth, "").list);
		if (match.names > 1)
			return wrong(line, "'%s' is short for several commands; give one of %s",
				     given, match.list);
		command = match.command;
		nth++;
	} while (name_word(command, nth, &len));
	line->command = command;
	line->command_words = nth;
	return true;
}

static bool given(const struct line *line, int index)
{
	return line->given >> index & 1;
}

/* Commands that can be given in several ways: the way whose first option is there; of several, the last. */
static void choose_variant(struct line *line)
{
	const struct xa_command *command = line->command;
	struct xa_item item;

	if (!command[1].name || strcmp(command[1].name, command->name) != 0)
		return;
	for (; command->name && !strcmp(command->name, line->command->name); command++) {
		const char *synopsis = command->synopsis;

		if (!xa_next_item(line->program, &synopsis, &item) || item.positional ||
		    !given(line, item.index))
			continue;
		line->command = command;
		line->way = line->options[item.index];
	}
}

static bool store(struct line *line, int index, const char *text)
{
	const struct xa_option *option = line->options[index];
	void *field = (char *)line->globals + option->offset;
	char why[XA_WHY_LEN] = "";

	if (!option->metavar && !is_positional(option)) {
		*(bool *)field = true;
		return true;
	}
	if (option->parse(option, text, field, why))
		return true;
	return wrong(line, "'%s' is no valid %s%s: %s", text ? text : "",
		     is_positional(option) ? "" : "--", option->name, why);
}

static bool store_items(struct line *line, const char *synopsis, int *word, uint64_t *allowed)
{
	struct xa_item item;

	while (xa_next_item(line->program, &synopsis, &item)) {
		const struct xa_option *option = line->options[item.index];
		bool is_given =
			item.positional ? *word < line->word_count : given(line, item.index);

		*allowed |= 1ull << item.index;
		if (!is_given && item.required)
			return wrong(line, "%s%s is missing: %s", item.positional ? "" : "--",
				     option->name, option->help);
		if (is_given &&
		    !store(line, item.index,
			   item.positional ? line->words[(*word)++] : line->values[item.index]))
			return false;
	}
	return true;
}

static bool does_not_go(struct line *line, const struct xa_option *option)
{
	if (line->way)
		return wrong(line, "--%s does not go with '%s --%s'; leave one of them out",
			     option->name, line->command->name, line->way->name);
	return wrong(line, "--%s does not go with '%s'; leave it out", option->name,
		     line->command->name);
}

static bool store_all(struct line *line)
{
	int word = line->command_words, globals = 0;
	uint64_t allowed = 0;

	while (xa_global_options[globals].name)
		allowed |= 1ull << (line->option_count - ++globals);
	if (!store_items(line, xa_everywhere(line->program), &word, &allowed) ||
	    !store_items(line, line->command->synopsis, &word, &allowed))
		return false;
	if (word < line->word_count)
		return wrong(line, "'%s' is one argument too many; leave it out",
			     line->words[word]);
	for (int i = 0; i < line->option_count; i++)
		if (given(line, i) && !(allowed >> i & 1))
			return does_not_go(line, line->options[i]);
	return true;
}

static void store_globals(struct line *line)
{
	for (int i = 0; i < line->option_count; i++)
		if (given(line, i) && !line->options[i]->metavar)
			store(line, i, NULL);
	line->globals->json |= line->globals->pretty;
}

static int print_version(const struct line *line)
{
	struct json_object *object = json_object_new_object();

	if (!line->globals->json) {
		json_object_put(object);
		printf("%s %s\n", line->program->name, XATOMIC_VERSION);
		return XA_EXIT_DONE;
	}
	json_object_object_add(object, "version", json_object_new_string(XATOMIC_VERSION));
	return xa_print_json(line->globals, object);
}

static int print_usage_error(const struct line *line)
{
	fprintf(stderr, "%s: %s\nUsage: ", line->program->name, line->error);
	xa_print_usage(stderr, line->program, line->command);
	fputc('\n', stderr);
	return XA_EXIT_USAGE;
}

int xa_read_options(const struct xa_program *program, void *settings, int argc, char **argv,
		    const struct xa_command **command)
{
	struct line line = {.program = program, .globals = settings};

	*command = NULL;
	list_options(&line);
	collect(&line, argc, argv);
	store_globals(&line);
	if (line.globals->version && !line.error[0])
		return print_version(&line);
	if (find_command(&line))
		choose_variant(&line);
	if (line.globals->help) {
		xa_print_help(program, line.command);
		return XA_EXIT_DONE;
	}
	if (line.error[0] || !store_all(&line))
		return print_usage_error(&line);
	*command = line.command;
	return XA_EXIT_DONE;
}

int xa_main(const struct xa_program *program, void *settings, int argc, char **argv)
{
	const struct xa_command *command;
	int status = xa_read_options(program, settings, argc, argv, &command);

	if (command)
		status = command->run(settings);
	return status == XA_EXIT_USAGE ? status : xa_flush(status);
}
