/* SPDX-License-Identifier: BSD-2-Clause */
#include "mrs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpffs.h"
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

static int cannot_write(const char *name)
{
	return xa_error(
		"the memory region '%s' cannot be written to the map (%s); run xatomic as root",
		name, strerror(errno));
}

static int write_entry(const struct xa_instance *instance, uint32_t index, const struct xa_mr *mr)
{
	if (!bpf_map_update_elem(instance->maps[XA_MAP_MRS], &index, mr, BPF_ANY))
		return 0;
	return cannot_write(mr->name);
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
	return xa_remove_file(path);
}

static bool has_words(const struct xa_instance *instance, uint32_t index)
{
	__u32 id;

	return !bpf_map_lookup_elem(instance->maps[XA_MAP_MR_WORDS], &index, &id);
}

/* Takes out the words that free entries still have. Those that were never used are not asked. */
static int sweep_words(const struct xa_instance *instance, const struct xa_mr *all)
{
	for (uint32_t i = 0; i < instance->config.max_mrs; i++)
		if (all[i].state == XA_MR_FREE && all[i].rkey && has_words(instance, i) &&
		    take_words_out(instance, i))
			return -1;
	return 0;
}

/* Removes pins without an entry. */
static int sweep_pins(const struct xa_instance *instance, const struct xa_mr *all)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int status;
	DIR *dir;

	if (xa_instance_path(instance, "mr", NULL, path))
		return -1;
	dir = opendir(path);
	if (!dir)
		return xa_error("%s cannot be read (%s); run xatomic as root", path,
				strerror(errno));
	do {
		status = xa_next_entry(dir, path, &entry);
		if (!status && entry && index_of(instance, all, entry->d_name) < 0)
			status = remove_pin(instance, entry->d_name);
	} while (!status && entry);
	closedir(dir);
	return status;
}

/* What is left of registrations and deregistrations that did not come to their end, see mrs.h. */
static int sweep(const struct xa_instance *instance, const struct xa_mr *all)
{
	return sweep_words(instance, all) || sweep_pins(instance, all) ? -1 : 0;
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

/* A map of the size that region->mr has. */
static int create_words(const struct xa_region *region)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	uint64_t bytes = region->mr.length;
	char name[NAME_BYTES];
	struct btf *types;
	int fd;

	snprintf(name, sizeof(name), "%.15s", region->mr.name);
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	fd = load_types(&types, &opts.btf_key_type_id, &opts.btf_value_type_id);
	if (fd >= 0)
		opts.btf_fd = fd;
	else
		opts.btf_key_type_id = opts.btf_value_type_id = 0;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(__u32), sizeof(__u64), bytes / 8,
			    &opts);
	if (fd < 0)
		xa_error("a map of %" PRIu64 " words (%" PRIu64 " bytes) for '%s' cannot be made "
			 "(%s); free some memory, or take a smaller --words",
			 bytes / 8, bytes, region->mr.name, strerror(errno));
	btf__free(types);
	return fd;
}

int xa_region_create(struct xa_region *region)
{
	region->map = create_words(region);
	return region->map < 0 ? -1 : 0;
}

static int cannot_open(const struct xa_region *region, const char *path)
{
	return xa_error("the words of '%s' cannot be opened at %s (%s); run xatomic as root",
			region->mr.name, path, strerror(errno));
}

int xa_region_stat(const struct xa_instance *instance, struct xa_region *region)
{
	char path[PATH_MAX];
	struct stat st;

	if (xa_instance_path(instance, "mr", region->mr.name, path))
		return -1;
	if (stat(path, &st))
		return cannot_open(region, path);
	region->owner = st.st_uid;
	region->group = st.st_gid;
	region->perm = st.st_mode & 0777;
	return 0;
}

int xa_region_open(const struct xa_instance *instance, struct xa_region *region)
{
	char path[PATH_MAX];

	if (xa_instance_path(instance, "mr", region->mr.name, path))
		return -1;
	region->map = bpf_obj_get(path);
	return region->map < 0 ? cannot_open(region, path) : 0;
}

int xa_region_map(struct xa_region *region)
{
	region->mapping = xa_mr_map(region->map);
	if (region->mapping) {
		region->words = xatomic_mr_words(region->mapping);
		return 0;
	}
	return xa_error("the words of '%s' cannot be mapped (%s); free some memory",
			region->mr.name, strerror(errno));
}

void xa_region_close(struct xa_region *region)
{
	xatomic_mr_close(region->mapping);
	if (region->map >= 0)
		close(region->map);
	region->mapping = NULL;
	region->words = NULL;
	region->map = -1;
}

static uint32_t index_in(const struct xa_region *region)
{
	return region->mr.rkey >> 8;
}

int xa_region_pin(const struct xa_instance *instance, const struct xa_region *region)
{
	char path[PATH_MAX];

	if (xa_instance_path(instance, "mr", region->mr.name, path))
		return -1;
	if (bpf_obj_pin(region->map, path))
		return xa_error("the words cannot be pinned at %s (%s); see that the BPF file "
				"system is writable",
				path, strerror(errno));
	if (!chown(path, region->owner, region->group) && !chmod(path, region->perm))
		return 0;
	xa_error("the owner and the mode of %s cannot be set (%s); run xatomic as root", path,
		 strerror(errno));
	unlink(path);
	return -1;
}

/* One system call, which a signal cannot end early: all of them or none. */
static int write_entries(const struct xa_instance *instance, const struct xa_region *regions,
			 __u32 count, enum xa_mr_state state)
{
	__u32 *keys = calloc(count, sizeof(*keys));
	struct xa_mr *values = calloc(count, sizeof(*values));
	int status = 0;

	if (!keys || !values)
		status = no_memory();
	for (__u32 i = 0; i < count && !status; i++) {
		keys[i] = index_in(&regions[i]);
		values[i] = regions[i].mr;
		values[i].state = state;
	}
	if (!status && bpf_map_update_batch(instance->maps[XA_MAP_MRS], keys, values, &count, NULL))
		status = cannot_write(regions->mr.name);
	free(keys);
	free(values);
	return status;
}

static int give_words(const struct xa_instance *instance, struct xa_region *region)
{
	__u32 index = index_in(region);
	int status;

	if (region->map < 0 && xa_region_open(instance, region))
		return -1;
	status =
		bpf_map_update_elem(instance->maps[XA_MAP_MR_WORDS], &index, &region->map, BPF_ANY);
	if (status)
		xa_error("the words of '%s' cannot be given to the program (%s); run xatomic as "
			 "root",
			 region->mr.name, strerror(errno));
	/* There can be more regions than a process may have descriptors. */
	xa_region_close(region);
	return status;
}

/* Words first, state last: a packet that finds a valid entry finds its words. */
int xa_regions_publish(const struct xa_instance *instance, struct xa_region *regions, size_t count)
{
	if (!count)
		return 0;
	if (write_entries(instance, regions, count, XA_MR_FREE))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (give_words(instance, &regions[i]))
			return -1;
	if (write_entries(instance, regions, count, XA_MR_VALID))
		return -1;
	for (size_t i = 0; i < count; i++)
		regions[i].mr.state = XA_MR_VALID;
	return 0;
}

void xa_regions_withdraw(const struct xa_instance *instance, const struct xa_region *regions,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!take_words_out(instance, index_in(&regions[i])))
			remove_pin(instance, regions[i].mr.name);
}

static int create_and_register(const struct xa_instance *instance, struct xa_region *region)
{
	if (xa_region_create(region) || xa_region_pin(instance, region))
		return -1;
	if (!xa_regions_publish(instance, region, 1))
		return 0;
	xa_regions_withdraw(instance, region, 1);
	return -1;
}

static int add_at(const struct xa_instance *instance, const struct xa_mr_request *request,
		  uint32_t index, struct xa_mr *mr)
{
	struct xa_region region = {
		.owner = request->owner,
		.group = request->group,
		.perm = request->perm,
		.map = -1,
	};
	int status;

	mr->iova = request->iova;
	mr->length = 8ull * request->words;
	mr->pdn = request->pdn;
	mr->access = request->access;
	memset(mr->name, 0, sizeof(mr->name));
	snprintf(mr->name, sizeof(mr->name), "%s", request->name);
	xa_next_rkey(mr, index);
	region.mr = *mr;
	status = create_and_register(instance, &region);
	*mr = region.mr;
	xa_region_close(&region);
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
			status = add_at(instance, request, index, mr);
		}
	}
	free(all);
	return status;
}

static int name_is_taken(const struct xa_instance *instance, const char *name)
{
	return xa_error("there is a memory region '%s' in instance '%s' already; delete it with "
			"'xatomic -i %s mr del %s'",
			name, instance->name, instance->name, name);
}

/* Marks the entry as taken. */
static int check_index(const struct xa_instance *instance, struct xa_mr *all,
		       const struct xa_region *region)
{
	uint32_t index = index_in(region);

	if (index >= instance->config.max_mrs)
		return xa_error("'%s' has rkey 0x%x, for which instance '%s' is too small (%u "
				"memory regions); destroy it and attach with --max-mrs %u or more",
				region->mr.name, region->mr.rkey, instance->name,
				instance->config.max_mrs, index + 1);
	if (all[index].state != XA_MR_FREE && !strcmp(all[index].name, region->mr.name))
		return name_is_taken(instance, region->mr.name);
	if (all[index].state != XA_MR_FREE)
		return xa_error("the rkey 0x%x of '%s' cannot be had while '%s' has rkey 0x%x, as "
				"rkeys differ in more than the last byte; delete that with "
				"'xatomic -i %s mr del %s'",
				region->mr.rkey, region->mr.name, all[index].name, all[index].rkey,
				instance->name, all[index].name);
	all[index] = region->mr;
	all[index].state = XA_MR_VALID;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Is one name there twice in the table that the regions have been marked in? */
static int check_names(const struct xa_instance *instance, const struct xa_mr *all)
{
	const char **names = calloc(instance->config.max_mrs, sizeof(*names));
	size_t count = 0;
	int status = 0;

	if (!names)
		return no_memory();
	for (uint32_t i = 0; i < instance->config.max_mrs; i++)
		if (all[i].state == XA_MR_VALID)
			names[count++] = all[i].name;
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 1; i < count && !status; i++)
		if (!strcmp(names[i - 1], names[i]))
			status = name_is_taken(instance, names[i]);
	free(names);
	return status;
}

int xa_regions_check(const struct xa_instance *instance, const struct xa_region *regions,
		     size_t count)
{
	struct xa_mr *all = read_all(instance);
	int status = all ? sweep(instance, all) : -1;

	for (size_t i = 0; i < count && !status; i++)
		status = check_index(instance, all, &regions[i]);
	if (!status)
		status = check_names(instance, all);
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

/* Has a deregistration of this name been killed on its way? The entry keeps its name. */
static bool is_half_gone(const struct xa_instance *instance, const struct xa_mr *all,
			 const char *name)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < instance->config.max_mrs; i++)
		if (all[i].state == XA_MR_FREE && !strncmp(all[i].name, name, XA_NAME_LEN) &&
		    has_words(instance, i))
			return true;
	return !xa_instance_path(instance, "mr", name, path) && !access(path, F_OK);
}

int xa_mr_del(const struct xa_instance *instance, const char *name)
{
	struct xa_mr *all = read_all(instance);
	int index, status;

	if (!all)
		return -1;
	index = index_of(instance, all, name);
	if (index < 0)
		status = is_half_gone(instance, all, name) ? sweep(instance, all)
							   : no_mr(instance, name);
	else
		status = withdraw(instance, index, &all[index]);
	if (!status && index >= 0)
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
