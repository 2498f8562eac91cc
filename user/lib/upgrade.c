/* SPDX-License-Identifier: BSD-2-Clause */
#include "upgrade.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

/* No pin of an instance that is whole has a '+' in its name. */
#define PIN     "prog"
#define NEW_PIN "prog+new"

enum { MAX_MAPS = 32 };

static int read_info(int fd, struct bpf_prog_info *info)
{
	__u32 len = sizeof(*info);

	if (!bpf_obj_get_info_by_fd(fd, info, &len))
		return 0;
	return xa_error("the program cannot be read (%s); run xatomic as root", strerror(errno));
}

int xa_prog_read(int fd, struct xa_prog *program)
{
	struct bpf_prog_info info = {0};

	if (read_info(fd, &info))
		return -1;
	program->id = info.id;
	memcpy(program->name, info.name, sizeof(program->name));
	for (int i = 0; i < BPF_TAG_SIZE; i++)
		snprintf(program->tag + 2 * i, 3, "%02x", info.tag[i]);
	return 0;
}

/* The value of the map with this id when it is a program's constants, to be freed; else NULL. */
static void *read_constants(__u32 id, __u32 *size)
{
	struct bpf_map_info info = {0};
	__u32 first = 0, len = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);
	void *value = NULL;

	if (fd < 0)
		return NULL;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && strstr(info.name, ".rodata")) {
		*size = info.value_size;
		value = malloc(*size);
		if (value && bpf_map_lookup_elem(fd, &first, value)) {
			free(value);
			value = NULL;
		}
	}
	close(fd);
	return value;
}

static void *constants_of(int prog, __u32 *size)
{
	__u32 ids[MAX_MAPS];
	struct bpf_prog_info info = {.map_ids = (unsigned long)ids, .nr_map_ids = MAX_MAPS};
	void *value = NULL;

	if (read_info(prog, &info))
		return NULL;
	for (__u32 i = 0; i < info.nr_map_ids && i < MAX_MAPS && !value; i++)
		value = read_constants(ids[i], size);
	return value;
}

/* What cannot be read counts as different: then the program is replaced by its like. */
static bool same_constants(int a, int b)
{
	__u32 size_a = 0, size_b = 0;
	void *of_a = constants_of(a, &size_a), *of_b = constants_of(b, &size_b);
	bool same = of_a && of_b && size_a == size_b && !memcmp(of_a, of_b, size_a);

	free(of_a);
	free(of_b);
	return same;
}

/* The tag covers the instructions only. */
static bool is_done(const struct xa_instance *instance, const struct xa_upgrade *upgrade, int prog)
{
	for (size_t i = 0; i < upgrade->interfaces.count; i++)
		if (upgrade->interfaces.list[i].prog_id != upgrade->was.id)
			return false;
	return !strcmp(upgrade->was.tag, upgrade->is.tag) && same_constants(instance->prog, prog);
}

/* Back to the program that is pinned, as far as `count` links go. */
static void roll_back(const struct xa_instance *instance, const struct xa_interfaces *interfaces,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (xa_link_update(instance, &interfaces->list[i], instance->prog))
			xa_error("neither the new program nor the old one can be put under all "
				 "interfaces (%s), so both go on side by side; repeat 'xatomic -i "
				 "%s upgrade'",
				 strerror(errno), instance->name);
}

static int update_links(const struct xa_instance *instance, const struct xa_interfaces *interfaces,
			int prog)
{
	for (size_t i = 0; i < interfaces->count; i++)
		if (xa_link_update(instance, &interfaces->list[i], prog)) {
			roll_back(instance, interfaces, i);
			return -1;
		}
	return 0;
}

static int cannot_pin(const char *path)
{
	return xa_error("the new program cannot be pinned at %s (%s), so the old one stays; see "
			"that the BPF file system is writable",
			path, strerror(errno));
}

static int replace(const struct xa_instance *instance, const struct xa_upgrade *upgrade, int prog)
{
	const struct xa_interfaces *interfaces = &upgrade->interfaces;
	char new_pin[PATH_MAX], pin[PATH_MAX];
	int status;

	if (xa_instance_path(instance, NEW_PIN, NULL, new_pin) ||
	    xa_instance_path(instance, PIN, NULL, pin))
		return -1;
	/* Of an upgrade that did not come to its end. */
	unlink(new_pin);
	if (bpf_obj_pin(prog, new_pin))
		return cannot_pin(new_pin);
	status = update_links(instance, interfaces, prog);
	if (!status && rename(new_pin, pin)) {
		status = cannot_pin(pin);
		roll_back(instance, interfaces, interfaces->count);
	}
	if (status)
		unlink(new_pin);
	return status;
}

static int upgrade_to(const struct xa_instance *instance, struct xa_upgrade *upgrade, int prog)
{
	if (xa_prog_read(instance->prog, &upgrade->was) || xa_prog_read(prog, &upgrade->is))
		return -1;
	upgrade->changed = !is_done(instance, upgrade, prog);
	if (upgrade->changed)
		return replace(instance, upgrade, prog);
	upgrade->is = upgrade->was;
	return 0;
}

int xa_upgrade(const struct xa_instance *instance, struct xa_upgrade *upgrade)
{
	int prog = xa_prog_load(instance), status = -1;

	memset(upgrade, 0, sizeof(*upgrade));
	if (prog < 0)
		return -1;
	if (!xa_links_sweep(instance) && !xa_interfaces_find(instance, &upgrade->interfaces))
		status = upgrade_to(instance, upgrade, prog);
	if (status)
		xa_interfaces_free(&upgrade->interfaces);
	close(prog);
	return status;
}
