/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sessions.h - TCP connections of perftest's clients.
 */
#ifndef XATOMIC_CM_SESSIONS_H
#define XATOMIC_CM_SESSIONS_H

#include "event.h"
#include "loop.h"
#include "perftest.h"
#include "policy.h"
#include "qps.h"

struct cm_session;

struct cm_sessions {
	struct cm_source listener; /* must be first */
	struct cm_loop *loop;
	struct cm_qps *qps;
	const struct cm_policy *policy;
	const struct cm_reporter *reporter;
	struct cm_session *list;
	size_t count, max;
};

/* Listens on a TCP port of all addresses. Returns 0, or -1 with xa_error(). */
int cm_sessions_open(struct cm_sessions *sessions, uint16_t port);

/* Ends those whose client has been silent for too long. Returns when to look again. */
uint64_t cm_sessions_expire(struct cm_sessions *sessions, uint64_t now_ns);

/* Ends all, with their queue pairs. */
void cm_sessions_close(struct cm_sessions *sessions);

#endif
