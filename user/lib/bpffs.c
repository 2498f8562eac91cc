/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpffs.h"

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

#include "error.h"

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
static bool in_private_mount_namespace(void)
{
	struct stat own, parents;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", getppid());
	return !stat("/proc/self/ns/mnt", &own) && !stat(path, &parents) &&
	       !same_inode(&own, &parents);
}

int xa_bpffs_mount(const char *dir, bool *vanishes)
{
	int lock, status = 0;

	*vanishes = false;
	if (xa_is_bpffs(dir))
		return 0;
	/* Of two that find nothing mounted, the second must not mount over the first. */
	lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX)) {
		status = xa_error("%s, where the BPF file system should be, cannot be opened (%s); "
				  "create the directory or name another with --bpffs",
				  dir, strerror(errno));
	} else if (!xa_is_bpffs(dir)) {
		if (mount("bpf", dir, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755"))
			status = xa_error("no BPF file system can be mounted on %s (%s); mount one "
					  "yourself: mount -t bpf bpf %s",
					  dir, strerror(errno), dir);
		else
			*vanishes = in_private_mount_namespace();
	}
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
	if (!nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) || errno == ENOENT)
		return 0;
	return xa_error("%s cannot be removed (%s); remove it by hand: rm -r %s", dir,
			strerror(errno), dir);
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
