/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * synopsis.h - reads the synopses of options.h and prints usage and help from them.
 */
#ifndef XATOMIC_COMMON_SYNOPSIS_H
#define XATOMIC_COMMON_SYNOPSIS_H

#include <stdio.h>

#include "options.h"

/* One item of a synopsis. */
struct xa_item {
	int index; /* in the program's table of options */
	bool positional;
	bool required;
};

/* Takes the next item off the front of *synopsis. Returns false at its end. */
bool xa_next_item(const struct xa_program *program, const char **synopsis, struct xa_item *item);

/* The synopsis of what every command of the program takes, "" when there is none. */
const char *xa_everywhere(const struct xa_program *program);

/* "PROGRAM WORDS NAME --words N [--iova ADDR]" without a newline. */
void xa_print_usage(FILE *out, const struct xa_program *program, const struct xa_command *command);

/* What -h prints: of one command, or of the whole program when `command` is NULL. */
void xa_print_help(const struct xa_program *program, const struct xa_command *command);

/* -j -p -v -V -h, fields of struct xa_globals; ends with an all-zero entry. */
extern const struct xa_option xa_global_options[];

#endif
