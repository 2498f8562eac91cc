/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xatomic/mr.h"

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, args);
}

static bool has(const struct __user_cap_data_struct *data, int capability)
{
	return data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

static bool is_privileged(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return true;
	return has(data, CAP_SYS_ADMIN) || (has(data, CAP_BPF) && has(data, CAP_NET_ADMIN));
}

int cli_begin(const struct settings *settings)
{
	libbpf_set_print(settings->global.verbose ? print_libbpf : NULL);
	if (is_privileged())
		return 0;
	xa_fail("this user lacks CAP_BPF and CAP_NET_ADMIN, which every command needs; run xatomic "
		"as root");
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
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

bool cli_wait(int signals, int fd, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = fd, .events = POLLIN}};

	return poll(fds, 2, timeout_ms) >= 0 && !fds[0].revents;
}
