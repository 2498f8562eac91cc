/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XATOMIC_CLI_OPENMETRICS_H
#define XATOMIC_CLI_OPENMETRICS_H

#include "lib/stats.h"

/* Prints counters and gauges in the OpenMetrics text format 1.0. Returns -1 with xa_error(). */
int cli_print_openmetrics(const struct xa_instance *instance, const union xa_counts *counts);

#endif
