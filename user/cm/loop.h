/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.h - an event loop on epoll(7): sources that call when they are readable.
 */
#ifndef XATOMIC_CM_LOOP_H
#define XATOMIC_CM_LOOP_H

#include <stdint.h>

struct cm_source {
	int fd;
	void (*ready)(struct cm_source *source);
};

struct cm_loop {
	int epoll;
};

/* All return 0, or -1 with xa_error(). */
int cm_loop_open(struct cm_loop *loop);
int cm_loop_add(struct cm_loop *loop, struct cm_source *source);
void cm_loop_close(struct cm_loop *loop);

/* Closes the source's descriptor as well; fine for one that is closed already. */
void cm_loop_drop(struct cm_loop *loop, struct cm_source *source);

/* Calls those that are ready, after waiting until the time of `deadline` (CLOCK_MONOTONIC) at most. */
int cm_loop_turn(struct cm_loop *loop, uint64_t deadline_ns);

#endif
