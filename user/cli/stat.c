/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "common/output.h"
#include "lib/stats.h"
#include "lib/words.h"
#include "openmetrics.h"

struct json_object *cli_counts_json(const __u64 (*counts)[XA_REASON_COUNT])
{
	struct json_object *object = json_object_new_object();

	for (int class = 0; class < XA_CLASS_COUNT; class ++) {
		struct json_object *reasons = json_object_new_object();

		for (int reason = 0; reason < XA_REASON_COUNT; reason++)
			xa_put_number(reasons, xa_reason_word(reason), counts[class][reason]);
		json_object_object_add(object, xa_class_word(class), reasons);
	}
	return object;
}

const char *cli_verdict(const struct xa_instance *instance, int reason)
{
	if (reason == XA_REASON_unknown_qp)
		return xa_unknown_qp_names[instance->config.unknown_qp == XA_UNKNOWN_QP_DROP];
	return xa_reason_verdict(reason);
}

static void print_row(const struct xa_instance *instance, const union xa_counts *counts, int reason,
		      bool verbose)
{
	printf("%-18s %-7s", xa_reason_word(reason), cli_verdict(instance, reason));
	for (int class = 0; class < XA_CLASS_COUNT; class ++)
		printf(" %14" PRIu64, (uint64_t)counts->of[class][reason]);
	printf(verbose ? "  %s\n" : "\n", xa_reason_meaning(reason));
}

static void print_table(const struct xa_instance *instance, const union xa_counts *counts,
			const char *unit, bool verbose)
{
	printf("%-18s %-7s", unit, "verdict");
	for (int class = 0; class < XA_CLASS_COUNT; class ++)
		printf(" %14s", xa_class_word(class));
	putchar('\n');
	for (int reason = 0; reason < XA_REASON_COUNT; reason++) {
		uint64_t sum = 0;

		for (int class = 0; class < XA_CLASS_COUNT; class ++)
			sum += counts->of[class][reason];
		if (sum || verbose)
			print_row(instance, counts, reason, verbose);
	}
}

static void print_counts(const struct settings *settings, const struct xa_instance *instance,
			 const union xa_counts *counts, const char *unit)
{
	if (settings->global.json)
		xa_print_json(&settings->global, cli_counts_json(counts->of));
	else
		print_table(instance, counts, unit, settings->global.verbose);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void to_rates(union xa_counts *rates, const union xa_counts *before,
		     const union xa_counts *after, double seconds)
{
	for (int class = 0; class < XA_CLASS_COUNT; class ++)
		for (int reason = 0; reason < XA_REASON_COUNT; reason++)
			rates->of[class][reason] =
				(after->of[class][reason] - before->of[class][reason]) / seconds +
				0.5;
}

/* True once it is time for the next rates; else *status is what to end with. */
static bool wait_for_next(const struct settings *settings, const struct xa_instance *instance,
			  int signals, int *status)
{
	for (uint32_t ms = 0; ms < settings->watch * 1000; ms += CLI_CHECK_MS) {
		if (!cli_wait(signals, -1, CLI_CHECK_MS))
			return false;
		if (xa_instance_check(instance)) {
			*status = cli_failed();
			return false;
		}
	}
	return true;
}

/* Prints rates until a signal comes or the instance is destroyed. */
static int watch(const struct settings *settings, const struct xa_instance *instance)
{
	union xa_counts before, after, rates;
	uint64_t begin = now_ns(), end;
	int signals = cli_catch_signals(), status = XA_EXIT_DONE;

	if (xa_counts_read(instance, &before))
		status = cli_failed();
	while (!status && wait_for_next(settings, instance, signals, &status)) {
		end = now_ns();
		if (xa_counts_read(instance, &after)) {
			status = cli_failed();
			break;
		}
		to_rates(&rates, &before, &after, (end - begin) / 1e9);
		print_counts(settings, instance, &rates, "per second");
		status = xa_flush(XA_EXIT_DONE);
		before = after;
		begin = end;
	}
	close(signals);
	return status;
}

static int print_once(const struct settings *settings, const struct xa_instance *instance)
{
	union xa_counts counts;

	if (xa_counts_read(instance, &counts))
		return cli_failed();
	if (!settings->openmetrics)
		print_counts(settings, instance, &counts, "packets");
	else if (cli_print_openmetrics(instance, &counts))
		return cli_failed();
	return XA_EXIT_DONE;
}

int cli_stat(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	int status;

	if (settings->openmetrics && (settings->watch || settings->global.json)) {
		xa_fail("--openmetrics prints all counters once in a format of its own; leave out "
			"--watch, --json and --pretty");
		return XA_EXIT_USAGE;
	}
	if (cli_open(settings, &instance, LOCK_SH))
		return XA_EXIT_FAILED;
	if (settings->watch) {
		/* Others need not wait for the end of this. */
		xa_instance_unlock(&instance);
		status = watch(settings, &instance);
	} else {
		status = print_once(settings, &instance);
	}
	xa_instance_close(&instance);
	return status;
}
