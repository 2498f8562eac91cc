/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attach.h - the life of an instance: made by the first attach, gone with destroy.
 *
 * An instance is built in a directory that no instance can be named like and gets its name last, by a
 * rename, so a process that dies on the way leaves no half instance behind; what it does leave, the next
 * attach or destroy of that name clears away. Both hold the lock of DIR/xatomic.
 *
 * All functions return 0, or -1 with xa_error().
 */
#ifndef XATOMIC_LIB_ATTACH_H
#define XATOMIC_LIB_ATTACH_H

#include <stdint.h>

#include "links.h"

/* What the caller asks for; 0 (unknown_qp: -1) leaves it to the instance that is there, or to the default. */
struct xa_limits {
	uint32_t max_qps; /* rounded up to a power of two */
	uint32_t max_mrs;
	uint32_t replay_windows;
	int unknown_qp; /* enum xa_unknown_qp */
};

struct xa_attach {
	const char *ifname;
	const char *netns; /* NULL: the caller's */
	enum xa_mode mode;
	struct xa_limits limits;
};

struct xa_attached {
	enum xa_mode mode; /* native or generic */
	int no_native;     /* why AUTO came to generic, for xa_why_not_attached(), or 0 */
	bool is_new;       /* the interface was not attached before */
	bool is_veth;
	bool vanishes; /* the bpffs, see xa_mounts_vanish() */
	struct xa_config config;
};

int xa_attach(const struct xa_place *place, const struct xa_attach *attach,
	      struct xa_attached *attached);
int xa_detach(const struct xa_place *place, const char *ifname, const char *netns);
int xa_destroy(const struct xa_place *place);

/* Windows of `replay` with which each of max_qps queue pairs keeps its own. */
uint32_t xa_default_windows(uint32_t max_qps, uint32_t cpus);

/* Is a kernel release such as "6.1.0-18-amd64" older than 6.1? */
bool xa_is_old_kernel(const char *release);

extern const char *const xa_unknown_qp_names[];

#endif
