/* SPDX-License-Identifier: BSD-2-Clause */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "xatomic/error.h"

static _Thread_local char sentence[1024];

int xa_error(const char *format, ...)
{
	int error = errno;
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	errno = error;
	return -1;
}

int xa_error_set(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	errno = error;
	return -1;
}

const char *xatomic_error(void)
{
	return sentence;
}
