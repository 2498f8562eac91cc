/* SPDX-License-Identifier: BSD-2-Clause */
#include "openmetrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lib/words.h"

static void describe(const char *name, const char *type, const char *help)
{
	printf("# TYPE xatomic_%s %s\n# HELP xatomic_%s %s\n", name, type, name, help);
}

static void gauge(const struct xa_instance *instance, const char *name, const char *help,
		  uint64_t value)
{
	describe(name, "gauge", help);
	printf("xatomic_%s{instance=\"%s\"} %" PRIu64 "\n", name, instance->name, value);
}

static void print_packets(const struct xa_instance *instance, const union xa_counts *counts)
{
	describe("packets", "counter", "Packets by what they asked for and how they ended.");
	for (int class = 0; class < XA_CLASS_COUNT; class ++)
		for (int reason = 0; reason < XA_REASON_COUNT; reason++)
			printf("xatomic_packets_total{instance=\"%s\",class=\"%s\",reason=\"%s\","
			       "verdict=\"%s\"} %" PRIu64 "\n",
			       instance->name, xa_class_word(class), xa_reason_word(reason),
			       cli_verdict(instance, reason), (uint64_t)counts->of[class][reason]);
}

static int print_qps(const struct xa_instance *instance)
{
	size_t count, in_state[XA_QP_ERR + 1] = {0};
	struct xa_qp *list;

	if (xa_qp_list(instance, &list, &count))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (list[i].ctl.state <= XA_QP_ERR)
			in_state[list[i].ctl.state]++;
	free(list);
	describe("queue_pairs", "gauge", "Queue pairs by state.");
	for (int state = XA_QP_RTR; state <= XA_QP_ERR; state++)
		printf("xatomic_queue_pairs{instance=\"%s\",state=\"%s\"} %zu\n", instance->name,
		       xa_qp_state_word(state), in_state[state]);
	gauge(instance, "queue_pairs_max", "Most queue pairs that there can be.",
	      instance->config.max_qps);
	return 0;
}

static int print_mrs(const struct xa_instance *instance)
{
	uint64_t bytes = 0;
	struct xa_mr *list;
	size_t count;

	if (xa_mr_list(instance, &list, &count))
		return -1;
	for (size_t i = 0; i < count; i++)
		bytes += list[i].length;
	free(list);
	gauge(instance, "memory_regions", "Memory regions.", count);
	gauge(instance, "memory_regions_max", "Most memory regions that there can be.",
	      instance->config.max_mrs);
	gauge(instance, "memory_region_bytes", "Size of all memory regions together.", bytes);
	return 0;
}

int cli_print_openmetrics(const struct xa_instance *instance, const union xa_counts *counts)
{
	print_packets(instance, counts);
	if (print_qps(instance) || print_mrs(instance))
		return -1;
	printf("# EOF\n");
	return 0;
}
