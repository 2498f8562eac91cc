/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/error.h"
#include "requester/qp.h"

/* One at a time: a source may drop another one that is ready as well. */
enum { BATCH = 1, LONGEST_WAIT_MS = 60 * 1000 };

static const uint64_t ns_per_ms = 1000 * 1000;

static int failed(const char *what)
{
	return xa_error("the kernel refused %s (%s); try again", what, strerror(errno));
}

int cm_loop_open(struct cm_loop *loop)
{
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	return loop->epoll < 0 ? failed("an epoll descriptor") : 0;
}

int cm_loop_add(struct cm_loop *loop, struct cm_source *source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, source->fd, &event) ? failed("to wait") : 0;
}

void cm_loop_close(struct cm_loop *loop)
{
	close(loop->epoll);
}

void cm_loop_drop(struct cm_loop *loop, struct cm_source *source)
{
	if (source->fd < 0)
		return;
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	close(source->fd);
	source->fd = -1;
}

static int wait_ms(uint64_t deadline_ns)
{
	uint64_t now = xa_clock_ns(), left = deadline_ns > now ? deadline_ns - now : 0;

	if (left / ns_per_ms >= LONGEST_WAIT_MS)
		return LONGEST_WAIT_MS;
	return (left + ns_per_ms - 1) / ns_per_ms;
}

int cm_loop_turn(struct cm_loop *loop, uint64_t deadline_ns)
{
	struct epoll_event event;
	int got = epoll_wait(loop->epoll, &event, BATCH, wait_ms(deadline_ns));

	if (got < 0 && errno != EINTR)
		return failed("to wait");
	if (got > 0) {
		struct cm_source *source = event.data.ptr;

		source->ready(source);
	}
	return 0;
}
