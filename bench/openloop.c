/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openloop - how many requests one core answers, against an echo of the same frames. See bench/README.md
 * for what exactly is measured.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rig.h"
#include "bench/stream.h"
#include "bench/timing.h"
#include "responder.skel.h"

#define ROUNDS_MAX 199

static const struct {
	const char *name;
	const char *meaning;
} targets[TARGET_COUNT] = {
	[TARGET_BARE] = {"bare", "stale frames, sent as they are"},
	[TARGET_TRANSMIT] = {"rewrite", "frames written anew and sent"},
	[TARGET_ECHO] = {"echo", "written anew, addresses swapped, sent"},
	[TARGET_RESPONDER] = {"xatomic", "written anew, answered by xatomic"},
};

#define V4(op)                                                                                     \
	{                                                                                          \
		.opcode = XA_OP_##op, .family = XA_IPV4, .add = 1                                  \
	}

static const struct stream_spec rows[] = {
	{"faa", V4(FETCH_ADD), TRAFFIC_FRESH, 1, 1, 16, 1},
	{"cas", V4(CMP_SWAP), TRAFFIC_FRESH, 1, 1, 16, 1},
	{"duplicate", V4(FETCH_ADD), TRAFFIC_DUPLICATE, 1, 1, 16, 1},
	{"gap", V4(FETCH_ADD), TRAFFIC_GAP, 1, 1, 16, 1},
	{"ipv6",
	 {.opcode = XA_OP_FETCH_ADD, .family = XA_IPV6, .add = 1},
	 TRAFFIC_FRESH,
	 1,
	 1,
	 16,
	 1},
	{"vlan",
	 {.opcode = XA_OP_FETCH_ADD, .family = XA_IPV4, .tags = 1, .add = 1},
	 TRAFFIC_FRESH,
	 1,
	 1,
	 16,
	 1},
	{"qps16", V4(FETCH_ADD), TRAFFIC_FRESH, 16, 1, 16, 1},
	{"qps256", V4(FETCH_ADD), TRAFFIC_FRESH, 256, 1, 16, 1},
	{"qps4096", V4(FETCH_ADD), TRAFFIC_FRESH, 4096, 1, 16, 1},
	{"words1K", V4(FETCH_ADD), TRAFFIC_FRESH, 1, 1 << 10, 16, 1},
	{"words128K", V4(FETCH_ADD), TRAFFIC_FRESH, 1, 1 << 17, 16, 1},
	{"words8M", V4(FETCH_ADD), TRAFFIC_FRESH, 1, 1 << 23, 16, 1},
	{"words128M", V4(FETCH_ADD), TRAFFIC_FRESH, 1, 1 << 27, 16, 1},
};

static struct {
	int rounds;
	uint32_t frames;
	int cpu;
	bool quick;
	const char *only;
	const char *json;
} options = {.rounds = 21, .frames = 1 << 18};

/* Nanoseconds of CPU time per frame: one per round, then the median. */
struct cell {
	double ns[ROUNDS_MAX];
	double wall[ROUNDS_MAX];
	double median;
	double wall_median;
};

struct row_result {
	struct cell cells[2][TARGET_COUNT]; /* by route */
	double program_ns[TARGET_COUNT];
};

static int measure(struct traffic *t, enum route route, enum target target, int round,
		   struct row_result *result)
{
	struct stream_run run = {
		.target = target, .route = route, .frames = options.frames, .cpu = options.cpu};
	struct cell *cell = &result->cells[route][target];
	struct span span;

	if (traffic_run(t, &run, &span))
		return -1;
	cell->ns[round] = (double)span.cpu_ns / options.frames;
	cell->wall[round] = (double)span.wall_ns / options.frames;
	return 0;
}

/* One round has every target once, so that what disturbs the machine disturbs all of them. */
static int measure_round(struct traffic *t, int round, struct row_result *result)
{
	for (int target = TARGET_BARE; target < TARGET_COUNT; target++)
		if (measure(t, ROUTE_DIRECT, target, round, result))
			return -1;
	if (measure(t, ROUTE_PATH, TARGET_ECHO, round, result))
		return -1;
	return measure(t, ROUTE_PATH, TARGET_RESPONDER, round, result);
}

/* Leaves the values in the order of the rounds. */
static double median_of(const double *values, int n)
{
	double sorted[ROUNDS_MAX];

	memcpy(sorted, values, n * sizeof(*values));
	return median(sorted, n);
}

static void sum_up(struct row_result *result)
{
	for (int route = 0; route < 2; route++)
		for (int target = 0; target < TARGET_COUNT; target++) {
			struct cell *cell = &result->cells[route][target];

			cell->median = median_of(cell->ns, options.rounds);
			cell->wall_median = median_of(cell->wall, options.rounds);
		}
}

static int measure_row(struct rig *rig, const struct stream_spec *spec, struct row_result *result)
{
	struct traffic t;
	int failed;

	memset(result, 0, sizeof(*result));
	if (traffic_open(&t, rig, spec, 1))
		return -1;
	failed = traffic_validate(&t, ROUTE_DIRECT, options.cpu) ||
		 traffic_validate(&t, ROUTE_PATH, options.cpu);
	for (int round = 0; !failed && round < options.rounds; round++)
		failed = measure_round(&t, round, result);
	failed = failed ||
		 traffic_program_ns(&t, options.cpu, TARGET_ECHO, options.frames,
				    &result->program_ns[TARGET_ECHO]) ||
		 traffic_program_ns(&t, options.cpu, TARGET_RESPONDER, options.frames,
				    &result->program_ns[TARGET_RESPONDER]);
	traffic_close(&t);
	sum_up(result);
	return failed ? -1 : 0;
}

static double mops(double ns)
{
	return 1000 / ns;
}

/*
 * Rate of the responder in parts of that of the echo, `less` nanoseconds taken off both: the median of the
 * rounds' ratios, since the two of one round ran within a moment of each other.
 */
static double ratio(const struct cell cells[TARGET_COUNT], double less)
{
	double ratios[ROUNDS_MAX];

	for (int i = 0; i < options.rounds; i++)
		ratios[i] =
			(cells[TARGET_ECHO].ns[i] - less) / (cells[TARGET_RESPONDER].ns[i] - less);
	return median(ratios, options.rounds);
}

static void print_row(const char *name, const struct row_result *r)
{
	const struct cell *d = r->cells[ROUTE_DIRECT], *p = r->cells[ROUTE_PATH];
	double rewrite = d[TARGET_TRANSMIT].median - d[TARGET_BARE].median;
	double echo = d[TARGET_ECHO].median, xatomic = d[TARGET_RESPONDER].median;

	printf("%-10s %7.2f %7.2f %6.3f | %7.2f %7.2f %6.3f | %7.2f %7.2f %6.3f | %6.1f %6.1f | "
	       "%6.1f %6.1f\n",
	       name, mops(echo), mops(xatomic), ratio(d, 0), mops(echo - rewrite),
	       mops(xatomic - rewrite), ratio(d, rewrite), mops(p[TARGET_ECHO].median),
	       mops(p[TARGET_RESPONDER].median), ratio(p, 0), r->program_ns[TARGET_ECHO],
	       r->program_ns[TARGET_RESPONDER], rewrite, d[TARGET_BARE].median);
	fflush(stdout);
}

/* No hardware counters in most virtual machines, so this is what there is on instructions. */
static void print_size(struct rig *rig)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(rig->responder->progs.xatomic_rx), &info, &len))
		return;
	printf("responder: %u instructions (%u bytes of machine code), %u looked at by the "
	       "verifier\n",
	       info.xlated_prog_len / 8, info.jited_prog_len, info.verified_insns);
}

static void print_heading(struct rig *rig)
{
	printf("%s, kernel %s, CPU %d; M frames/s of CPU time, medians of %d interleaved rounds of "
	       "%u "
	       "frames\n",
	       cpu_model(), kernel_release(), options.cpu, options.rounds, options.frames);
	print_size(rig);
	printf("           direct                  | net of the rewriting    | path (crosses "
	       "twice)  "
	       "  | ns per run    | ns\n");
	printf("row           echo xatomic  ratio |    echo xatomic  ratio |    echo xatomic  "
	       "ratio "
	       "|   echo xatomic | rewrite bare\n");
}

static json_object *json_cell(const struct cell *cell)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "cpu_ns", json_object_new_double(cell->median));
	json_object_object_add(o, "wall_ns", json_object_new_double(cell->wall_median));
	return o;
}

static json_object *json_row(const char *name, const struct row_result *r)
{
	json_object *o = json_object_new_object(), *direct = json_object_new_object(),
		    *path = json_object_new_object();

	json_object_object_add(o, "row", json_object_new_string(name));
	for (int i = 0; i < TARGET_COUNT; i++)
		json_object_object_add(direct, targets[i].name,
				       json_cell(&r->cells[ROUTE_DIRECT][i]));
	for (int i = TARGET_ECHO; i < TARGET_COUNT; i++) {
		json_object_object_add(path, targets[i].name, json_cell(&r->cells[ROUTE_PATH][i]));
	}
	json_object_object_add(o, "direct", direct);
	json_object_object_add(o, "path", path);
	json_object_object_add(o, "echo_program_ns",
			       json_object_new_double(r->program_ns[TARGET_ECHO]));
	json_object_object_add(o, "xatomic_program_ns",
			       json_object_new_double(r->program_ns[TARGET_RESPONDER]));
	return o;
}

static bool wanted(const char *name)
{
	const char *at;
	size_t len = strlen(name);

	if (!options.only)
		return true;
	for (at = options.only; (at = strstr(at, name)); at += len)
		if ((at == options.only || at[-1] == ',') && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

static int measure_all(struct rig *rig, json_object *results)
{
	struct row_result result;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!wanted(rows[i].name))
			continue;
		if (measure_row(rig, &rows[i], &result))
			return -1;
		print_row(rows[i].name, &result);
		json_object_array_add(results, json_row(rows[i].name, &result));
		if (options.quick)
			printf("faa/echo %.3f\n", ratio(result.cells[ROUTE_DIRECT], 0));
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"Usage: openloop [--quick] [--rows NAME,...] [--rounds N] [--frames N] [--cpu N] "
		"[--json FILE]\n");
	return 2;
}

static int parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"quick", no_argument, NULL, 'q'},
		{"rows", required_argument, NULL, 'r'},
		{"rounds", required_argument, NULL, 'n'},
		{"frames", required_argument, NULL, 'f'},
		{"cpu", required_argument, NULL, 'c'},
		{"json", required_argument, NULL, 'j'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'q':
			options.quick = true;
			options.only = "faa";
			break;
		case 'r':
			options.only = optarg;
			break;
		case 'n':
			options.rounds = atoi(optarg);
			break;
		case 'f':
			options.frames = atoi(optarg);
			break;
		case 'c':
			options.cpu = atoi(optarg);
			break;
		case 'j':
			options.json = optarg;
			break;
		default:
			return -1;
		}
	}
	return optind == argc && options.rounds > 0 && options.rounds <= ROUNDS_MAX ? 0 : -1;
}

int main(int argc, char **argv)
{
	json_object *results = json_object_new_array();
	struct rig rig;
	int failed;

	if (parse(argc, argv))
		return usage();
	if (pin_to_cpu(options.cpu)) {
		perror("bench: cannot stay on one CPU");
		return 1;
	}
	if (rig_open(&rig, 4096, 1024))
		return 1;
	print_heading(&rig);
	failed = measure_all(&rig, results);
	if (!failed && options.json)
		failed = json_object_to_file_ext(options.json, results, JSON_C_TO_STRING_PRETTY);
	json_object_put(results);
	rig_close(&rig);
	return failed ? 1 : 0;
}
