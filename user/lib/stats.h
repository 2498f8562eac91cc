/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XATOMIC_LIB_STATS_H
#define XATOMIC_LIB_STATS_H

#include "instance.h"

/* Packets by class and reason, summed over all CPUs. */
union xa_counts {
	struct xa_stats stats;
	__u64 of[XA_CLASS_COUNT][XA_REASON_COUNT];
};

_Static_assert(sizeof(struct xa_stats) == sizeof(((union xa_counts *)0)->of),
	       "one counter per reason");

/* Returns 0, or -1 with xa_error(). */
int xa_counts_read(const struct xa_instance *instance, union xa_counts *counts);

#endif
