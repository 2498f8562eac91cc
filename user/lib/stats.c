/* SPDX-License-Identifier: BSD-2-Clause */
#include "stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static void add(union xa_counts *sum, const union xa_counts *counts)
{
	for (int class = 0; class < XA_CLASS_COUNT; class ++)
		for (int reason = 0; reason < XA_REASON_COUNT; reason++)
			sum->of[class][reason] += counts->of[class][reason];
}

int xa_counts_read(const struct xa_instance *instance, union xa_counts *counts)
{
	int cpus = libbpf_num_possible_cpus();
	union xa_counts *per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	__u32 first = 0;

	memset(counts, 0, sizeof(*counts));
	if (!per_cpu || bpf_map_lookup_elem(instance->maps[XA_MAP_STATS], &first, per_cpu)) {
		free(per_cpu);
		return xa_error("the counters of instance '%s' cannot be read (%s); try again",
				instance->name, strerror(errno));
	}
	for (int i = 0; i < cpus; i++)
		add(counts, &per_cpu[i]);
	free(per_cpu);
	return 0;
}
