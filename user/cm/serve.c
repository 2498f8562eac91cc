/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve.h"

#include <string.h>

#include "requester/qp.h"

enum { REFUSALS_TOLD = 10 }; /* a second */

static void stop(struct cm_source *source)
{
	struct cm_serve *serve =
		(struct cm_serve *)((char *)source - offsetof(struct cm_serve, signals));

	serve->stopped = true;
}

/* Anybody can make us refuse something, so that has a limit; what has changed is told in full. */
static void pass_on(void *data, const struct cm_event *event)
{
	struct cm_serve *serve = data;
	struct cm_event told = *event;

	if (!strcmp(event->word, "refused")) {
		if (!cm_bucket_take(&serve->refusals, xa_clock_ns())) {
			serve->suppressed++;
			return;
		}
		told.suppressed = serve->suppressed;
		serve->suppressed = 0;
	}
	cm_report(&serve->listener, &told);
}

static int open_manager(struct cm_serve *serve)
{
	const struct cm_manager_attr attr = {
		.loop = &serve->loop,
		.qps = &serve->qps,
		.policy = &serve->config->policy,
		.ports = &serve->config->ports,
		.reporter = &serve->reporter,
		.max_half_open = serve->config->half_open,
		.requests_per_second = serve->config->requests_per_second,
	};

	return cm_manager_open(&serve->manager, &attr);
}

int cm_serve_open(struct cm_serve *serve, const struct cm_config *config,
		  struct xa_instance *instance, int signals, const struct cm_reporter *reporter)
{
	memset(serve, 0, sizeof(*serve));
	serve->config = config;
	serve->listener = *reporter;
	serve->reporter = (struct cm_reporter){.report = pass_on, .data = serve};
	serve->refusals.rate = REFUSALS_TOLD;
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
	serve->manager.packet = -1;
	if (cm_loop_open(&serve->loop) || cm_loop_add(&serve->loop, &serve->signals) ||
	    open_manager(serve))
		return -1;
	return config->perftest_port ? cm_sessions_open(&serve->sessions, config->perftest_port)
				     : 0;
}

int cm_serve_run(struct cm_serve *serve)
{
	uint64_t deadline, now, other;

	/* At least once a second, as the manager's sign of life is due. */
	while (!serve->stopped) {
		if (xa_instance_check(serve->qps.instance))
			return -1;
		now = xa_clock_ns();
		deadline = cm_sessions_expire(&serve->sessions, now);
		other = cm_manager_timer(&serve->manager, now);
		if (other < deadline)
			deadline = other;
		if (cm_qps_end_turn(&serve->qps) || cm_loop_turn(&serve->loop, deadline) ||
		    cm_qps_end_turn(&serve->qps))
			return -1;
	}
	return 0;
}

void cm_serve_close(struct cm_serve *serve)
{
	cm_sessions_close(&serve->sessions);
	cm_manager_close(&serve->manager);
	cm_qps_end_turn(&serve->qps);
	cm_loop_close(&serve->loop);
}
