/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * number.h - a number of the command line, decimal or hexadecimal after 0x; what is none ends the program.
 */
#ifndef NUMBER_H
#define NUMBER_H

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

static inline uint64_t number(const char *what, const char *text, uint64_t least, uint64_t most)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || value < least || value > most)
		errx(2, "%s is a number from %" PRIu64 " to %" PRIu64 ", not '%s'", what, least,
		     most, text);
	return value;
}

#endif
