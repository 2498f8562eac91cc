/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <unistd.h>

#include "hasty.h"

enum { PAUSE_US = 2000 };

#define bpf_map_update_elem(fd, key, value, flags)                                                 \
	(usleep(PAUSE_US), bpf_map_update_elem(fd, key, value, flags))

#include "../../../user/lib/mrs.c"

int slow_mr_del(const struct xa_instance *instance, const char *name)
{
	return xa_mr_del(instance, name);
}
