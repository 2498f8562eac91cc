/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serve.h - the daemon: connection set-up and tear-down for requesters. It is control plane only: queue pairs
 * that it has made live on without it.
 */
#ifndef XATOMIC_CM_SERVE_H
#define XATOMIC_CM_SERVE_H

#include "event.h"
#include "loop.h"
#include "manager.h"
#include "policy.h"
#include "qps.h"
#include "sessions.h"

enum { CM_DEF_PORT = 18516, CM_DEF_PERFTEST_PORT = 18515 };

struct cm_config {
	struct cm_policy policy;
	struct cm_ports ports;
	uint32_t perftest_port; /* 0: none */
	uint32_t qps_per_peer;
	uint32_t half_open; /* connections without a sign of life of the peer */
	uint32_t requests_per_second;
	uint32_t sessions; /* of perftest at once */
};

struct cm_serve {
	const struct cm_config *config;
	struct cm_reporter reporter, listener; /* what the parts tell, and who gets it */
	struct cm_bucket refusals;
	uint64_t suppressed;
	struct cm_loop loop;
	struct cm_source signals;
	struct cm_qps qps;
	struct cm_sessions sessions;
	struct cm_manager manager;
	bool stopped;
};

/*
 * Opens everything that needs privileges, in the network namespace that the caller is in. `signals` becomes
 * readable when the daemon is to end. Returns 0, or -1 with xa_error(); to be closed in either case.
 */
int cm_serve_open(struct cm_serve *serve, const struct cm_config *config,
		  struct xa_instance *instance, int signals, const struct cm_reporter *reporter);

/* Serves until it is told to end (0), or -1 with xa_error(). */
int cm_serve_run(struct cm_serve *serve);
void cm_serve_close(struct cm_serve *serve);

#endif
