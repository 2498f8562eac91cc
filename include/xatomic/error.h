/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * error.h - why a function of the library failed, in words.
 */
#ifndef XATOMIC_ERROR_H
#define XATOMIC_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong last in this thread: one sentence, no newline; valid until the next failure. */
const char *xatomic_error(void);

#ifdef __cplusplus
}
#endif

#endif
