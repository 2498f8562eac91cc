/* SPDX-License-Identifier: BSD-2-Clause */
#include "grace.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

/*
 * The kernel offers no grace period as such, but the update of a map of maps returns after one, so that
 * nobody uses the replaced map any more (kernel/bpf/syscall.c, maybe_wait_bpf_programs).
 */
int xa_grace_period(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int inner, outer = -1, status = -1;
	uint32_t first = 0;

	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "xa_grace", 4, 8, 1, NULL);
	if (inner >= 0) {
		opts.inner_map_fd = inner;
		outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "xa_grace", 4, 4, 1, &opts);
	}
	if (outer >= 0)
		status = bpf_map_update_elem(outer, &first, &inner, BPF_ANY);
	if (status)
		status = xa_error("packets in flight cannot be waited for (%s), so nothing more "
				  "was changed; try again",
				  strerror(errno));
	if (outer >= 0)
		close(outer);
	if (inner >= 0)
		close(inner);
	return status;
}
