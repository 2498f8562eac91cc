/* SPDX-License-Identifier: BSD-2-Clause */
#include "instance.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpffs.h"
#include "error.h"

const char *const xa_map_names[XA_MAP_COUNT] = {
	[XA_MAP_CONFIG] = "config",           [XA_MAP_QPS] = "qps",       [XA_MAP_MRS] = "mrs",
	[XA_MAP_MR_WORDS] = "mr_words",       [XA_MAP_REPLAY] = "replay", [XA_MAP_STATS] = "stats",
	[XA_MAP_EVENTS] = "events",           [XA_MAP_GSI] = "gsi",       [XA_MAP_AGENT] = "agent",
	[XA_MAP_CONNECTIONS] = "connections",
};

static int too_long(void)
{
	return xa_error(
		"the path of the BPF file system is too long; give a shorter one with --bpffs");
}

int xa_place_path(const struct xa_place *place, const char *name, const char *suffix,
		  char path[PATH_MAX])
{
	int len = snprintf(path, PATH_MAX, "%s/xatomic%s%s%s", place->bpffs, name ? "/" : "",
			   name ? name : "", name ? suffix : "");

	/* Pins and their directories come behind it. */
	return len + 2 * NAME_MAX < PATH_MAX ? 0 : too_long();
}

int xa_instance_path(const struct xa_instance *instance, const char *sub, const char *leaf,
		     char path[PATH_MAX])
{
	int len = snprintf(path, PATH_MAX, "%s/%s%s%s", instance->dir, sub, leaf ? "/" : "",
			   leaf ? leaf : "");

	return len < PATH_MAX ? 0 : too_long();
}

static int cannot_open(const struct xa_instance *instance, const char *what)
{
	if (errno == ENOENT)
		return xa_error("instance '%s' is damaged: it has no %s; remove it with 'xatomic "
				"-i %s destroy' and attach again",
				instance->name, what, instance->name);
	if (errno == EACCES || errno == EPERM)
		return xa_error(
			"%s of instance '%s' may not be opened by this user; run xatomic as root",
			what, instance->name);
	return xa_error("%s of instance '%s' cannot be opened (%s); try again", what,
			instance->name, strerror(errno));
}

static int open_pin(const struct xa_instance *instance, const char *name)
{
	char path[PATH_MAX];
	int fd;

	if (xa_instance_path(instance, name, NULL, path))
		return -1;
	fd = bpf_obj_get(path);
	return fd >= 0 ? fd : cannot_open(instance, name);
}

/* Read first and by its own size: what another version wrote need not look like ours. */
static int read_config(struct xa_instance *instance)
{
	struct bpf_map_info info = {0};
	__u32 first = 0, len = sizeof(info);
	union {
		struct xa_config config;
		char bytes[1024];
	} value = {0};

	if (bpf_obj_get_info_by_fd(instance->maps[XA_MAP_CONFIG], &info, &len) ||
	    info.value_size > sizeof(value) ||
	    bpf_map_lookup_elem(instance->maps[XA_MAP_CONFIG], &first, &value))
		return cannot_open(instance, "config");
	if (value.config.layout_version != XA_LAYOUT_VERSION)
		return xa_error("instance '%s' has maps of layout version %u and this xatomic "
				"knows version %u; use the xatomic that made it, or 'xatomic -i %s "
				"destroy' and attach again",
				instance->name, value.config.layout_version, XA_LAYOUT_VERSION,
				instance->name);
	instance->config = value.config;
	return 0;
}

static size_t qps_size(const struct xa_instance *instance)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (instance->config.max_qps * sizeof(struct xa_qp) + page - 1) / page * page;
}

static int map_qps(struct xa_instance *instance)
{
	void *qps = mmap(NULL, qps_size(instance), PROT_READ | PROT_WRITE, MAP_SHARED,
			 instance->maps[XA_MAP_QPS], 0);

	if (qps == MAP_FAILED)
		return cannot_open(instance, "qps");
	instance->qps = qps;
	return 0;
}

static void init(struct xa_instance *instance, const char *name)
{
	memset(instance, 0, sizeof(*instance));
	instance->name = name;
	instance->lock = instance->place = instance->prog = -1;
	for (int i = 0; i < XA_MAP_COUNT; i++)
		instance->maps[i] = -1;
}

static int open_all(struct xa_instance *instance)
{
	for (int i = 0; i < XA_MAP_COUNT; i++) {
		instance->maps[i] = open_pin(instance, xa_map_names[i]);
		if (instance->maps[i] < 0 || (i == XA_MAP_CONFIG && read_config(instance)))
			return -1;
	}
	instance->prog = open_pin(instance, "prog");
	return instance->prog < 0 ? -1 : map_qps(instance);
}

int xa_instance_open_dir(struct xa_instance *instance, const char *name, const char *dir)
{
	init(instance, name);
	snprintf(instance->dir, sizeof(instance->dir), "%s", dir);
	return open_all(instance);
}

static int no_instance(const struct xa_place *place)
{
	if (errno == EACCES || errno == EPERM)
		return xa_error("%s may not be entered by this user; run xatomic as root",
				place->bpffs);
	if (errno != ENOENT && errno != ENOTDIR)
		return xa_error("instance '%s' cannot be locked (%s); try again", place->name,
				strerror(errno));
	if (!xa_is_bpffs(place->bpffs))
		return xa_error("no BPF file system is mounted on %s, so there is no instance; "
				"'xatomic attach' mounts one, --bpffs names another",
				place->bpffs);
	return xa_error(
		"there is no instance '%s' below %s; make it with 'xatomic -i %s attach IFACE'",
		place->name, place->bpffs, place->name);
}

int xa_instance_open(struct xa_instance *instance, const struct xa_place *place, int operation)
{
	init(instance, place->name);
	if (xa_place_path(place, place->name, "", instance->dir))
		return -1;
	instance->lock = xa_lock_dir(instance->dir, operation);
	if (instance->lock < 0)
		return no_instance(place);
	instance->place = openat(instance->lock, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return open_all(instance);
}

int xa_instance_check(const struct xa_instance *instance)
{
	struct stat st;

	if (!fstat(instance->place, &st) && st.st_nlink)
		return 0;
	return xa_error("instance '%s' has been destroyed", instance->name);
}

int xa_instance_lock(struct xa_instance *instance, int operation)
{
	instance->lock = openat(instance->place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (instance->lock < 0 || flock(instance->lock, operation)) {
		xa_error("instance '%s' cannot be locked (%s); try again", instance->name,
			 strerror(errno));
		xa_instance_unlock(instance);
		return -1;
	}
	if (!xa_instance_check(instance))
		return 0;
	xa_instance_unlock(instance);
	return -1;
}

void xa_instance_unlock(struct xa_instance *instance)
{
	if (instance->lock >= 0)
		close(instance->lock);
	instance->lock = -1;
}

void xa_instance_close(struct xa_instance *instance)
{
	if (instance->qps)
		munmap(instance->qps, qps_size(instance));
	for (int i = 0; i < XA_MAP_COUNT; i++)
		if (instance->maps[i] >= 0)
			close(instance->maps[i]);
	if (instance->prog >= 0)
		close(instance->prog);
	if (instance->place >= 0)
		close(instance->place);
	xa_instance_unlock(instance);
	init(instance, instance->name);
}
