/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * create.c - loads the program into the kernel: with maps of its own, which are pinned with it, or with those
 * of an instance.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "bpffs.h"
#include "capability.h"
#include "error.h"
#include "instance.h"
#include "responder.skel.h"

/* The verifier forbids the program what pointers may do only with this capability. */
static bool lacks_perfmon(int error)
{
	return (error == EPERM || error == EACCES) && !xa_has_bpf_capability(CAP_PERFMON);
}

static int cannot_load(int error, const struct xa_config *config)
{
	if (error == ENOMEM || error == E2BIG)
		return xa_error("there is not enough memory for %u queue pairs, %u memory regions "
				"and %u replay windows; attach with a smaller --max-qps, --max-mrs "
				"or --replay-windows",
				config->max_qps, config->max_mrs, config->replay_windows);
	if (lacks_perfmon(error))
		return xa_error("loading a BPF program needs CAP_PERFMON as well, which this user "
				"lacks; run xatomic as root");
	if (error == EPERM)
		return xa_error("the kernel does not let this user load a BPF program (%s); run "
				"xatomic as root",
				strerror(error));
	return xa_error("the kernel refused the BPF program (%s); it needs Linux 6.1 or later with "
			"BPF, and --verbose shows what the kernel said",
			strerror(error));
}

static void set_constants(struct responder_bpf *skel, const struct xa_config *config)
{
	skel->rodata->qp_mask = config->max_qps - 1;
	skel->rodata->unknown_qp = config->unknown_qp;
}

static int set_sizes(struct responder_bpf *skel, const struct xa_config *config)
{
	set_constants(skel, config);
	if (bpf_map__set_max_entries(skel->maps.qps, config->max_qps) ||
	    bpf_map__set_max_entries(skel->maps.mrs, config->max_mrs) ||
	    bpf_map__set_max_entries(skel->maps.mr_words, config->max_mrs) ||
	    bpf_map__set_max_entries(skel->maps.connections, config->max_qps) ||
	    bpf_map__set_max_entries(skel->maps.replay, config->replay_windows))
		return -1;
	return 0;
}

static int pin(int fd, const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
	    !bpf_obj_pin(fd, path))
		return 0;
	return xa_error("%s cannot be pinned in %s (%s); see that the BPF file system is writable",
			name, dir, strerror(errno));
}

static int make_dirs(const char *dir)
{
	static const char *const subs[] = {"mr", "links", "monitor", "serve"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, subs[i]);
		if (xa_make_dir(path))
			return -1;
	}
	return 0;
}

static int pin_all(struct responder_bpf *skel, const char *dir)
{
	if (xa_make_dir(dir) || make_dirs(dir))
		return -1;
	for (int i = 0; i < XA_MAP_COUNT; i++) {
		int fd = bpf_object__find_map_fd_by_name(skel->obj, xa_map_names[i]);

		if (pin(fd, dir, xa_map_names[i]))
			return -1;
	}
	return pin(bpf_program__fd(skel->progs.xatomic_rx), dir, "prog");
}

int xa_instance_create(const char *dir, const struct xa_config *config)
{
	struct responder_bpf *skel = responder_bpf__open();
	__u32 first = 0;
	int status;

	if (!skel || set_sizes(skel, config) || responder_bpf__load(skel) ||
	    bpf_map_update_elem(bpf_map__fd(skel->maps.config), &first, config, BPF_ANY))
		status = cannot_load(errno, config);
	else
		status = pin_all(skel, dir);
	responder_bpf__destroy(skel);
	return status;
}

static int reuse_maps(struct responder_bpf *skel, const struct xa_instance *instance)
{
	set_constants(skel, &instance->config);
	for (int i = 0; i < XA_MAP_COUNT; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, xa_map_names[i]);

		if (bpf_map__reuse_fd(map, instance->maps[i]))
			return -1;
	}
	return 0;
}

int xa_prog_load(const struct xa_instance *instance)
{
	struct responder_bpf *skel = responder_bpf__open();
	int prog = -1;

	if (skel && !reuse_maps(skel, instance) && !responder_bpf__load(skel))
		prog = fcntl(bpf_program__fd(skel->progs.xatomic_rx), F_DUPFD_CLOEXEC, 0);
	if (prog < 0 && lacks_perfmon(errno))
		xa_error("loading a BPF program needs CAP_PERFMON as well, which this user lacks; "
			 "run xatomic as root");
	else if (prog < 0)
		xa_error("the kernel refused this xatomic's program (%s), so instance '%s' keeps "
			 "the one that it has; --verbose shows what the kernel said",
			 strerror(errno), instance->name);
	responder_bpf__destroy(skel);
	return prog;
}
