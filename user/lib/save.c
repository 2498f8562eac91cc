/* SPDX-License-Identifier: BSD-2-Clause */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "snapshot.h"

static int cannot_write(const char *path)
{
	return xa_error("%s cannot be written (%s); free some space or save elsewhere", path,
			strerror(errno));
}

/* Root's rename would make short work of a device. */
static int check_target(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : cannot_write(path);
	if (S_ISREG(st.st_mode))
		return 0;
	return xa_error("%s is there and no ordinary file; give another name", path);
}

/* One that another process has renamed or removed meanwhile is no longer there to be written. */
static bool is_at(int fd, const char *path)
{
	struct stat opened, there;

	return !fstat(fd, &opened) && !lstat(path, &there) && opened.st_dev == there.st_dev &&
	       opened.st_ino == there.st_ino;
}

static int check_draft(int fd, const char *path)
{
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK
			       ? xa_error("another 'xatomic save' is writing %s; try again later",
					  path)
			       : cannot_write(path);
	if (fstat(fd, &st))
		return cannot_write(path);
	if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink <= 1)
		return 0;
	return xa_error("%s is there and belongs to somebody else; save elsewhere", path);
}

/* Makes the file, or opens the one that is there. */
static int make_or_open(const char *path, bool *made)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd;
}

/*
 * The file that is written. A killed process leaves it behind, and then it is used again; so its name is
 * always the same, and it is locked while it is written.
 */
static int open_draft(const char *path)
{
	bool made;
	int fd;

	for (;;) {
		fd = make_or_open(path, &made);
		if (fd < 0)
			return cannot_write(path);
		if (check_draft(fd, path))
			break;
		if (!is_at(fd, path)) {
			close(fd);
			continue;
		}
		if (!fchmod(fd, 0600) && !ftruncate(fd, 0))
			return fd;
		cannot_write(path);
		break;
	}
	if (made)
		unlink(path);
	close(fd);
	return -1;
}

/* A rename is on the disk when its directory is. */
static int sync_directory(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int status = fd < 0 || fsync(fd);

	if (fd >= 0)
		close(fd);
	free(copy);
	return status ? xa_error(
				"%s is written, but a crash may undo that, as its directory cannot "
				"be synchronised (%s); save again",
				path, strerror(errno))
		      : 0;
}

static int write_region(const struct xa_instance *instance, struct xa_snapshot *snapshot,
			struct xa_region *region)
{
	int status = -1;

	if (!xa_region_open(instance, region) && !xa_region_map(region))
		status = xa_snapshot_write_words(snapshot, region);
	xa_region_close(region);
	return status;
}

static int write_all(const struct xa_instance *instance, struct xa_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++)
		if (xa_region_stat(instance, &snapshot->regions[i]))
			return -1;
	if (xa_snapshot_write_regions(snapshot))
		return -1;
	for (size_t i = 0; i < snapshot->count; i++)
		if (write_region(instance, snapshot, &snapshot->regions[i]))
			return -1;
	return xa_snapshot_write_end(snapshot);
}

/* From the draft's first byte to the file in its place. */
static int write_file(const struct xa_instance *instance, struct xa_snapshot *snapshot,
		      const char *draft, struct xa_saved_file *saved)
{
	struct stat st;
	int fd = open_draft(draft), status = -1;

	if (fd < 0)
		return -1;
	snapshot->file = fdopen(fd, "w");
	if (!snapshot->file) {
		cannot_write(draft);
		close(fd);
	} else if (!write_all(instance, snapshot)) {
		if (fsync(fd) || fstat(fd, &st) || rename(draft, snapshot->path))
			cannot_write(snapshot->path);
		else
			status = 0;
	}
	if (!status)
		saved->bytes = st.st_size;
	else
		unlink(draft);
	if (snapshot->file)
		fclose(snapshot->file);
	return status ? -1 : sync_directory(snapshot->path);
}

static int list_regions(const struct xa_instance *instance, struct xa_snapshot *snapshot,
			struct xa_saved_file *saved)
{
	struct xa_mr *list;

	if (xa_mr_list(instance, &list, &saved->mrs))
		return -1;
	snapshot->regions = calloc(saved->mrs + 1, sizeof(*snapshot->regions));
	for (size_t i = 0; i < saved->mrs && snapshot->regions; i++) {
		snapshot->regions[i].mr = list[i];
		snapshot->regions[i].map = -1;
		saved->words += list[i].length / 8;
		snapshot->count++;
	}
	free(list);
	return snapshot->regions
		       ? 0
		       : xa_error("xatomic is out of memory; try again when more is free");
}

int xa_save(const struct xa_instance *instance, const char *path, struct xa_saved_file *saved)
{
	struct xa_snapshot snapshot = {.path = path};
	char draft[PATH_MAX];
	int status = -1;

	memset(saved, 0, sizeof(*saved));
	if (snprintf(draft, sizeof(draft), "%s.tmp", path) >= (int)sizeof(draft))
		return xa_error("the name of the file is too long; give a shorter one");
	if (!check_target(path) && !list_regions(instance, &snapshot, saved))
		status = write_file(instance, &snapshot, draft, saved);
	xa_snapshot_free(&snapshot);
	return status;
}
