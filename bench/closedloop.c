/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * closedloop - operations per second and their latency with 1, 16 or 64 in flight, and with one in flight on
 * 1 to 1024 QPs in turn, from a requester in XDP. See bench/README.md.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench/frames.h"
#include "bench/rig.h"
#include "bench/timing.h"
/* The skeletons need the types of traffic.h. */
#include "bench/closedloop.skel.h"
#include "bench/traffic.skel.h"
#include "responder.skel.h"

#define ROUNDS_MAX 99
#define MAX_QPS    1024
#define STALL_MS   3000

static struct {
	int rounds;
	uint64_t operations;
	int cpu;
	const char *json;
} options = {.rounds = 7, .operations = 300000};

/* One point of the curves. */
struct setting {
	uint32_t in_flight;
	uint32_t qps;
};

static const struct setting settings[] = {
	{1, 1},  {16, 1}, {64, 1},  {1, 2},   {1, 4},   {1, 8},    {1, 16},
	{1, 32}, {1, 64}, {1, 128}, {1, 256}, {1, 512}, {1, 1024},
};

struct result {
	double echo_mops[ROUNDS_MAX];
	double xatomic_mops[ROUNDS_MAX];
	double p50[ROUNDS_MAX], p99[ROUNDS_MAX], p999[ROUNDS_MAX]; /* ns */
};

struct loop_run {
	struct rig *rig;
	struct rig_mrs *mrs;
	struct setting setting;
	bool echoed;
	bool timed;
	struct closedloop_bpf *bpf;
	struct traffic_bpf *echo;
	struct loop *loop; /* mapped */
	__u64 *latency;    /* mapped */
	double mops;
};

static const struct frame_kind faa = {.opcode = XA_OP_FETCH_ADD, .family = XA_IPV4, .add = 1};

static int fail(const char *what)
{
	fprintf(stderr, "bench: closed loop: %s\n", what);
	return -1;
}

static int configure(struct loop_run *run, const struct frame_kind *kind)
{
	run->bpf->rodata->qpn_mask = run->rig->max_qps - 1;
	run->bpf->rodata->echoed = run->echoed;
	run->bpf->rodata->timed = run->timed;
	return frame_config(kind, (void *)&run->bpf->rodata->request);
}

static void *map_of(const struct bpf_map *map, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

static int set_flows(struct loop_run *run, const struct frame_kind *kind)
{
	for (uint32_t i = 0; i < run->setting.qps; i++) {
		uint32_t qpn = rig_qpn(run->rig, i), psn = run->rig->qps[i].ctl.epsn;
		struct flow flow = {htonl(qpn), frame_crc(kind, qpn, 0, 0), psn, 0};
		struct loop_slots slots = {.psn = psn};

		if (bpf_map_update_elem(bpf_map__fd(run->bpf->maps.flows), &i, &flow, 0) ||
		    bpf_map_update_elem(bpf_map__fd(run->bpf->maps.slots), &i, &slots, 0))
			return fail("cannot set a flow");
	}
	return 0;
}

static int attach(struct loop_run *run)
{
	struct bpf_program *other =
		run->echoed ? run->echo->progs.echo : run->rig->responder->progs.xatomic_rx;

	if (rig_attach(run->rig->node_if[0], bpf_program__fd(run->bpf->progs.requester)))
		return -1;
	return rig_attach(run->rig->resp_if[0], bpf_program__fd(other));
}

static int load(struct loop_run *run)
{
	struct frame_kind kind = faa;

	kind.rkey = rig_rkey(run->mrs);
	run->bpf = closedloop_bpf__open();
	if (!run->bpf || configure(run, &kind) || closedloop_bpf__load(run->bpf))
		return fail("cannot load the requester");
	run->loop = map_of(run->bpf->maps.loop, sizeof(*run->loop));
	run->latency = map_of(run->bpf->maps.latency, LATENCY_BUCKETS * sizeof(__u64));
	if (!run->loop || !run->latency)
		return fail("cannot map the requester's state");
	run->loop->to_send = options.operations;
	run->loop->original = rig_word(run->mrs, 0, 0);
	run->loop->flow_mask = run->setting.qps - 1;
	return set_flows(run, &kind) || attach(run) ? -1 : 0;
}

/* As many live frames as requests shall be in flight; from then on the loop runs by itself. */
static int start(struct loop_run *run)
{
	uint8_t frame[FRAME_MAX] = {0};
	struct xdp_md ctx = {
		.data_end = frame_length(&faa) - SEND_GROWS,
		.ingress_ifindex = run->rig->node_if[0],
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = ctx.data_end,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = run->setting.in_flight,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = run->setting.in_flight);

	if (bpf_prog_test_run_opts(bpf_program__fd(run->bpf->progs.start), &opts))
		return fail("cannot send the first requests");
	return 0;
}

static int wait_for_end(const struct loop_run *run)
{
	const volatile struct loop *loop = run->loop;
	const struct timespec ms = {.tv_nsec = 1000000};
	uint64_t seen = 0;

	for (int idle = 0; loop->answered < options.operations; idle++) {
		if (loop->answered != seen)
			idle = 0;
		seen = loop->answered;
		if (idle > STALL_MS)
			return fail("the loop stands still: a frame was lost");
		nanosleep(&ms, NULL);
	}
	return loop->wrong ? fail("an answer was wrong") : 0;
}

static void unload(struct loop_run *run)
{
	rig_attach(run->rig->node_if[0], -1);
	rig_attach(run->rig->resp_if[0], -1);
	if (run->latency)
		munmap(run->latency, LATENCY_BUCKETS * sizeof(__u64));
	if (run->loop)
		munmap(run->loop, sizeof(*run->loop));
	closedloop_bpf__destroy(run->bpf);
}

static double percentile(const __u64 *buckets, double part)
{
	uint64_t left = options.operations * part;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		if (buckets[i] > left)
			return (i + 0.5) * LATENCY_STEP;
		left -= buckets[i];
	}
	return (double)LATENCY_BUCKETS * LATENCY_STEP;
}

static int check_word(const struct loop_run *run, uint64_t before)
{
	uint64_t added = rig_word(run->mrs, 0, 0) - before;

	if (added != (run->echoed ? 0 : options.operations))
		return fail("the word has not grown by the number of operations");
	return 0;
}

static int run_loop(struct loop_run *run, struct result *result, int round)
{
	uint64_t before = rig_word(run->mrs, 0, 0);
	int failed = load(run) || start(run) || wait_for_end(run) || check_word(run, before);

	if (!failed) {
		double mops =
			1000.0 * options.operations / (run->loop->end_ns - run->loop->begin_ns);

		if (!run->timed)
			(run->echoed ? result->echo_mops : result->xatomic_mops)[round] = mops;
	}
	if (!failed && run->timed) {
		result->p50[round] = percentile(run->latency, 0.5);
		result->p99[round] = percentile(run->latency, 0.99);
		result->p999[round] = percentile(run->latency, 0.999);
	}
	unload(run);
	return failed ? -1 : 0;
}

static int run_round(struct rig *rig, struct rig_mrs *mrs, struct traffic_bpf *echo, int round,
		     const struct setting *setting, struct result *result)
{
	const struct loop_run base = {.rig = rig, .mrs = mrs, .echo = echo, .setting = *setting};
	struct loop_run echoed = base, answered = base, timed = base;

	echoed.echoed = true;
	timed.timed = true;
	if (run_loop(&echoed, result, round) || run_loop(&answered, result, round))
		return -1;
	return run_loop(&timed, result, round);
}

static json_object *report(const struct setting *setting, struct result *r)
{
	double echo = median(r->echo_mops, options.rounds), p50 = median(r->p50, options.rounds);
	double xatomic = median(r->xatomic_mops, options.rounds);
	double p99 = median(r->p99, options.rounds), p999 = median(r->p999, options.rounds);
	json_object *o = json_object_new_object();

	printf("%9u %5u %8.2f %8.2f %8.3f %8.2f %8.2f %8.2f\n", setting->in_flight, setting->qps,
	       echo, xatomic, xatomic / echo, p50 / 1000, p99 / 1000, p999 / 1000);
	fflush(stdout);
	json_object_object_add(o, "in_flight", json_object_new_int64(setting->in_flight));
	json_object_object_add(o, "qps", json_object_new_int64(setting->qps));
	json_object_object_add(o, "echo_mops", json_object_new_double(echo));
	json_object_object_add(o, "xatomic_mops", json_object_new_double(xatomic));
	json_object_object_add(o, "p50_us", json_object_new_double(p50 / 1000));
	json_object_object_add(o, "p99_us", json_object_new_double(p99 / 1000));
	json_object_object_add(o, "p999_us", json_object_new_double(p999 / 1000));
	return o;
}

static int measure_all(struct rig *rig, struct traffic_bpf *echo, json_object *rows)
{
	static struct result result;
	struct rig_mrs mrs;

	if (rig_add_mrs(rig, 0, 1, 1, &mrs))
		return -1;
	for (uint32_t i = 0; i < MAX_QPS; i++)
		if (rig_add_qp(rig, i, XA_IPV4, 16))
			return -1;
	printf("in flight   QPs  echo M/s xatomic     ratio  p50 us   p99 us p99.9 us\n");
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		for (int round = 0; round < options.rounds; round++)
			if (run_round(rig, &mrs, echo, round, &settings[i], &result))
				return -1;
		json_object_array_add(rows, report(&settings[i], &result));
	}
	rig_del_mrs(&mrs);
	return 0;
}

static struct traffic_bpf *load_echo(void)
{
	struct traffic_bpf *echo = traffic_bpf__open();

	if (!echo || frame_config(&faa, (void *)&echo->rodata->request) || traffic_bpf__load(echo))
		return NULL;
	return echo;
}

static int parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"rounds", required_argument, NULL, 'n'},
		{"operations", required_argument, NULL, 'o'},
		{"cpu", required_argument, NULL, 'c'},
		{"json", required_argument, NULL, 'j'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'n')
			options.rounds = atoi(optarg);
		else if (option == 'o')
			options.operations = strtoull(optarg, NULL, 0);
		else if (option == 'c')
			options.cpu = atoi(optarg);
		else if (option == 'j')
			options.json = optarg;
		else
			return -1;
	}
	return optind == argc && options.rounds > 0 && options.rounds <= ROUNDS_MAX ? 0 : -1;
}

static int measure_and_write(struct rig *rig)
{
	struct traffic_bpf *echo = load_echo();
	json_object *rows = json_object_new_array();
	int failed = !echo ? fail("cannot load the echo") : measure_all(rig, echo, rows);

	if (!failed && options.json)
		failed = json_object_to_file_ext(options.json, rows, JSON_C_TO_STRING_PRETTY);
	json_object_put(rows);
	traffic_bpf__destroy(echo);
	return failed;
}

int main(int argc, char **argv)
{
	struct rig rig;
	int failed;

	if (parse(argc, argv)) {
		fprintf(stderr, "Usage: closedloop [--rounds N] [--operations N] [--cpu N] "
				"[--json FILE]\n");
		return 2;
	}
	if (pin_to_cpu(options.cpu) || rig_open(&rig, MAX_QPS, 16))
		return 1;
	failed = measure_and_write(&rig);
	rig_close(&rig);
	return failed ? 1 : 0;
}
