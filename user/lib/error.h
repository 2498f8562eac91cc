/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.h - how the library says what went wrong: functions return -1 and leave a sentence behind, which
 * xatomic_error() (xatomic/error.h) hands out.
 */
#ifndef XATOMIC_LIB_ERROR_H
#define XATOMIC_LIB_ERROR_H

/*
 * Keeps the sentence for this thread and returns -1. It should say what, why and what to do, without a
 * capital at its start, a full stop or a newline. errno stays as it is.
 */
int xa_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and sets errno. */
int xa_error_set(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
