/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xatomic-req - a requester of RDMA atomics on the command line; see xatomic-req(8).
 */
#include "settings.h"

int main(int argc, char **argv)
{
	struct req_settings settings = req_defaults;

	return xa_main(&req_program, &settings, argc, argv);
}
