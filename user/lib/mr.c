/* SPDX-License-Identifier: BSD-2-Clause */
#include "xatomic/mr.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpffs.h"
#include "error.h"
#include "mrs.h"
#include "name.h"

struct xatomic_mr {
	xatomic_word *words;
	size_t count;
	size_t mapped; /* bytes */
};

static int open_pin(const struct xa_place *place, const char *name)
{
	char path[PATH_MAX], leaf[8 + XA_NAME_LEN];
	int fd;

	snprintf(leaf, sizeof(leaf), "/mr/%s", name);
	if (xa_place_path(place, place->name, leaf, path))
		return -1;
	fd = bpf_obj_get(path);
	if (fd < 0)
		xa_error("the memory region '%s' of instance '%s' cannot be opened at %s (%s); see "
			 "'xatomic mr show', and --owner and --perm of 'xatomic mr add'",
			 name, place->name, path, strerror(errno));
	return fd;
}

struct xatomic_mr *xa_mr_map(int fd)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	struct xatomic_mr *mr;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return NULL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	mr->count = info.max_entries;
	mr->mapped = mr->count * sizeof(*mr->words);
	mr->words = mmap(NULL, mr->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mr->words != MAP_FAILED)
		return mr;
	free(mr);
	return NULL;
}

struct xatomic_mr *xa_mr_open_at(const struct xa_place *place, const char *name)
{
	int fd = open_pin(place, name), error;
	struct xatomic_mr *mr;

	if (fd < 0)
		return NULL;
	mr = xa_mr_map(fd);
	error = errno;
	close(fd);
	errno = error;
	if (!mr)
		xa_error("the words of '%s' cannot be mapped (%s); free some memory", name,
			 strerror(error));
	return mr;
}

struct xatomic_mr *xatomic_mr_open(const char *instance, const char *name)
{
	const char *bpffs = getenv("XATOMIC_BPFFS");
	struct xa_place place = {
		.bpffs = bpffs && *bpffs ? bpffs : XA_DEFAULT_BPFFS,
		.name = instance ? instance : "default",
	};

	if (xa_is_name(place.name) && xa_is_name(name))
		return xa_mr_open_at(&place, name);
	errno = EINVAL;
	xa_error("'%s' of instance '%s' can be no memory region; a name is 1 to 63 of the "
		 "characters A-Z a-z 0-9 _ -",
		 name, place.name);
	return NULL;
}

xatomic_word *xatomic_mr_words(const struct xatomic_mr *mr)
{
	return mr->words;
}

size_t xatomic_mr_count(const struct xatomic_mr *mr)
{
	return mr->count;
}

void xatomic_mr_close(struct xatomic_mr *mr)
{
	if (!mr)
		return;
	munmap(mr->words, mr->mapped);
	free(mr);
}
