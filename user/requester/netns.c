/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	error = setns(fd, CLONE_NEWNET) ? -errno : 0;
	close(fd);
	return error;
}

int xa_netns_enter(const char *name)
{
	char path[PATH_MAX];
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), error;

	if (home < 0)
		return -errno;
	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		error = -ENOENT;
	else if (snprintf(path, sizeof(path), "/run/netns/%s", name) >= (int)sizeof(path))
		error = -ENOENT;
	else
		error = enter(path);
	if (!error)
		return home;
	close(home);
	return error;
}

void xa_netns_leave(int handle)
{
	/* In a foreign namespace by surprise, a caller would act on the wrong interfaces. */
	if (setns(handle, CLONE_NEWNET))
		abort();
	close(handle);
}
