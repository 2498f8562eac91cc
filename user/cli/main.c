/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xatomic - manages a responder for RDMA atomics that runs in XDP.
 */
#include <sys/stat.h>

#include "cli.h"

int main(int argc, char **argv)
{
	struct settings settings;

	/* Pins are the owner's, their directories everybody's to pass through. */
	umask(022);
	cli_defaults(&settings);
	return xa_main(&cli_program, &settings, argc, argv);
}
