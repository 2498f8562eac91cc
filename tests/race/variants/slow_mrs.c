/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <unistd.h>

enum { PAUSE_US = 2000 };

#define bpf_map_update_elem(fd, key, value, flags)                                                 \
	(usleep(PAUSE_US), bpf_map_update_elem(fd, key, value, flags))
#define xa_mr_add  slow_mr_add
#define xa_mr_del  slow_mr_del
#define xa_mr_find slow_mr_find
#define xa_mr_list slow_mr_list

#include "../../../user/lib/mrs.c"
