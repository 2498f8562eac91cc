/* SPDX-License-Identifier: BSD-2-Clause */
#include "links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpffs.h"
#include "error.h"
#include "netns.h"

const char *const xa_mode_names[] = {
	[XA_MODE_AUTO] = "auto", [XA_MODE_NATIVE] = "native", [XA_MODE_GENERIC] = "generic", NULL};

static int open_link(const struct xa_instance *instance, const char *pin)
{
	char path[PATH_MAX];
	int fd;

	if (xa_instance_path(instance, "links", pin, path))
		return -1;
	fd = bpf_obj_get(path);
	if (fd >= 0)
		return fd;
	return xa_error("the link %s cannot be opened (%s); try again, or remove it by hand: rm %s",
			path, strerror(errno), path);
}

static int remove_pin(const struct xa_instance *instance, const char *pin)
{
	char path[PATH_MAX];

	if (xa_instance_path(instance, "links", pin, path))
		return -1;
	return xa_remove_file(path);
}

typedef int (*each_link)(const struct xa_instance *, const char *pin,
			 const struct bpf_link_info *info, void *data);

/* Calls `each` and closes the link. */
static int with_link(const struct xa_instance *instance, const char *pin, int fd, each_link each,
		     void *data)
{
	struct bpf_link_info info = {0};
	__u32 len = sizeof(info);
	int status;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		status = xa_error("a link cannot be read (%s); try again", strerror(errno));
	else
		status = each(instance, pin, &info, data);
	close(fd);
	return status;
}

/* Whoever removed the directory took the pins, and so the links, with it. */
static int no_links(const char *path)
{
	if (errno == ENOENT)
		return 0;
	return xa_error("%s cannot be read (%s); see that it is a directory of the BPF file system",
			path, strerror(errno));
}

/* Calls `each` with every pin and its link, whose xdp.ifindex is 0 when the interface is gone. */
static int for_each_link(const struct xa_instance *instance, each_link each, void *data)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int status = 0, fd;
	DIR *dir;

	if (xa_instance_path(instance, "links", NULL, path))
		return -1;
	dir = opendir(path);
	if (!dir)
		return no_links(path);
	while (!status) {
		status = xa_next_entry(dir, path, &entry);
		if (status || !entry)
			break;
		fd = open_link(instance, entry->d_name);
		if (fd < 0)
			status = -1;
		else
			status = with_link(instance, entry->d_name, fd, each, data);
	}
	closedir(dir);
	return status;
}

static int sweep_one(const struct xa_instance *instance, const char *pin,
		     const struct bpf_link_info *info, void *data)
{
	(void)data;
	return info->xdp.ifindex ? 0 : remove_pin(instance, pin);
}

int xa_links_sweep(const struct xa_instance *instance)
{
	return for_each_link(instance, sweep_one, NULL);
}

static int add_one(const struct xa_instance *instance, const char *pin,
		   const struct bpf_link_info *info, void *data)
{
	struct xa_interfaces *found = data;
	struct xa_interface *list;
	unsigned long hint = 0;

	(void)instance;
	if (!info->xdp.ifindex)
		return 0;
	list = realloc(found->list, (found->count + 1) * sizeof(*list));
	if (!list)
		return xa_error("out of memory");
	found->list = list;
	list += found->count++;
	memset(list, 0, sizeof(*list));
	snprintf(list->pin, sizeof(list->pin), "%s", pin);
	list->ifindex = info->xdp.ifindex;
	list->prog_id = info->prog_id;
	if (sscanf(pin, "ns%lu-", &hint) == 1)
		list->netns_hint = hint;
	return 0;
}

int xa_links_list(const struct xa_instance *instance, struct xa_interfaces *found)
{
	return for_each_link(instance, add_one, found);
}

const char *xa_why_not_attached(int error)
{
	switch (error) {
	case ERANGE:
		return "its MTU is too large for native XDP on this driver";
	case ENOSPC:
		return "it has too few queues for native XDP on this driver";
	case EOPNOTSUPP:
	case EINVAL:
		return "its driver or its settings, for example a large MTU, do not allow that";
	default:
		return strerror(error);
	}
}

static int is_taken(const struct xa_target *target)
{
	const char *ns = target->netns ? target->netns : "", *ifname = target->ifname;
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	bpf_xdp_query(target->ifindex, 0, &query);
	return xa_error(
		"%s runs another XDP program (id %u) and takes one only; detach that first, "
		"with 'xatomic -i INSTANCE detach %s%s%s' or 'ip %s%s%slink set dev %s xdp "
		"off'",
		ifname, query.prog_id, ifname, *ns ? " --netns " : "", ns, *ns ? "-n " : "", ns,
		*ns ? " " : "", ifname);
}

static int cannot_attach(const struct xa_target *target, enum xa_mode mode)
{
	const char *ifname = target->ifname;
	int error = errno;

	if (error == EBUSY || error == EEXIST)
		return is_taken(target);
	if (error == EPERM)
		return xa_error("this user may not attach a program to %s; run xatomic as root",
				ifname);
	return xa_error("the program cannot be attached to %s in %s mode (%s)%s", ifname,
			xa_mode_names[mode], xa_why_not_attached(error),
			mode == XA_MODE_NATIVE ? "; use --mode generic"
					       : "; use another interface");
}

static int create_link(int prog, int ifindex, __u32 flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);

	return bpf_link_create(prog, ifindex, BPF_XDP, &opts);
}

/* Another program in the way, or a lack of rights, would stop generic mode as well. */
static bool is_no_native(int error)
{
	return error != EBUSY && error != EEXIST && error != EPERM && error != ENODEV;
}

static int pin_link(const struct xa_instance *instance, int fd, int ifindex)
{
	char pin[NAME_MAX + 1], path[PATH_MAX];
	struct bpf_link_info info = {0};
	__u32 len = sizeof(info);
	ino_t netns = xa_netns_id();

	if (!netns || bpf_obj_get_info_by_fd(fd, &info, &len))
		return xa_error("the new link cannot be read (%s); try again", strerror(errno));
	/* The number of the link alone would do; the rest helps people, and finds the interface faster. */
	snprintf(pin, sizeof(pin), "ns%lu-if%d-link%u", (unsigned long)netns, ifindex, info.id);
	if (xa_instance_path(instance, "links", NULL, path) || xa_make_dir(path) ||
	    xa_instance_path(instance, "links", pin, path))
		return -1;
	if (!bpf_obj_pin(fd, path))
		return 0;
	return xa_error(
		"the link cannot be pinned at %s (%s); see that the BPF file system is writable",
		path, strerror(errno));
}

int xa_link_attach(const struct xa_instance *instance, const struct xa_target *target,
		   enum xa_mode *mode, int *no_native)
{
	int fd = -1, status;

	*no_native = 0;
	if (*mode != XA_MODE_GENERIC) {
		fd = create_link(instance->prog, target->ifindex, XDP_FLAGS_DRV_MODE);
		if (fd < 0 && (*mode == XA_MODE_NATIVE || !is_no_native(errno)))
			return cannot_attach(target, XA_MODE_NATIVE);
		*no_native = fd < 0 ? errno : 0;
		*mode = fd < 0 ? XA_MODE_GENERIC : XA_MODE_NATIVE;
	}
	if (fd < 0)
		fd = create_link(instance->prog, target->ifindex, XDP_FLAGS_SKB_MODE);
	if (fd < 0)
		return cannot_attach(target, XA_MODE_GENERIC);
	/* Without a pin the link goes with its descriptor. */
	status = pin_link(instance, fd, target->ifindex);
	close(fd);
	return status;
}

int xa_link_detach(const struct xa_instance *instance, const struct xa_interface *interface)
{
	int fd = open_link(instance, interface->pin), status;

	if (fd < 0)
		return -1;
	/*
	 * The pin first: with it and the descriptor the link goes in any case, also when the process dies
	 * here. But that would take the program off a moment later only.
	 */
	status = remove_pin(instance, interface->pin);
	if (!status)
		bpf_link_detach(fd);
	close(fd);
	return status;
}

int xa_link_update(const struct xa_instance *instance, const struct xa_interface *interface,
		   int prog)
{
	int fd = open_link(instance, interface->pin), error;

	if (fd < 0)
		return -1;
	error = bpf_link_update(fd, prog, NULL) ? errno : 0;
	close(fd);
	/* The interface has gone since it was listed. */
	if (!error || error == ENOLINK)
		return 0;
	return xa_error(
		"the program of %s (index %d) cannot be replaced (%s), so the old one stays "
		"everywhere; try again",
		*interface->name ? interface->name : "an interface", interface->ifindex,
		strerror(error));
}
