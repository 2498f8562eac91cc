/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_prog - the specification of the BPF program as a table and as sweeps, on the real program.
 *
 * Usage: test_prog [--pcap FILE]   tables only, and their replies go to FILE, see capture.h
 */
#include <string.h>

#include "capture.h"
#include "configs.h"
#include "race.h"
#include "row.h"
#include "rxe.h"
#include "sweep.h"
#include "vectors.h"
#include "../lib/tap.h"

enum { RANDOM_CASES = 4000, CAPTURED_CASES = 300 };

static void run_tables(struct rig *rig)
{
	run_table(rig, &parse_table);
	run_table(rig, &qp_table);
	run_table(rig, &psn_table);
	run_table(rig, &access_table);
	run_table(rig, &execute_table);
	run_table(rig, &duplicate_table);
	run_table(rig, &reply_table);
	run_table(rig, &gsi_table);
}

static void run_sweeps(struct rig *rig, enum xa_family family)
{
	sweep_bits(rig, family);
	sweep_numbers(rig, family);
	sweep_lengths(rig, family);
	sweep_opcodes(rig, family);
	sweep_order(rig, family);
	sweep_stories(rig, family);
	sweep_headers(rig, family);
	sweep_gsi(rig, family);
	sweep_random(rig, family, RANDOM_CASES);
}

static int run(struct rig *rig, const char *pcap)
{
	int err;

	if (!pcap) {
		run_tables(rig);
		run_sweeps(rig, XA_IPV4);
		run_sweeps(rig, XA_IPV6);
		run_configs();
		run_vectors();
		run_rxe();
		run_races();
		return 0;
	}
	err = capture_open(rig, pcap);
	if (err)
		return err;
	run_tables(rig);
	sweep_random(rig, XA_IPV4, CAPTURED_CASES);
	sweep_random(rig, XA_IPV6, CAPTURED_CASES);
	return capture_close(rig);
}

int main(int argc, char **argv)
{
	const char *pcap = argc == 3 && !strcmp(argv[1], "--pcap") ? argv[2] : NULL;
	struct rig rig;
	int err;

	err = rig_open(&rig, SCENE_QPS, XA_UNKNOWN_QP_PASS);
	if (!err) {
		err = run(&rig, pcap);
		rig_close(&rig);
	}
	if (err)
		tap_result(false, "the program can be loaded and run: %s", strerror(-err));
	return tap_done();
}
