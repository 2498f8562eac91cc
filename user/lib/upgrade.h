/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * upgrade.h - another program under the maps and links of a live instance.
 *
 * The new program is loaded with the instance's maps and pinned as prog+new. Then it is put under one link
 * after the other, and at last its pin takes the place of the old one. Each of these is one step, and as the
 * layout is the same, both programs can run side by side: whenever the process dies, every interface has a
 * program and all share the maps, and the next upgrade goes the rest of the way.
 */
#ifndef XATOMIC_LIB_UPGRADE_H
#define XATOMIC_LIB_UPGRADE_H

#include <linux/bpf.h>

#include "links.h"

struct xa_prog {
	__u32 id;
	char name[BPF_OBJ_NAME_LEN];
	char tag[2 * BPF_TAG_SIZE + 1]; /* hexadecimal, as bpftool shows it */
};

struct xa_upgrade {
	bool changed; /* false: the program was there already, under all links */
	struct xa_prog was;
	struct xa_prog is;
	struct xa_interfaces interfaces; /* each with the program that it ran before */
};

/* What the kernel says of a program. Returns 0, or -1 with xa_error(). */
int xa_prog_read(int fd, struct xa_prog *program);

/*
 * Puts this binary's program under an instance, which is locked exclusively. Returns -1 with xa_error() when
 * all is as it was. Free upgrade->interfaces after success.
 */
int xa_upgrade(const struct xa_instance *instance, struct xa_upgrade *upgrade);

#endif
