/* SPDX-License-Identifier: BSD-2-Clause */
#include "attach.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpffs.h"
#include "error.h"
#include "identity.h"
#include "netns.h"

/* No instance has a '+' in its name. */
#define BEING_MADE    "+new"
#define BEING_REMOVED "+old"

const char *const xa_unknown_qp_names[] = {
	[XA_UNKNOWN_QP_PASS] = "pass", [XA_UNKNOWN_QP_DROP] = "drop", NULL};

/*
 * An LRU map hands out its elements to CPUs in batches of 128 and keeps one batch more at hand, so that
 * many can be out of a QP's reach.
 */
uint32_t xa_default_windows(uint32_t max_qps, uint32_t cpus)
{
	return max_qps + 128 * (cpus + 1);
}

bool xa_is_old_kernel(const char *release)
{
	int major = 0, minor = 0;

	sscanf(release, "%d.%d", &major, &minor);
	return major < 6 || (major == 6 && minor < 1);
}

static int check_kernel(void)
{
	struct utsname name;

	if (uname(&name) || !xa_is_old_kernel(name.release))
		return 0;
	return xa_error("Linux %s is too old; xatomic needs Linux 6.1 or later", name.release);
}

static int config_from(const struct xa_limits *limits, struct xa_config *config)
{
	int cpus = libbpf_num_possible_cpus();

	*config = (struct xa_config){
		.layout_version = XA_LAYOUT_VERSION,
		.max_qps = limits->max_qps ? xa_round_up_pow2(limits->max_qps) : XA_DEF_QPS,
		.max_mrs = limits->max_mrs ? limits->max_mrs : XA_DEF_MRS,
		.replay_windows = limits->replay_windows,
		.unknown_qp = limits->unknown_qp < 0 ? XA_UNKNOWN_QP_PASS : limits->unknown_qp,
	};
	if (cpus < 0)
		return xa_error("the number of CPUs cannot be had (%s); see that /sys is mounted",
				strerror(-cpus));
	if (!config->replay_windows)
		config->replay_windows = xa_default_windows(config->max_qps, cpus);
	return 0;
}

static int differs(const struct xa_instance *instance, const char *what, uint32_t has,
		   uint32_t wanted)
{
	return xa_error("instance '%s' was made with --%s %u, not %u; leave the option out, or use "
			"'xatomic -i %s destroy' first",
			instance->name, what, has, wanted, instance->name);
}

/* Limits are fixed when the instance is made. */
static int check_limits(const struct xa_instance *instance, const struct xa_limits *limits)
{
	const struct xa_config *has = &instance->config;

	if (limits->max_qps && xa_round_up_pow2(limits->max_qps) != has->max_qps)
		return differs(instance, "max-qps", has->max_qps, limits->max_qps);
	if (limits->max_mrs && limits->max_mrs != has->max_mrs)
		return differs(instance, "max-mrs", has->max_mrs, limits->max_mrs);
	if (limits->replay_windows && limits->replay_windows != has->replay_windows)
		return differs(instance, "replay-windows", has->replay_windows,
			       limits->replay_windows);
	if (limits->unknown_qp >= 0 && limits->unknown_qp != (int)has->unknown_qp)
		return xa_error("instance '%s' was made with --unknown-qp %s, not %s; leave the "
				"option out, or use 'xatomic -i %s destroy' first",
				instance->name, xa_unknown_qp_names[has->unknown_qp],
				xa_unknown_qp_names[limits->unknown_qp], instance->name);
	return 0;
}

static int check_mode(const struct xa_interface *interface, enum xa_mode wanted)
{
	if (wanted == XA_MODE_AUTO || wanted == interface->mode)
		return 0;
	return xa_error("%s is attached in %s mode already, not %s; detach it first",
			interface->name, xa_mode_names[interface->mode], xa_mode_names[wanted]);
}

/* Attaches the interface of the caller's namespace, unless it is attached already. */
static int attach_here(const struct xa_instance *instance, const struct xa_attach *attach,
		       int ifindex, struct xa_attached *attached)
{
	const struct xa_target target = {attach->ifname, attach->netns, ifindex};
	const struct xa_interface *interface;
	struct xa_interfaces all;
	int status;

	if (xa_links_sweep(instance) || xa_interfaces_find(instance, &all))
		return -1;
	interface = xa_interfaces_here(&all, ifindex);
	attached->mode = interface ? interface->mode : attach->mode;
	attached->is_new = !interface;
	attached->config = instance->config;
	if (interface)
		status = check_mode(interface, attach->mode);
	else
		status = xa_link_attach(instance, &target, &attached->mode, &attached->no_native);
	xa_interfaces_free(&all);
	return status;
}

/* Takes the program off the interfaces at once; that it goes off with the pins is certain anyway. */
static void detach_all(const struct xa_instance *instance)
{
	struct xa_interfaces all = {0};

	if (!xa_links_list(instance, &all))
		for (size_t i = 0; i < all.count; i++)
			xa_link_detach(instance, &all.list[i]);
	xa_interfaces_free(&all);
}

/* Works on an instance of any layout, so it only looks at the pins. */
static int remove_instance(const struct xa_place *place, const char *dir)
{
	struct xa_instance instance = {.name = place->name};

	snprintf(instance.dir, sizeof(instance.dir), "%s", dir);
	detach_all(&instance);
	return xa_remove_tree(dir);
}

static int remove_leftover(const struct xa_place *place, const char *suffix, bool *found)
{
	char path[PATH_MAX];

	if (xa_place_path(place, place->name, suffix, path))
		return -1;
	if (access(path, F_OK) && errno == ENOENT)
		return 0;
	*found = true;
	return remove_instance(place, path);
}

/* What a process left that died while it made or removed an instance of this name. Was there something? */
static int clear_leftovers(const struct xa_place *place, bool *found)
{
	*found = false;
	return remove_leftover(place, BEING_MADE, found) ||
			       remove_leftover(place, BEING_REMOVED, found)
		       ? -1
		       : 0;
}

static int make_instance(const struct xa_place *place, const struct xa_attach *attach, int ifindex,
			 struct xa_attached *attached)
{
	struct xa_config config;
	char making[PATH_MAX], made[PATH_MAX];
	struct xa_instance instance;
	int status = -1;

	if (config_from(&attach->limits, &config) ||
	    xa_place_path(place, place->name, BEING_MADE, making) ||
	    xa_place_path(place, place->name, "", made))
		return -1;
	if (!xa_instance_create(making, &config)) {
		if (!xa_instance_open_dir(&instance, place->name, making))
			status = attach_here(&instance, attach, ifindex, attached);
		xa_instance_close(&instance);
	}
	if (!status && rename(making, made))
		status = xa_error(
			"%s cannot be renamed to %s (%s); see that the BPF file system is writable",
			making, made, strerror(errno));
	if (status)
		remove_instance(place, making);
	return status;
}

static int attach_to(const struct xa_place *place, const struct xa_attach *attach, int ifindex,
		     struct xa_attached *attached)
{
	struct xa_instance instance;
	char path[PATH_MAX];
	bool found;
	int status;

	if (clear_leftovers(place, &found) || xa_place_path(place, place->name, "", path))
		return -1;
	if (access(path, F_OK) && errno == ENOENT)
		return make_instance(place, attach, ifindex, attached);
	status = xa_instance_open(&instance, place, LOCK_EX);
	if (!status)
		status = check_limits(&instance, &attach->limits);
	if (!status)
		status = attach_here(&instance, attach, ifindex, attached);
	xa_instance_close(&instance);
	return status;
}

/*
 * A bpffs whose root everybody may write to lets everybody make this directory, and its owner could swap
 * the pins below it.
 */
static int check_owner(const char *path, int dir)
{
	struct stat st;

	if (fstat(dir, &st))
		return xa_error("%s cannot be looked at (%s); try again", path, strerror(errno));
	if (st.st_uid == 0 || st.st_uid == geteuid())
		return 0;
	return xa_error("%s belongs to another user (uid %u), who could change what is in it; "
			"remove it, or "
			"name another BPF file system with --bpffs",
			path, st.st_uid);
}

/* The lock under which instances come and go. */
static int lock_all(const char *path)
{
	int lock;

	/* The last destroy takes the directory away, and that can be between the two. */
	do {
		if (xa_make_dir(path))
			return -1;
		lock = xa_lock_dir(path, LOCK_EX);
	} while (lock < 0 && errno == ENOENT);
	if (lock < 0)
		return xa_error("%s cannot be locked (%s); see that it is a directory of the BPF "
				"file system",
				path, strerror(errno));
	if (!check_owner(path, lock))
		return lock;
	close(lock);
	return -1;
}

static int no_netns(const char *netns, int error)
{
	if (error == -ENOENT)
		return xa_error("there is no network namespace '%s'; 'ip netns list' shows those "
				"that have a name",
				netns);
	if (error == -EPERM)
		return xa_error("network namespace '%s' is another one, and to enter it needs "
				"CAP_SYS_ADMIN, which this user lacks; run xatomic as root",
				netns);
	return xa_error("network namespace '%s' cannot be entered (%s); run xatomic as root", netns,
			strerror(-error));
}

/* Moves to the interface's namespace. Returns its index, or -1; *home is for xa_netns_leave(). */
static int find_interface(const char *ifname, const char *netns, int *home)
{
	int ifindex;

	*home = xa_netns_enter(netns);
	if (*home < 0)
		return no_netns(netns ? netns : "of this process", *home);
	ifindex = if_nametoindex(ifname);
	if (ifindex)
		return ifindex;
	xa_error("there is no interface '%s' in %s%s; 'ip %s%s%slink' shows those that are", ifname,
		 netns ? "network namespace " : "this network namespace", netns ? netns : "",
		 netns ? "-n " : "", netns ? netns : "", netns ? " " : "");
	xa_netns_leave(*home);
	return -1;
}

/* Only what is empty goes, and only a file system that nobody has a file of. */
static void undo_place(const struct xa_place *place, const char *path, int lock, bool mounted)
{
	bool empty = lock >= 0 ? !rmdir(path) : access(path, F_OK) != 0;

	if (lock >= 0)
		close(lock);
	if (mounted && empty)
		umount2(place->bpffs, UMOUNT_NOFOLLOW);
}

int xa_attach(const struct xa_place *place, const struct xa_attach *attach,
	      struct xa_attached *attached)
{
	int home, ifindex, lock = -1, status = -1;
	char path[PATH_MAX] = "";
	bool mounted;

	memset(attached, 0, sizeof(*attached));
	if (check_kernel())
		return -1;
	ifindex = find_interface(attach->ifname, attach->netns, &home);
	if (ifindex < 0)
		return -1;
	attached->is_veth = xa_is_veth(attach->ifname);
	if (!xa_bpffs_mount(place->bpffs, &mounted) && !xa_place_path(place, NULL, NULL, path))
		lock = lock_all(path);
	if (lock >= 0)
		status = attach_to(place, attach, ifindex, attached);
	attached->vanishes = mounted && xa_mounts_vanish();
	if (status)
		undo_place(place, path, lock, mounted);
	else
		close(lock);
	xa_netns_leave(home);
	return status;
}

int xa_detach(const struct xa_place *place, const char *ifname, const char *netns)
{
	struct xa_interfaces all = {0};
	struct xa_instance instance;
	int home, ifindex, status;

	status = xa_instance_open(&instance, place, LOCK_EX);
	if (!status)
		status = xa_links_sweep(&instance);
	ifindex = status ? -1 : find_interface(ifname, netns, &home);
	if (ifindex >= 0) {
		const struct xa_interface *interface = NULL;

		status = xa_interfaces_find(&instance, &all);
		if (!status)
			interface = xa_interfaces_here(&all, ifindex);
		if (interface)
			status = xa_link_detach(&instance, interface);
		else if (!status)
			status = xa_error("%s is not attached to instance '%s'; 'xatomic -i %s "
					  "show' lists what is",
					  ifname, place->name, place->name);
		xa_interfaces_free(&all);
		xa_netns_leave(home);
	}
	xa_instance_close(&instance);
	return ifindex < 0 ? -1 : status;
}

static int no_instance(const struct xa_place *place)
{
	return xa_error("there is no instance '%s' below %s; 'ls %s/xatomic' shows those that are",
			place->name, place->bpffs, place->bpffs);
}

/* The rename is what counts: before it the instance is whole, and after it the rest can be done again. */
static int destroy_locked(const struct xa_place *place)
{
	char path[PATH_MAX], removing[PATH_MAX];
	int lock, status;
	bool found;

	if (clear_leftovers(place, &found) || xa_place_path(place, place->name, "", path) ||
	    xa_place_path(place, place->name, BEING_REMOVED, removing))
		return -1;
	lock = xa_lock_dir(path, LOCK_EX);
	if (lock < 0 && errno != ENOENT)
		return xa_error("instance '%s' cannot be locked (%s); try again", place->name,
				strerror(errno));
	if (lock < 0)
		return found ? 0 : no_instance(place);
	if (rename(path, removing))
		status = xa_error("%s cannot be renamed (%s); try again", path, strerror(errno));
	else
		status = remove_instance(place, removing);
	close(lock);
	return status;
}

int xa_destroy(const struct xa_place *place)
{
	char path[PATH_MAX];
	int lock, status;

	if (xa_place_path(place, NULL, NULL, path))
		return -1;
	if (access(path, F_OK) && errno == ENOENT)
		return xa_error("there is no instance '%s' below %s; 'xatomic attach' makes one",
				place->name, place->bpffs);
	lock = lock_all(path);
	if (lock < 0)
		return -1;
	status = destroy_locked(place);
	/* Stays where there are other instances. */
	rmdir(path);
	close(lock);
	return status;
}
