/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - the command line of both programs, described by tables.
 *
 * A program has one table of options and positional arguments and one table of commands. A command
 * names what it takes by a synopsis such as "NAME --words [--iova]"; what may be given, what must be
 * given, the usage line and the help all come from there, so they cannot differ.
 *
 *	struct settings {
 *		struct xa_globals global;	// must come first
 *		const char *dev;
 *		uint32_t count;
 *	};
 *	static const struct xa_option options[] = {
 *		{"dev", .metavar = "IFACE", .help = "interface to send on", .parse = xa_opt_text,
 *		 .offset = offsetof(struct settings, dev)},
 *		{"count", 'n', "N", "operations", xa_opt_u32, offsetof(struct settings, count),
 *		 .min = 1, .max = 1000},
 *		{0},
 *	};
 *	static const struct xa_command commands[] = {
 *		{"fadd", "--dev [--count]", "adds to a remote word", run_fadd},
 *		{0},
 *	};
 *	static const struct xa_program program = {"xatomic-req", "RDMA atomics ...", options, commands};
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct settings settings = {.count = 1};	// the defaults
 *
 *		return xa_main(&program, &settings, argc, argv);
 *	}
 *
 * Options may stand anywhere, as --name VALUE, --name=VALUE or by their letter. An option with a value
 * may be given once. -j -p -v -V -h are always there.
 */
#ifndef XATOMIC_COMMON_OPTIONS_H
#define XATOMIC_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { XA_EXIT_DONE, XA_EXIT_FAILED, XA_EXIT_USAGE };

struct xa_globals {
	bool json; /* set by -p too */
	bool pretty;
	bool verbose;
	bool version;
	bool help;
};

enum { XA_WHY_LEN = 160 };

struct xa_option;

/*
 * Reads `text` into `field`. Returns false with the reason in `why`, as the end of a sentence that
 * begins with "'TEXT' is no valid --NAME: ", for example "it must be a number from 1 to 128".
 */
typedef bool (*xa_parse_fn)(const struct xa_option *option, const char *text, void *field,
			    char why[XA_WHY_LEN]);

struct xa_option {
	const char *name;    /* "words" is --words; capitals ("NAME") make a positional argument */
	char letter;         /* short form, 0: none */
	const char *metavar; /* what the usage calls the value; NULL: a flag, field bool */
	const char *help;    /* no capital, no full stop */
	xa_parse_fn parse;   /* unused for flags */
	size_t offset;       /* of the field in the settings */
	uint64_t min, max;   /* for numbers; max 0: what the type holds */
	uint64_t multiple;   /* numbers must be a multiple of it; 0: any */
	const char *const *words; /* for xa_opt_word, ends with NULL */
	bool value_optional;      /* the option may stand alone; parse is then called with NULL */
};

/*
 * Commands of one name may follow each other: variants, of which the one counts whose synopsis begins with an option
 * that is given, else the first one.
 */
struct xa_command {
	const char *name; /* one or two words: "attach", "mr add" */
	const char *
		synopsis; /* positional arguments in order, then options; [] what may be left out */
	const char *help;
	int (*run)(void *settings); /* returns the exit status */
};

struct xa_program {
	const char *name;
	const char *help;
	const struct xa_option *options;   /* ends with an all-zero entry; at most 56 */
	const struct xa_command *commands; /* likewise */
	const char
		*everywhere; /* synopsis of what every command takes besides -j ... -h, or NULL */
};

/*
 * Reads the command line and runs the command. Returns the exit status: the command's, 0 after -h and
 * -V, 2 with a sentence and a usage line on stderr when the command line is wrong, 1 when standard
 * output could not be written.
 */
int xa_main(const struct xa_program *program, void *settings, int argc, char **argv);

/*
 * The first half of xa_main: fills `settings` and says which command it is. Returns XA_EXIT_DONE with
 * *command set, XA_EXIT_DONE with NULL there after -h or -V, or XA_EXIT_USAGE.
 */
int xa_read_options(const struct xa_program *program, void *settings, int argc, char **argv,
		    const struct xa_command **command);

/* Decimal, or hexadecimal after 0x. No sign, no blanks, nothing behind. */
bool xa_parse_number(const char *text, uint64_t *number);

/* For xa_option.parse; the type of the field is in the comment. */
bool xa_opt_text(const struct xa_option *, const char *, void *, char *); /* const char *, not "" */
bool xa_opt_name(const struct xa_option *, const char *, void *,
		 char *); /* const char *: an MR or instance */
bool xa_opt_iface(const struct xa_option *, const char *, void *, char *); /* const char * */
bool xa_opt_u32(const struct xa_option *, const char *, void *, char *);   /* uint32_t */
bool xa_opt_u64(const struct xa_option *, const char *, void *, char *);   /* uint64_t */
bool xa_opt_word(const struct xa_option *, const char *, void *,
		 char *);                                               /* int: index into words */
bool xa_opt_ip(const struct xa_option *, const char *, void *, char *); /* struct xa_ip, a host's */

/*
 * One line on stderr: "PROGRAM: sentence". The first returns XA_EXIT_FAILED; the second is for what goes
 * on nevertheless.
 */
int xa_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void xa_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
