/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tap.h - results in the Test Anything Protocol, for tests that are tables and sweeps.
 */
#ifndef XATOMIC_TEST_TAP_H
#define XATOMIC_TEST_TAP_H

#include <stdbool.h>
#include <stddef.h>

#define TAP_PRINTF(n) __attribute__((format(printf, n, n + 1)))

/* One line of result. */
void tap_result(bool ok, const char *name, ...) TAP_PRINTF(2);

/* A result for what this machine cannot run. */
void tap_skip(const char *name, const char *why);

/* A comment line; what explains a failure goes before its result. */
void tap_note(const char *text, ...) TAP_PRINTF(1);

/* True when the two are the same; else a note tells the first byte that is not, and its surroundings. */
bool tap_same(const char *what, const void *expected, const void *got, size_t len);

/* Prints the plan. The exit status of the test program: 0 when nothing failed. */
int tap_done(void);

#endif
