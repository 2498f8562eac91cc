/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.h - runs a command line through the option reader and keeps what it prints. Included once per
 * test program.
 */
#ifndef XATOMIC_TESTS_CAPTURE_H
#define XATOMIC_TESTS_CAPTURE_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"

static char captured_out[65536], captured_err[4096];
static const struct xa_command *captured_command;

struct capture {
	int fd, keep;
	FILE *file;
};

static inline void begin_capture(struct capture *capture, FILE *stream, int fd)
{
	fflush(stream);
	capture->fd = fd;
	capture->keep = dup(fd);
	capture->file = tmpfile();
	dup2(fileno(capture->file), fd);
}

static inline void end_capture(struct capture *capture, FILE *stream, char *text, size_t size)
{
	fflush(stream);
	dup2(capture->keep, capture->fd);
	close(capture->keep);
	rewind(capture->file);
	text[fread(text, 1, size - 1, capture->file)] = '\0';
	fclose(capture->file);
}

/*
 * Reads the words of `line`, parted by blanks; '' is an empty one. Fills captured_out, captured_err and
 * captured_command. The settings may point into the words until the next call.
 */
static inline int read_line(const struct xa_program *program, void *settings, const char *line)
{
	static char copy[512];
	char *argv[32] = {"prog"}, *save = NULL;
	struct capture out, err;
	int argc = 1, status;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = strcmp(word, "''") ? word : "";
	begin_capture(&out, stdout, STDOUT_FILENO);
	begin_capture(&err, stderr, STDERR_FILENO);
	status = xa_read_options(program, settings, argc, argv, &captured_command);
	end_capture(&err, stderr, captured_err, sizeof(captured_err));
	end_capture(&out, stdout, captured_out, sizeof(captured_out));
	return status;
}

static inline int lines_of(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

#endif
