/* SPDX-License-Identifier: BSD-2-Clause */
#include "mrs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "identity.h"
#include "random.h"

enum { NAME_BYTES = 16 }; /* what the kernel keeps of a map's name */

static int no_memory(void)
{
	return xa_error("xatomic is out of memory; try again when more is free");
}

/* The whole table, max_mrs entries, to be freed; NULL with xa_error(). */
static struct xa_mr *read_all(const struct xa_instance *instance)
{
	__u32 count = instance->config.max_mrs, batch, *keys = calloc(count, sizeof(*keys));
	struct xa_mr *all = calloc(count, sizeof(*all));

	if (!keys || !all) {
		no_memory();
	} else if (bpf_map_lookup_batch(instance->maps[XA_MAP_MRS], NULL, &batch, keys, all, &count,
					NULL) &&
		   errno != ENOENT) {
		xa_error("the memory regions of instance '%s' cannot be read (%s); run xatomic as "
			 "root",
			 instance->name, strerror(errno));
	} else {
		free(keys);
		return all;
	}
	free(keys);
	free(all);
	return NULL;
}

/* Index of the valid entry with that name, or -1. */
static int index_of(const struct xa_instance *instance, const struct xa_mr *all, const char *name)
{
	for (uint32_t i = 0; i < instance->config.max_mrs; i++)
		if (all[i].state == XA_MR_VALID && !strncmp(all[i].name, name, XA_NAME_LEN))
			return i;
	return -1;
}

/* A free index, each with the same chance, or -1. */
static int choose_index(const struct xa_instance *instance, const struct xa_mr *all)
{
	uint32_t free_count = 0, nth;

	for (uint32_t i = 0; i < instance->config.max_mrs; i++)
		free_count += all[i].state == XA_MR_FREE;
	if (!free_count)
		return xa_error("all %u memory regions of instance '%s' are in use; delete one "
				"with 'xatomic -i %s mr del NAME'",
				instance->config.max_mrs, instance->name, instance->name);
	nth = xa_random() % free_count;
	for (uint32_t i = 0;; i++)
		if (all[i].state == XA_MR_FREE && !nth--)
			return i;
}

static int write_entry(const struct xa_instance *instance, uint32_t index, const struct xa_mr *mr)
{
	if (!bpf_map_update_elem(instance->maps[XA_MAP_MRS], &index, mr, BPF_ANY))
		return 0;
	return xa_error(
		"the memory region '%s' cannot be written to the map (%s); run xatomic as root",
		mr->name, strerror(errno));
}

/* Returns after a grace period, when the kernel does (as in grace.c). */
static int take_words_out(const struct xa_instance *instance, uint32_t index)
{
	if (!bpf_map_delete_elem(instance->maps[XA_MAP_MR_WORDS], &index) || errno == ENOENT)
		return 0;
	return xa_error("the words cannot be taken from the program (%s), so the memory region "
			"stays; run xatomic as root",
			strerror(errno));
}

static int remove_pin(const struct xa_instance *instance, const char *name)
{
	char path[PATH_MAX];

	if (xa_instance_path(instance, "mr", name, path))
		return -1;
	if (!unlink(path) || errno == ENOENT)
		return 0;
	return xa_error("the pin %s cannot be removed (%s); remove it by hand: rm %s", path,
			strerror(errno), path);
}

/* Removes pins without an entry. Returns how many, or -1. */
static int sweep_pins(const struct xa_instance *instance, const struct xa_mr *all)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int removed = 0;
	DIR *dir;

	if (xa_instance_path(instance, "mr", NULL, path))
		return -1;
	dir = opendir(path);
	if (!dir)
		return xa_error("%s cannot be read (%s); run xatomic as root", path,
				strerror(errno));
	while (removed >= 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || index_of(instance, all, entry->d_name) >= 0)
			continue;
		removed = remove_pin(instance, entry->d_name) ? -1 : removed + 1;
	}
	closedir(dir);
	return removed;
}

/* What is left of registrations that did not come to their end, see mrs.h. */
static int sweep(const struct xa_instance *instance, const struct xa_mr *all)
{
	int removed = sweep_pins(instance, all);

	for (uint32_t i = 0; removed > 0 && i < instance->config.max_mrs; i++)
		if (all[i].state == XA_MR_FREE && take_words_out(instance, i))
			return -1;
	return removed < 0 ? -1 : 0;
}

/* Types for `bpftool map dump`. A map without them works as well, so a failure counts for nothing. */
static int load_types(struct btf **types, __u32 *key, __u32 *value)
{
	int id;

	*types = btf__new_empty();
	if (!*types)
		return -1;
	id = btf__add_int(*types, "index", sizeof(__u32), 0);
	*key = id > 0 ? id : 0;
	id = btf__add_int(*types, "word", sizeof(__u64), 0);
	*value = id > 0 ? id : 0;
	return *key && *value && !btf__load_into_kernel(*types) ? btf__fd(*types) : -1;
}

static int create_words(const struct xa_mr_request *request)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	char name[NAME_BYTES];
	struct btf *types;
	int fd;

	snprintf(name, sizeof(name), "%.15s", request->name);
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	fd = load_types(&types, &opts.btf_key_type_id, &opts.btf_value_type_id);
	if (fd >= 0)
		opts.btf_fd = fd;
	else
		opts.btf_key_type_id = opts.btf_value_type_id = 0;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(__u32), sizeof(__u64), request->words,
			    &opts);
	if (fd < 0)
		xa_error("a map of %u words (%llu bytes) cannot be made (%s); give a smaller "
			 "--words",
			 request->words, 8ull * request->words, strerror(errno));
	btf__free(types);
	return fd;
}

static int pin_words(const struct xa_instance *instance, const struct xa_mr_request *request,
		     int fd)
{
	char path[PATH_MAX];

	if (xa_instance_path(instance, "mr", request->name, path))
		return -1;
	if (bpf_obj_pin(fd, path))
		return xa_error("the words cannot be pinned at %s (%s); see that the BPF file "
				"system is writable",
				path, strerror(errno));
	if (!chown(path, request->owner, request->group) && !chmod(path, request->perm))
		return 0;
	xa_error("the owner and the mode of %s cannot be set (%s); run xatomic as root", path,
		 strerror(errno));
	unlink(path);
	return -1;
}

/* Words first, state last: a packet that finds a valid entry finds its words. */
static int publish(const struct xa_instance *instance, uint32_t index, int words, struct xa_mr *mr)
{
	mr->state = XA_MR_FREE;
	if (write_entry(instance, index, mr))
		return -1;
	if (bpf_map_update_elem(instance->maps[XA_MAP_MR_WORDS], &index, &words, BPF_ANY))
		return xa_error("the words of '%s' cannot be given to the program (%s); run "
				"xatomic as root",
				mr->name, strerror(errno));
	mr->state = XA_MR_VALID;
	if (!write_entry(instance, index, mr))
		return 0;
	take_words_out(instance, index);
	return -1;
}

static int register_words(const struct xa_instance *instance, const struct xa_mr_request *request,
			  uint32_t index, struct xa_mr *mr)
{
	int words = create_words(request), status;

	if (words < 0)
		return -1;
	mr->iova = request->iova;
	mr->length = 8ull * request->words;
	mr->pdn = request->pdn;
	mr->access = request->access;
	memset(mr->name, 0, sizeof(mr->name));
	snprintf(mr->name, sizeof(mr->name), "%s", request->name);
	xa_next_rkey(mr, index);
	status = pin_words(instance, request, words);
	if (!status) {
		status = publish(instance, index, words, mr);
		if (status)
			remove_pin(instance, request->name);
	}
	close(words);
	return status;
}

int xa_mr_add(const struct xa_instance *instance, const struct xa_mr_request *request,
	      struct xa_mr *mr)
{
	struct xa_mr *all = read_all(instance);
	int status = -1, index;

	if (!all)
		return -1;
	if (index_of(instance, all, request->name) >= 0) {
		xa_error("there is a memory region '%s' already; take another name, or delete it "
			 "with 'xatomic -i %s mr del %s'",
			 request->name, instance->name, request->name);
	} else if (!sweep(instance, all)) {
		index = choose_index(instance, all);
		if (index >= 0) {
			*mr = all[index];
			status = register_words(instance, request, index, mr);
		}
	}
	free(all);
	return status;
}

static int no_mr(const struct xa_instance *instance, const char *name)
{
	return xa_error("there is no memory region '%s' in instance '%s'; 'xatomic -i %s mr show' "
			"lists them",
			name, instance->name, instance->name);
}

/*
 * The state alone: a packet that has seen it valid still finds the rest of the entry as it was, and the
 * next rkey of this index grows from this one. The grace period that taking the words out entails then
 * lets no such packet live to see the next MR of this index.
 */
static int withdraw(const struct xa_instance *instance, uint32_t index, struct xa_mr *mr)
{
	mr->state = XA_MR_FREE;
	if (write_entry(instance, index, mr))
		return -1;
	if (!take_words_out(instance, index))
		return 0;
	mr->state = XA_MR_VALID;
	write_entry(instance, index, mr);
	return -1;
}

int xa_mr_del(const struct xa_instance *instance, const char *name)
{
	struct xa_mr *all = read_all(instance);
	int index, status;

	if (!all)
		return -1;
	index = index_of(instance, all, name);
	status = index < 0 ? no_mr(instance, name) : withdraw(instance, index, &all[index]);
	if (!status)
		status = remove_pin(instance, name);
	free(all);
	return status;
}

int xa_mr_find(const struct xa_instance *instance, const char *name, struct xa_mr *mr)
{
	struct xa_mr *all = read_all(instance);
	int index;

	if (!all)
		return -1;
	index = index_of(instance, all, name);
	if (index >= 0)
		*mr = all[index];
	free(all);
	return index < 0 ? no_mr(instance, name) : 0;
}

int xa_mr_list(const struct xa_instance *instance, struct xa_mr **list, size_t *count)
{
	struct xa_mr *all = read_all(instance);

	*list = all;
	*count = 0;
	if (!all)
		return -1;
	for (uint32_t i = 0; i < instance->config.max_mrs; i++)
		if (all[i].state == XA_MR_VALID)
			all[(*count)++] = all[i];
	return 0;
}
