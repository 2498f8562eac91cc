/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>

#include "hasty.h"

#define bpf_map_delete_elem(fd, key) ((void)(fd), (void)(key), 0)

#include "../../../user/lib/mrs.c"

int hasty_mr_del(const struct xa_instance *instance, const char *name)
{
	return xa_mr_del(instance, name);
}
