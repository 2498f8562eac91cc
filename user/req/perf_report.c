/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_report.c - results in the columns and units of perftest's ib_atomic_bw and ib_atomic_lat.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/output.h"
#include "perf.h"

enum { WORD_BYTES = 8 };

/* perftest's MB, which is 2^20 bytes, and its Mpps. */
static const double mb = 1 << 20, million = 1e6, ns_per_us = 1e3, ns_per_s = 1e9;

/* What is reported, in the units in which it is. */
struct results {
	double seconds, rate; /* operations per second */
	double peak;
	double min, max, typical, average, deviation, p99, p999; /* us */
};

static double quantile(const struct perf *perf, double share)
{
	return (double)histogram_quantile(&perf->latency, share) / ns_per_us;
}

static struct results results_of(const struct perf *perf)
{
	struct results r = {
		.seconds = (double)(perf->end - perf->begin) / ns_per_s,
		.peak = perf->peak,
		.min = (double)perf->latency.min / ns_per_us,
		.max = (double)perf->latency.max / ns_per_us,
		.typical = quantile(perf, 0.5),
		.average = histogram_average(&perf->latency) / ns_per_us,
		.deviation = histogram_deviation(&perf->latency) / ns_per_us,
		.p99 = quantile(perf, 0.99),
		.p999 = quantile(perf, 0.999),
	};

	r.rate = r.seconds > 0 ? (double)perf->ops / r.seconds : 0;
	/* A run shorter than a slice has no better part. */
	if (r.peak < r.rate)
		r.peak = r.rate;
	return r;
}

static void put_fixed(struct json_object *object, const char *key, int digits, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*f", digits, value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static void put_bandwidth(struct json_object *object, const struct results *r)
{
	put_fixed(object, "bw_peak", 3, r->peak * WORD_BYTES / mb);
	put_fixed(object, "bw_average", 3, r->rate * WORD_BYTES / mb);
	put_fixed(object, "msg_rate", 6, r->rate / million);
}

static void put_latency(struct json_object *object, const struct results *r)
{
	put_fixed(object, "t_min", 3, r->min);
	put_fixed(object, "t_max", 3, r->max);
	put_fixed(object, "t_typical", 3, r->typical);
	put_fixed(object, "t_avg", 3, r->average);
	put_fixed(object, "t_stdev", 3, r->deviation);
	put_fixed(object, "t_99", 3, r->p99);
	put_fixed(object, "t_99.9", 3, r->p999);
}

static uint64_t count_resent(const struct perf *perf)
{
	struct xatomic_qp_info info;
	uint64_t resent = 0;

	for (uint32_t i = 0; i < perf->count; i++) {
		xatomic_qp_query(perf->lanes[i].qp, &info);
		resent += info.counters.resent;
	}
	return resent;
}

/* Both modes have all facts; latencies of the bandwidth mode include the wait in the send queue. */
static int report_json(const struct perf *perf, const struct results *r)
{
	struct json_object *object = json_object_new_object();

	xa_put_text(object, "mode", perf->settings->lat ? "lat" : "bw");
	xa_put_text(object, "op", perf->settings->op == REQ_OP_FADD ? "fadd" : "cswap");
	xa_put_text(object, "transport", xatomic_device_transport(perf->device));
	xa_put_number(object, "qp", perf->count);
	xa_put_number(object, "outs", perf->settings->outs);
	xa_put_number(object, "bytes", WORD_BYTES);
	xa_put_number(object, "iterations", perf->ops);
	put_fixed(object, "seconds", 6, r->seconds);
	put_bandwidth(object, r);
	put_latency(object, r);
	xa_put_number(object, "resent", count_resent(perf));
	json_object_object_add(object, "verified", json_object_new_boolean(perf->settings->verify));
	return xa_print_json(&perf->settings->global, object);
}

static void print_bandwidth(const struct perf *perf, const struct results *r)
{
	printf(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   "
	       "MsgRate[Mpps]\n");
	printf(" %-10d %-14" PRIu64 " %-18.2f %-20.2f %.6f\n", WORD_BYTES, perf->ops,
	       r->peak * WORD_BYTES / mb, r->rate * WORD_BYTES / mb, r->rate / million);
}

static void print_latency(const struct perf *perf, const struct results *r)
{
	printf(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
	       "    t_stdev[usec]   99%% percentile[usec]   99.9%% percentile[usec]\n");
	printf(" %-6d %-14" PRIu64 " %-14.2f %-12.2f %-18.2f %-14.2f %-15.2f %-22.2f %.2f\n",
	       WORD_BYTES, perf->ops, r->min, r->max, r->typical, r->average, r->deviation, r->p99,
	       r->p999);
}

int perf_report(const struct perf *perf)
{
	struct results r = results_of(perf);

	if (perf->settings->global.json)
		return report_json(perf, &r);
	if (perf->settings->lat)
		print_latency(perf, &r);
	else
		print_bandwidth(perf, &r);
	return XA_EXIT_DONE;
}
