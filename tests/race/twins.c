/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator.h"
#include "race.h"
#include "race/traffic.skel.h"
#include "traffic.h"

enum { BATCH = 64, FRAMES = 4096, CALLS = 100 * TWIN_REQUESTS / FRAMES, QPS = 64, RQPN = 0x4711 };

struct twins {
	struct race_rig rig;
	struct race_mr mr;
	struct xa_qp qp; /* as it was made */
	struct traffic_bpf *traffic;
	pthread_barrier_t start;
};

struct twin {
	struct twins *all;
	int ifindex;
	pthread_t thread;
};

static struct xa_qp *live_qp(const struct twins *t)
{
	return &t->rig.instance.qps[t->qp.qpn & (QPS - 1)];
}

static uint32_t expected_psn(const struct twins *t)
{
	return *(volatile uint32_t *)&live_qp(t)->ctl.epsn;
}

/* A wire for each CPU, so that answers do not have to queue behind the other's. */
static int make_wire(const struct twins *t, int n)
{
	char command[200], name[16];
	int ifindex;

	snprintf(command, sizeof(command),
		 "{ ip link del here%d; ip link add here%d type veth peer name there%d && "
		 "ip link set here%d up && ip link set there%d up; } 2>/dev/null",
		 n, n, n, n, n);
	race_must(system(command), "a veth pair");
	snprintf(name, sizeof(name), "there%d", n);
	ifindex = if_nametoindex(name);
	race_must(bpf_xdp_attach(ifindex, bpf_program__fd(t->traffic->progs.collect),
				 XDP_FLAGS_DRV_MODE, NULL),
		  "the collector on a veth");
	snprintf(name, sizeof(name), "here%d", n);
	return if_nametoindex(name);
}

static void write_requests(struct twins *t)
{
	struct packet packet;

	race_packet(&packet, t->qp.qpn, &t->mr);
	for (packet.psn = 0; packet.psn < TWIN_REQUESTS; packet.psn++)
		generator_set(t->traffic, packet.psn, &packet);
}

static void *send_frames(void *data)
{
	struct twin *twin = data;
	struct twins *t = twin->all;
	uint8_t frame[TWIN_FRAME] = {0};
	struct xdp_md ctx = {.data_end = TWIN_FRAME, .ingress_ifindex = twin->ifindex};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = TWIN_FRAME,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = FRAMES,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);

	pthread_barrier_wait(&t->start);
	for (int i = 0; i < CALLS && expected_psn(t) < TWIN_REQUESTS; i++)
		race_must(bpf_prog_test_run_opts(generator_fd(t->traffic), &opts), "live frames");
	return NULL;
}

static struct twin_answers read_answers(const struct twins *t)
{
	int possible = libbpf_num_possible_cpus();
	struct twin_answers per_cpu[possible], sum = {0};
	uint32_t first = 0;

	race_must(bpf_map_lookup_elem(bpf_map__fd(t->traffic->maps.answers), &first, per_cpu),
		  "answers");
	for (int cpu = 0; cpu < possible; cpu++) {
		sum.right += per_cpu[cpu].right;
		sum.wrong += per_cpu[cpu].wrong;
		if (!per_cpu[cpu].wrong)
			continue;
		sum.wrong_psn = per_cpu[cpu].wrong_psn;
		sum.wrong_original = per_cpu[cpu].wrong_original;
	}
	return sum;
}

static bool is(uint64_t number, uint64_t expected, const char *what)
{
	if (number != expected)
		tap_note("%s: %lu, expected %lu", what, number, expected);
	return number == expected;
}

static bool check_round(const struct twins *t, uint64_t executed)
{
	const struct xa_qp *qp = live_qp(t);
	struct twin_answers answers = read_answers(t);
	bool ok = is(expected_psn(t), TWIN_REQUESTS, "expected PSN");

	ok &= is(*t->mr.word, TWIN_REQUESTS, "sum in the word");
	ok &= is(qp->msn, TWIN_REQUESTS, "MSN");
	ok &= is(executed, TWIN_REQUESTS, "requests executed");
	ok &= is(qp->fatal_naks + qp->sequence_naks, 0, "NAKs");
	ok &= is(race_count(&t->rig, XA_CLASS_FETCH_ADD, XA_REASON_duplicate_differs), 0,
		 "duplicates that differ");
	if (answers.wrong)
		tap_note("%llu wrong answers, one has PSN %llu and original %llu", answers.wrong,
			 answers.wrong_psn, answers.wrong_original);
	return ok && !answers.wrong;
}

static bool run_round(struct twins *t, struct twin twins[RACERS])
{
	uint64_t before = race_count(&t->rig, XA_CLASS_FETCH_ADD, XA_REASON_executed);

	race_must(xa_qp_reset(&t->rig.instance, t->qp.qpn, 0, &(struct xa_qp){0}), "qp reset");
	*t->mr.word = 0;
	for (int i = 0; i < RACERS; i++)
		race_start(&twins[i].thread, i, send_frames, &twins[i]);
	for (int i = 0; i < RACERS; i++)
		pthread_join(twins[i].thread, NULL);
	return check_round(t, race_count(&t->rig, XA_CLASS_FETCH_ADD, XA_REASON_executed) - before);
}

/* More answers than requests: many a request has been answered twice, and equally. */
static bool enough_answers(const struct twins *t, uint64_t sent)
{
	struct twin_answers answers = read_answers(t);

	tap_note("%lu requests executed, %lu duplicates answered, %llu answers compared", sent,
		 (uint64_t)live_qp(t)->replayed, answers.right);
	return answers.right > sent;
}

bool race_twins(const char *object, uint64_t requests)
{
	static const struct race_limits limits = {.max_qps = QPS, .max_mrs = 4};
	struct twin twins[RACERS];
	struct twins t = {0};
	uint64_t sent = 0;
	bool ok = true;

	race_open(&t.rig, &limits, object);
	race_add_mr(&t.rig, "twins", 1, &t.mr);
	race_add_qp(&t.rig, RQPN, 0, &t.qp);
	t.traffic = generator_open(&t.rig, t.qp.qpn & (QPS - 1), false);
	write_requests(&t);
	pthread_barrier_init(&t.start, NULL, RACERS);
	for (int i = 0; i < RACERS; i++)
		twins[i] = (struct twin){.all = &t, .ifindex = make_wire(&t, i)};
	for (; ok && sent < requests; sent += TWIN_REQUESTS)
		ok = run_round(&t, twins);
	ok = ok && enough_answers(&t, sent);
	pthread_barrier_destroy(&t.start);
	generator_close(t.traffic);
	race_forget_mr(&t.mr);
	race_close(&t.rig);
	return ok;
}
