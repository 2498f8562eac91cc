/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/capability.h"
#include "xatomic/mr.h"

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, args);
}

/* Names what this process lacks of what every command needs, or NULL. */
static const char *lacking(void)
{
	bool bpf = xa_has_bpf_capability(CAP_BPF), net = xa_has_bpf_capability(CAP_NET_ADMIN);

	if (bpf)
		return net ? NULL : "CAP_NET_ADMIN";
	return net ? "CAP_BPF" : "CAP_BPF and CAP_NET_ADMIN";
}

int cli_begin(const struct settings *settings)
{
	const char *lacks = lacking();

	libbpf_set_print(settings->global.verbose ? print_libbpf : NULL);
	if (!lacks)
		return 0;
	xa_fail("this user lacks %s, which every command needs; run xatomic as root", lacks);
	return -1;
}

int cli_open(const struct settings *settings, struct xa_instance *instance, int operation)
{
	if (cli_begin(settings))
		return -1;
	if (!xa_instance_open(instance, &settings->place, operation))
		return 0;
	cli_failed();
	xa_instance_close(instance);
	return -1;
}

int cli_failed(void)
{
	return xa_fail("%s", xatomic_error());
}

int cli_catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

bool cli_wait(int signals, int fd, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = fd, .events = POLLIN}};

	return poll(fds, 2, timeout_ms) >= 0 && !fds[0].revents;
}
