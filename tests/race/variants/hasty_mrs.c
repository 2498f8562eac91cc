/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>

#define bpf_map_delete_elem(fd, key) ((void)(fd), (void)(key), 0)
#define xa_mr_add                    hasty_mr_add
#define xa_mr_del                    hasty_mr_del
#define xa_mr_find                   hasty_mr_find
#define xa_mr_list                   hasty_mr_list

#include "../../../user/lib/mrs.c"
