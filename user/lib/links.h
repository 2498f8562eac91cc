/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.h - the interfaces of an instance: BPF links, pinned below links/. A link vanishes from the kernel's
 * view with its interface; its pin then is dead and counts for nothing.
 *
 * Functions return 0, or -1 with xa_error(), unless they say otherwise.
 */
#ifndef XATOMIC_LIB_LINKS_H
#define XATOMIC_LIB_LINKS_H

#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "address.h"
#include "instance.h"

enum xa_mode { XA_MODE_AUTO, XA_MODE_NATIVE, XA_MODE_GENERIC };

/* "auto", "native", "generic", NULL: for options and output. */
extern const char *const xa_mode_names[];

struct xa_interface {
	char pin[NAME_MAX + 1]; /* of the link, below links/ */
	int ifindex;
	__u32 prog_id;            /* of the program that it runs */
	ino_t netns_id;           /* where the interface is now; 0: nowhere that can be entered */
	ino_t netns_hint;         /* where it was attached */
	char netns[NAME_MAX + 1]; /* "": one without a name */
	char name[IF_NAMESIZE];
	enum xa_mode mode;
	bool up;
	struct xa_ip *ips;
	size_t ip_count;
};

struct xa_interfaces {
	struct xa_interface *list;
	size_t count;
};

/* All interfaces with a living link, found in whatever namespace they are now. Free with the next one. */
int xa_interfaces_find(const struct xa_instance *instance, struct xa_interfaces *found);
void xa_interfaces_free(struct xa_interfaces *found);

/* The first half of it: pins, indexes and hints of the living links, appended. */
int xa_links_list(const struct xa_instance *instance, struct xa_interfaces *found);

/* The one with this index in the namespace that the caller is in, or NULL. */
struct xa_interface *xa_interfaces_here(struct xa_interfaces *found, int ifindex);

struct xa_target {
	const char *ifname;
	const char *netns; /* as the user named it, or NULL; for sentences */
	int ifindex;
};

/*
 * Attaches the instance's program to an interface of the namespace that the caller is in and pins the link.
 * *mode becomes what AUTO came to: native, or generic where the driver cannot do that; *no_native then is the
 * error that the kernel gave (errno), and 0 otherwise.
 */
int xa_link_attach(const struct xa_instance *instance, const struct xa_target *target,
		   enum xa_mode *mode, int *no_native);

/* Why an interface does not take a program, in words; `error` is an errno. */
const char *xa_why_not_attached(int error);

/*
 * Puts another program under a link in one step: every packet meets the one or the other. An interface that
 * is gone is no failure.
 */
int xa_link_update(const struct xa_instance *instance, const struct xa_interface *interface,
		   int prog);

int xa_link_detach(const struct xa_instance *instance, const struct xa_interface *interface);

/* Takes away the pins of links whose interface is gone. */
int xa_links_sweep(const struct xa_instance *instance);

/* Is an interface of the caller's namespace one end of a veth? */
bool xa_is_veth(const char *ifname);

#endif
