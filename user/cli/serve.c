/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli.h"
#include "cm/privileges.h"
#include "common/output.h"
#include "lib/bpffs.h"
#include "lib/error.h"
#include "lib/netns.h"

static void print_event(void *data, const struct cm_event *event)
{
	const struct xa_globals *globals = data;
	struct json_object *object = json_object_new_object();
	char peer[INET6_ADDRSTRLEN];

	cli_put_time(object, cli_now());
	xa_put_text(object, "event", event->word);
	xa_put_text(object, "service", event->service);
	xa_put_text(object, "peer", xa_ip_text(&event->peer, peer));
	if (event->lqpn)
		xa_put_number(object, "lqpn", event->lqpn);
	if (event->rqpn)
		xa_put_number(object, "rqpn", event->rqpn);
	if (event->mr)
		xa_put_text(object, "mr", event->mr);
	if (event->reason)
		xa_put_text(object, "reason", event->reason);
	if (event->suppressed)
		xa_put_number(object, "suppressed", event->suppressed);
	xa_print(globals, object);
	/* A reader that has gone is no reason to leave the peers alone. */
	fflush(stdout);
}

static void say_ready(const struct settings *settings)
{
	struct json_object *object = json_object_new_object();
	struct json_object *ports = json_object_new_array();

	cli_put_time(object, cli_now());
	xa_put_text(object, "event", "serving");
	for (size_t i = 0; i < settings->serve.ports.count; i++)
		json_object_array_add(ports, json_object_new_int(settings->serve.ports.list[i]));
	json_object_object_add(object, "ports", ports);
	xa_put_number(object, "perftest_port", settings->serve.perftest_port);
	xa_put_number(object, "offers", settings->serve.policy.offer_count);
	xa_print(&settings->global, object);
	fflush(stdout);
}

/* Two at once would take each other's packets. */
static int lock_service(const struct xa_instance *instance)
{
	char path[PATH_MAX];
	int lock;

	if (xa_instance_path(instance, "serve", NULL, path))
		return -1;
	lock = xa_lock_dir(path, LOCK_EX | LOCK_NB);
	if (lock >= 0)
		return lock;
	return xa_error("instance '%s' cannot be served (%s); one 'xatomic serve' can run at a "
			"time, end the other one",
			instance->name,
			errno == EWOULDBLOCK ? "another process does it" : strerror(errno));
}

/* For good: the sockets of the daemon are to be there. */
static int move_to(const char *netns)
{
	int home = xa_netns_enter(netns);

	if (home >= 0) {
		close(home);
		return 0;
	}
	return xa_error("the network namespace '%s' cannot be entered (%s); 'ip netns list' shows "
			"those that there are",
			netns, strerror(-home));
}

static int serve(const struct settings *settings, struct xa_instance *instance)
{
	const struct cm_reporter reporter = {print_event, (void *)&settings->global};
	static struct cm_serve daemon;
	int status;

	signal(SIGPIPE, SIG_IGN);
	status = cm_serve_open(&daemon, &settings->serve, instance, cli_catch_signals(), &reporter);
	if (!status)
		status = cm_drop_privileges(*settings->user ? settings->user : NULL);
	if (!status) {
		say_ready(settings);
		status = cm_serve_run(&daemon);
	}
	cm_serve_close(&daemon);
	return status;
}

int cli_serve(void *data)
{
	struct settings *settings = data;
	struct xa_instance instance;
	int lock, status = -1;

	if (cli_open(settings, &instance, LOCK_SH)) {
		cm_policy_free(&settings->serve.policy);
		return XA_EXIT_FAILED;
	}
	lock = lock_service(&instance);
	xa_instance_unlock(&instance);
	if (lock >= 0 && (!settings->netns || !move_to(settings->netns)))
		status = serve(settings, &instance);
	if (status)
		cli_failed();
	if (lock >= 0)
		close(lock);
	xa_instance_close(&instance);
	cm_policy_free(&settings->serve.policy);
	return status ? XA_EXIT_FAILED : XA_EXIT_DONE;
}
