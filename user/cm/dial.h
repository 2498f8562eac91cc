/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dial.h - a connection to a server of RDMA-CM, from a host without an RDMA device: the active state machine on a
 * packet socket. Blocks until it is there, or is no more.
 */
#ifndef XATOMIC_CM_DIAL_H
#define XATOMIC_CM_DIAL_H

#include <net/if.h>
#include <signal.h>

#include "active.h"

struct cm_dial_attr {
	const char *ifname; /* NULL: as routing chooses */
	const char *netns;  /* NULL: the caller's */
	struct xa_ip peer;
	uint16_t port;
	uint8_t depth;   /* atomics in flight */
	uint8_t timeout; /* of the queue pair, verbs' encoding */
	uint8_t retry_cnt;
	const char *mr;                    /* NULL: any */
	const volatile sig_atomic_t *stop; /* not 0: give up; may be NULL */
};

struct cm_call {
	struct cm_active active;
	int fd;
	char ifname[IF_NAMESIZE];
};

/*
 * Connects. Returns 0 with active.result filled in, and the queue pair's numbers and addresses in active.attr; or -1
 * with xa_error(). To be ended by cm_hang_up() in the first case only.
 */
int cm_dial(struct cm_call *call, const struct cm_dial_attr *attr);

/* Disconnects. Returns false when the other side did not confirm it. */
bool cm_hang_up(struct cm_call *call);

#endif
