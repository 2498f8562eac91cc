/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpffs.h - the BPF file system: where an instance keeps its maps, program and links.
 */
#ifndef XATOMIC_LIB_BPFFS_H
#define XATOMIC_LIB_BPFFS_H

#include <dirent.h>
#include <stdbool.h>

#define XA_DEFAULT_BPFFS "/sys/fs/bpf"

bool xa_is_bpffs(const char *dir);

/*
 * Mounts a bpffs on `dir` unless one is there, and tells in *mounted; refuses where that would hide
 * something. Returns -1 with xa_error().
 */
int xa_bpffs_mount(const char *dir, bool *mounted);

/* Is this a mount namespace of its own, with which a mount will go? */
bool xa_mounts_vanish(void);

/* Makes a directory, mode 0755, unless it is there. Returns -1 with xa_error(). */
int xa_make_dir(const char *dir);

/*
 * Takes away a directory with all that is in it, or a file; what is not there is fine. Both stand at the end of
 * an operation that cannot be taken back, so what fails, for lack of memory for example, is tried again before
 * they return -1 with xa_error().
 */
int xa_remove_tree(const char *dir);
int xa_remove_file(const char *path);

/*
 * *entry becomes the next one of a directory whose name begins with no dot, NULL at its end. `path` is for
 * the sentence. Returns -1 with xa_error().
 */
int xa_next_entry(DIR *dir, const char *path, struct dirent **entry);

/*
 * Waits for the lock of a directory (flock(2); `operation` is LOCK_EX or LOCK_SH). Closing the returned
 * descriptor, also by dying, gives the lock back. Returns -1 with errno alone: ENOENT when the directory
 * is not there, or no longer once the lock was ours.
 */
int xa_lock_dir(const char *dir, int operation);

#endif
