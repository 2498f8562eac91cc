/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE = 1000 };

#define OWN_NETNS   "/proc/thread-self/ns/net"
#define NETNS_DIR   "/run/netns/"
#define OTHERS_GLOB "/proc/[0-9]*/ns/net"

static bool is_here(int fd)
{
	struct stat st, here;

	return !fstat(fd, &st) && !stat(OWN_NETNS, &here) && st.st_dev == here.st_dev &&
	       st.st_ino == here.st_ino;
}

/* Whoever may not change namespaces may yet stay where it is. */
static int move_to(int fd)
{
	return is_here(fd) ? 0 : setns(fd, CLONE_NEWNET);
}

int xa_netns_enter_path(const char *path)
{
	int home = open(OWN_NETNS, O_RDONLY | O_CLOEXEC), fd, error;

	if (home < 0)
		return -errno;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	error = fd < 0 || move_to(fd) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (!error)
		return home;
	close(home);
	return error;
}

int xa_netns_enter(const char *name)
{
	char path[PATH_MAX];

	if (!name)
		return xa_netns_enter_path(OWN_NETNS);
	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return -ENOENT;
	if (snprintf(path, sizeof(path), NETNS_DIR "%s", name) >= (int)sizeof(path))
		return -ENOENT;
	return xa_netns_enter_path(path);
}

void xa_netns_leave(int handle)
{
	int tries = PATIENCE;

	/* The kernel may be short of memory for a moment. */
	while (move_to(handle)) {
		/* In a foreign namespace by surprise, a caller would act on the wrong interfaces. */
		if (!--tries)
			abort();
		sched_yield();
	}
	close(handle);
}

static ino_t id_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

ino_t xa_netns_id(void)
{
	return id_of(OWN_NETNS);
}

/* Appends what the pattern matches. Nothing there is nothing to visit. */
static void list(glob_t *paths, const char *pattern)
{
	glob(pattern, paths->gl_pathc ? GLOB_APPEND : 0, NULL, paths);
}

/* Does an error tell of us and not of the namespace? */
static bool is_shortage(int error)
{
	return error == ENOMEM || error == EMFILE || error == ENFILE;
}

/* Namespaces that are gone or closed to us are passed over. */
static int visit_path(const char *path, bool (*visit)(void *), void *data)
{
	int home = xa_netns_enter_path(path);
	bool found;

	if (home < 0)
		return is_shortage(-home) ? home : 0;
	found = visit(data);
	xa_netns_leave(home);
	return found;
}

/* Adds `id` to those seen before, unless it is there or no id at all. */
static bool is_new(ino_t *seen, size_t *count, ino_t id)
{
	for (size_t i = 0; i < *count; i++)
		if (seen[i] == id)
			return false;
	if (id)
		seen[(*count)++] = id;
	return id;
}

static int visit_all(const glob_t *paths, bool (*visit)(void *data), void *data)
{
	ino_t *seen = calloc(paths->gl_pathc + 1, sizeof(*seen)), id;
	size_t count = 0;
	int status = 0;

	if (!seen)
		return -ENOMEM;
	is_new(seen, &count, xa_netns_id());
	for (size_t i = 0; i < paths->gl_pathc && !status; i++) {
		id = id_of(paths->gl_pathv[i]);
		if (!id && is_shortage(errno))
			status = -errno;
		else if (is_new(seen, &count, id))
			status = visit_path(paths->gl_pathv[i], visit, data);
	}
	free(seen);
	return status;
}

int xa_netns_search(bool (*visit)(void *data), void *data)
{
	glob_t paths = {0};
	int status = visit(data);

	if (status)
		return status;
	list(&paths, NETNS_DIR "*");
	list(&paths, OTHERS_GLOB);
	status = visit_all(&paths, visit, data);
	globfree(&paths);
	return status;
}

int xa_netns_name(char *name)
{
	ino_t own = xa_netns_id(), id;
	int status = own ? 0 : -errno;
	glob_t paths = {0};

	*name = '\0';
	list(&paths, NETNS_DIR "*");
	for (size_t i = 0; i < paths.gl_pathc && !*name && !status; i++) {
		id = id_of(paths.gl_pathv[i]);
		if (!id && is_shortage(errno))
			status = -errno;
		else if (id == own)
			snprintf(name, NAME_MAX + 1, "%s", paths.gl_pathv[i] + strlen(NETNS_DIR));
	}
	globfree(&paths);
	return status;
}
