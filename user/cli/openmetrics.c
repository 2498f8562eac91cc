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

/* What there is to say, before anything is said: a part would be no valid text. */
struct gauges {
	size_t in_state[XA_QP_ERR + 1];
	size_t mrs;
	uint64_t mr_bytes;
};

static int count_qps(const struct xa_instance *instance, struct gauges *gauges)
{
	struct xa_qp *list;
	size_t count;

	if (xa_qp_list(instance, &list, &count))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (list[i].ctl.state <= XA_QP_ERR)
			gauges->in_state[list[i].ctl.state]++;
	free(list);
	return 0;
}

static int count_mrs(const struct xa_instance *instance, struct gauges *gauges)
{
	struct xa_mr *list;

	if (xa_mr_list(instance, &list, &gauges->mrs))
		return -1;
	for (size_t i = 0; i < gauges->mrs; i++)
		gauges->mr_bytes += list[i].length;
	free(list);
	return 0;
}

static void print_qps(const struct xa_instance *instance, const struct gauges *gauges)
{
	describe("queue_pairs", "gauge", "Queue pairs by state.");
	for (int state = XA_QP_RTR; state <= XA_QP_ERR; state++)
		printf("xatomic_queue_pairs{instance=\"%s\",state=\"%s\"} %zu\n", instance->name,
		       xa_qp_state_word(state), gauges->in_state[state]);
	gauge(instance, "queue_pairs_max", "Most queue pairs that there can be.",
	      instance->config.max_qps);
}

static void print_mrs(const struct xa_instance *instance, const struct gauges *gauges)
{
	gauge(instance, "memory_regions", "Memory regions.", gauges->mrs);
	gauge(instance, "memory_regions_max", "Most memory regions that there can be.",
	      instance->config.max_mrs);
	gauge(instance, "memory_region_bytes", "Size of all memory regions together.",
	      gauges->mr_bytes);
}

int cli_print_openmetrics(const struct xa_instance *instance, const union xa_counts *counts)
{
	struct gauges gauges = {0};

	if (count_qps(instance, &gauges) || count_mrs(instance, &gauges))
		return -1;
	print_packets(instance, counts);
	print_qps(instance, &gauges);
	print_mrs(instance, &gauges);
	printf("# EOF\n");
	return 0;
}
