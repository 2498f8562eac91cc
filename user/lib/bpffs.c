/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpffs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "capability.h"
#include "error.h"

enum { PATIENCE = 3 };

bool xa_is_bpffs(const char *dir)
{
	struct statfs fs;

	return !statfs(dir, &fs) && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* As with `ip netns exec`: the parent has another one, and nobody else may be in ours. */
bool xa_mounts_vanish(void)
{
	struct stat own, parents;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", getppid());
	return !stat("/proc/self/ns/mnt", &own) && !stat(path, &parents) &&
	       !same_inode(&own, &parents);
}

static bool is_mount_point(int dir)
{
	struct statx stx;

	return statx(dir, "", AT_EMPTY_PATH, 0, &stx) || stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static bool is_empty(int dir)
{
	/* The directory stream takes the descriptor, and the lock is to stay. */
	int copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry = NULL;
	int count = 0;

	if (!stream) {
		close(copy);
		return false;
	}
	while (count <= 2 && (entry = readdir(stream)))
		count++;
	closedir(stream);
	return count <= 2;
}

/* What is below a mount is hidden, so there must be nothing. */
static int check_hides_nothing(const char *path, int dir)
{
	const char *why;

	if (is_mount_point(dir))
		why = "is the mount point of another file system";
	else if (!is_empty(dir))
		why = "is not empty";
	else
		return 0;
	return xa_error("%s is no BPF file system, and none is mounted there because it %s; give "
			"an empty directory or a mounted BPF file system with --bpffs",
			path, why);
}

static int mount_here(const char *dir, int fd, bool *mounted)
{
	if (check_hides_nothing(dir, fd))
		return -1;
	if (!xa_has_capability(CAP_SYS_ADMIN))
		return xa_error("no BPF file system is mounted on %s, and to mount one needs "
				"CAP_SYS_ADMIN, which this user lacks; run xatomic as root",
				dir);
	if (mount("bpf", dir, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755"))
		return xa_error("no BPF file system can be mounted on %s (%s); mount one yourself: "
				"mount -t bpf bpf %s",
				dir, strerror(errno), dir);
	*mounted = true;
	return 0;
}

int xa_bpffs_mount(const char *dir, bool *mounted)
{
	int lock, status = 0;

	*mounted = false;
	if (xa_is_bpffs(dir))
		return 0;
	/* Of two that find nothing mounted, the second must not mount over the first. */
	lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX))
		status = xa_error("%s, where the BPF file system should be, cannot be opened (%s); "
				  "create the directory or name another with --bpffs",
				  dir, strerror(errno));
	else if (!xa_is_bpffs(dir))
		status = mount_here(dir, lock, mounted);
	if (lock >= 0)
		close(lock);
	return status;
}

int xa_make_dir(const char *dir)
{
	if (!mkdir(dir, 0755) || errno == EEXIST)
		return 0;
	return xa_error(
		"the directory %s cannot be made (%s); see that the BPF file system is writable",
		dir, strerror(errno));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int xa_remove_tree(const char *dir)
{
	for (int tries = 0; tries < PATIENCE; tries++)
		if (!nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) || errno == ENOENT)
			return 0;
	return xa_error("%s cannot be removed (%s); remove it by hand: rm -r %s", dir,
			strerror(errno), dir);
}

int xa_remove_file(const char *path)
{
	for (int tries = 0; tries < PATIENCE; tries++)
		if (!unlink(path) || errno == ENOENT)
			return 0;
	return xa_error("%s cannot be removed (%s); remove it by hand: rm %s", path,
			strerror(errno), path);
}

int xa_next_entry(DIR *dir, const char *path, struct dirent **entry)
{
	do {
		errno = 0;
		*entry = readdir(dir);
	} while (*entry && (*entry)->d_name[0] == '.');
	if (*entry || !errno)
		return 0;
	return xa_error("%s cannot be read (%s); try again", path, strerror(errno));
}

int xa_lock_dir(const char *dir, int operation)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat locked, there;

	if (fd < 0)
		return -1;
	if (!flock(fd, operation) && !fstat(fd, &locked) && !stat(dir, &there)) {
		if (same_inode(&locked, &there))
			return fd;
		errno = ENOENT;
	}
	close(fd);
	return -1;
}
