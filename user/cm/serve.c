/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve.h"

#include <string.h>

#include "requester/qp.h"

static void stop(struct cm_source *source)
{
	struct cm_serve *serve =
		(struct cm_serve *)((char *)source - offsetof(struct cm_serve, signals));

	serve->stopped = true;
}

int cm_serve_open(struct cm_serve *serve, const struct cm_config *config,
		  struct xa_instance *instance, int signals, const struct cm_reporter *reporter)
{
	memset(serve, 0, sizeof(*serve));
	serve->config = config;
	serve->reporter = *reporter;
	serve->signals = (struct cm_source){.fd = signals, .ready = stop};
	serve->sessions = (struct cm_sessions){
		.listener.fd = -1,
		.loop = &serve->loop,
		.qps = &serve->qps,
		.policy = &config->policy,
		.reporter = &serve->reporter,
		.max = config->sessions,
	};
	cm_qps_init(&serve->qps, instance, config->qps_per_peer);
	if (cm_loop_open(&serve->loop) || cm_loop_add(&serve->loop, &serve->signals))
		return -1;
	return config->perftest_port ? cm_sessions_open(&serve->sessions, config->perftest_port)
				     : 0;
}

int cm_serve_run(struct cm_serve *serve)
{
	uint64_t deadline;

	while (!serve->stopped) {
		deadline = cm_sessions_expire(&serve->sessions, xa_clock_ns());
		if (cm_qps_end_turn(&serve->qps) || cm_loop_turn(&serve->loop, deadline) ||
		    cm_qps_end_turn(&serve->qps))
			return -1;
	}
	return 0;
}

void cm_serve_close(struct cm_serve *serve)
{
	cm_sessions_close(&serve->sessions);
	cm_qps_end_turn(&serve->qps);
	cm_loop_close(&serve->loop);
}
