/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "common/output.h"
#include "lib/bpffs.h"
#include "lib/error.h"
#include "lib/words.h"

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int64_t cli_now(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t cli_clock_offset(void)
{
	return cli_now() - clock_ns(CLOCK_MONOTONIC);
}

/* RFC 3339, UTC, to the microsecond. */
void cli_put_time(struct json_object *object, int64_t ns)
{
	char text[64], micros[16];
	time_t seconds = ns / 1000000000;
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(text, sizeof(text) - sizeof(micros), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(micros, sizeof(micros), ".%06dZ", (int)(ns / 1000 % 1000000));
	strcat(text, micros);
	xa_put_text(object, "time", text);
}

struct json_object *cli_event_json(const struct xa_event *event, int64_t clock_offset_ns)
{
	struct json_object *object = json_object_new_object();

	cli_put_time(object, (int64_t)event->time_ns + clock_offset_ns);
	xa_put_text(object, "event", xa_event_word(event->type));
	xa_put_number(object, "lqpn", event->lqpn);
	xa_put_text(object, "reason", xa_reason_word(event->reason));
	xa_put_number(object, "psn", event->psn);
	xa_put_number(object, "rkey", event->rkey);
	xa_put_number(object, "va", event->va);
	xa_put_number(object, "opcode", event->opcode);
	return object;
}

struct monitor {
	const struct settings *settings;
	struct ring_buffer *ring;
	int status;
};

static int print_event(void *data, void *record, size_t len)
{
	struct monitor *monitor = data;

	if (len < sizeof(struct xa_event))
		return 0;
	xa_print(&monitor->settings->global, cli_event_json(record, cli_clock_offset()));
	monitor->status = xa_flush(XA_EXIT_DONE);
	return monitor->status ? -ECANCELED : 0;
}

/* An event goes to one reader only, and two at once would take each other's records apart. */
static int lock_events(const struct xa_instance *instance)
{
	char path[PATH_MAX];
	int lock;

	if (xa_instance_path(instance, "monitor", NULL, path))
		return -1;
	lock = xa_lock_dir(path, LOCK_EX | LOCK_NB);
	if (lock >= 0)
		return lock;
	return xa_error("the events of instance '%s' cannot be read (%s); one 'xatomic monitor' "
			"can run at a time, end the other one",
			instance->name,
			errno == EWOULDBLOCK ? "another process reads them" : strerror(errno));
}

static int follow(struct monitor *monitor, const struct xa_instance *instance)
{
	int signals = cli_catch_signals(), taken;

	do {
		taken = ring_buffer__consume(monitor->ring);
		if (!monitor->status && xa_instance_check(instance))
			monitor->status = cli_failed();
	} while (taken >= 0 && !monitor->status &&
		 cli_wait(signals, ring_buffer__epoll_fd(monitor->ring), CLI_CHECK_MS));
	close(signals);
	return monitor->status;
}

int cli_monitor(void *data)
{
	struct monitor monitor = {.settings = data};
	struct xa_instance instance;
	int lock, status;

	if (cli_open(data, &instance, LOCK_SH))
		return XA_EXIT_FAILED;
	lock = lock_events(&instance);
	if (lock < 0) {
		status = cli_failed();
		goto out;
	}
	monitor.ring = ring_buffer__new(instance.maps[XA_MAP_EVENTS], print_event, &monitor, NULL);
	xa_instance_unlock(&instance);
	if (monitor.ring)
		status = follow(&monitor, &instance);
	else
		status = xa_fail(
			"the events of instance '%s' cannot be mapped (%s); free some memory",
			instance.name, strerror(errno));
	ring_buffer__free(monitor.ring);
	close(lock);
out:
	xa_instance_close(&instance);
	return status;
}
