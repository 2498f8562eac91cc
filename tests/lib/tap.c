/* SPDX-License-Identifier: BSD-2-Clause */
#include "tap.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

enum { CONTEXT = 8 };

static unsigned int results, failures;

static void print(const char *format, va_list args)
{
	vprintf(format, args);
	putchar('\n');
}

void tap_result(bool ok, const char *name, ...)
{
	va_list args;

	failures += !ok;
	printf("%sok %u - ", ok ? "" : "not ", ++results);
	va_start(args, name);
	print(name, args);
	va_end(args);
	fflush(stdout);
}

void tap_skip(const char *name, const char *why)
{
	printf("ok %u - %s # SKIP %s\n", ++results, name, why);
}

void tap_note(const char *text, ...)
{
	va_list args;

	printf("# ");
	va_start(args, text);
	print(text, args);
	va_end(args);
}

static void print_bytes(const char *label, const uint8_t *bytes, size_t from, size_t to)
{
	printf("#   %s", label);
	for (size_t i = from; i < to; i++)
		printf(" %02x", bytes[i]);
	putchar('\n');
}

bool tap_same(const char *what, const void *expected, const void *got, size_t len)
{
	const uint8_t *a = expected, *b = got;
	size_t at = 0, from, to;

	while (at < len && a[at] == b[at])
		at++;
	if (at == len)
		return true;
	from = at > CONTEXT ? at - CONTEXT : 0;
	to = at + CONTEXT < len ? at + CONTEXT : len;
	tap_note("%s differs at byte %zu; from byte %zu on:", what, at, from);
	print_bytes("expected", a, from, to);
	print_bytes("got     ", b, from, to);
	return false;
}

int tap_done(void)
{
	printf("1..%u\n", results);
	return failures || !results;
}
