/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect.h - --connect: the queue pair and the memory region that a server of RDMA-CM offers.
 */
#ifndef XATOMIC_REQ_CONNECT_H
#define XATOMIC_REQ_CONNECT_H

#include "cm/dial.h"
#include "target.h"

/*
 * Connects as --connect says. Fills in the target, rkey and address of the settings, the interface, and the window as
 * far as the server grants it. Gives up when *stop is set. Returns 0, or an exit status with a sentence on standard error.
 */
int req_connect(struct req_settings *settings, const volatile sig_atomic_t *stop,
		struct cm_call *call, struct req_target *target);

/* HOST[:PORT] in parts: host has 256 bytes. Returns false when it is none. */
bool req_split_host(const char *text, char host[256], uint16_t *port);

#endif
