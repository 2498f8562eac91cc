/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_insns - executed instructions of the responder per class of packets, against a budget.
 *
 * Times tell little on a machine that others use too, and the size of the program tells nothing of the
 * path that a packet takes through it. The number of instructions on that path is exact and the same
 * everywhere. It is counted by an interpreter, which has to agree with the kernel about all that the packet
 * changes.
 *
 * Usage: test_insns            compares with the budget
 *        test_insns --table    prints the costs as a table in Markdown
 *        test_insns --budget   prints the budget that fits the costs
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "responder.skel.h"
#include "../lib/tap.h"

static bool measure_all(struct rig *rig, struct cost *costs)
{
	bool same = true;

	for (unsigned int i = 0; i < class_count; i++)
		same &= measure(rig, &classes[i], &costs[i]);
	return same;
}

static void print_table(const struct cost *costs)
{
	printf("| Packet | BPF instructions | helper calls |\n| --- | ---: | ---: |\n");
	for (unsigned int i = 0; i < class_count; i++)
		printf("| %s | %" PRIu64 " | %" PRIu64 " |\n", classes[i].name, costs[i].insns,
		       costs[i].calls);
}

static void check_budget(const struct class *class, const struct cost *cost)
{
	struct cost budget;
	bool fits;

	if (!budget_of(class, &budget)) {
		tap_result(false, "%s: has a line in " BUDGET_FILE, class->name);
		return;
	}
	fits = cost->insns <= budget.insns && cost->calls <= budget.calls;
	if (!fits)
		tap_note("%s costs more than it did; if that is meant to be, see " BUDGET_FILE,
			 class->name);
	tap_result(fits,
		   "%s: %" PRIu64 " instructions of a budget of %" PRIu64 ", %" PRIu64
		   " helper calls of %" PRIu64,
		   class->name, cost->insns, budget.insns, cost->calls, budget.calls);
}

static void check_class(struct rig *rig, const struct class *class, bool has_budget)
{
	struct cost cost;
	bool same = measure(rig, class, &cost);

	tap_result(same, "%s: interpreter and kernel agree", class->name);
	if (same && has_budget)
		check_budget(class, &cost);
}

static void check_all(struct rig *rig)
{
	const struct bpf_object_skeleton *skeleton = rig->responder.skel->skeleton;
	int clang = compiled_by(skeleton->data, skeleton->data_sz);
	char why[80];

	for (unsigned int i = 0; i < class_count; i++)
		check_class(rig, &classes[i], clang == BUDGET_CLANG);
	if (clang == BUDGET_CLANG)
		return;
	snprintf(why, sizeof(why), "compiled by clang %d, and the budget is for clang %d", clang,
		 BUDGET_CLANG);
	tap_skip("the instructions of each class are within the budget", why);
}

static int print(struct rig *rig, void (*how)(const struct cost *costs))
{
	struct cost costs[class_count];

	if (!measure_all(rig, costs)) {
		fprintf(stderr, "test_insns: interpreter and kernel do not agree: run it without "
				"options to see on what\n");
		return 1;
	}
	how(costs);
	return 0;
}

static int run(struct rig *rig, const char *option)
{
	if (!strcmp(option, "--table"))
		return print(rig, print_table);
	if (!strcmp(option, "--budget"))
		return print(rig, budget_print);
	check_all(rig);
	return tap_done();
}

static int cannot_run(int err)
{
	if (err == -EPERM)
		tap_skip("instructions per packet", "this user may load no BPF program");
	else
		tap_result(false, "the program can be loaded: %s", strerror(-err));
	return tap_done();
}

int main(int argc, char **argv)
{
	const char *option = argc > 1 ? argv[1] : "";
	struct rig rig;
	int status;

	if (argc > 2 || (*option && strcmp(option, "--table") && strcmp(option, "--budget"))) {
		fprintf(stderr, "usage: test_insns [--table | --budget]\n");
		return 2;
	}
	status = rig_open(&rig, SCENE_QPS, XA_UNKNOWN_QP_PASS);
	if (status)
		return cannot_run(status);
	status = run(&rig, option);
	rig_close(&rig);
	return status;
}
