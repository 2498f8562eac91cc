/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openloop - how many requests one core answers, against an echo of the same frames. See bench/README.md
 * for what exactly is measured.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check.h"
#include "bench/memory.h"
#include "bench/rig.h"
#include "bench/stream.h"
#include "bench/timing.h"
#include "responder.skel.h"

#define ROUNDS_MAX 199

static const char *const target_names[TARGET_COUNT] = {
	[TARGET_BARE] = "bare",
	[TARGET_TRANSMIT] = "rewrite",
	[TARGET_ECHO] = "echo",
	[TARGET_RESPONDER] = "xatomic",
};

#define FAA                                                                                        \
	{                                                                                          \
		.opcode = XA_OP_FETCH_ADD, .family = XA_IPV4, .add = 1                             \
	}
/* One FETCH_ADD stream over IPv4 on one QP and one word, but for what is given. */
#define ROW(label, ...)                                                                            \
	{                                                                                          \
		.name = label, .frame = FAA, .flows = 1, .mrs = 1, .words = 1, .depth = 16,        \
		__VA_ARGS__                                                                        \
	}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct stream_spec rows[] = {
	ROW("faa", .kind = TRAFFIC_FRESH),
	ROW("cas", .frame.opcode = XA_OP_CMP_SWAP),
	ROW("duplicate", .kind = TRAFFIC_DUPLICATE),
	ROW("gap", .kind = TRAFFIC_GAP),
	ROW("ipv6", .frame.family = XA_IPV6),
	ROW("vlan", .frame.tags = 1),
	ROW("qps16", .flows = 16),
	ROW("qps256", .flows = 256),
	ROW("qps1024", .flows = 1024),
	ROW("qps4096", .flows = 4096),
	ROW("words1K", .words = 1 << 10, .spread = true),
	ROW("words128K", .words = 1 << 17, .spread = true),
	ROW("words8M", .words = 1 << 23, .spread = true),
	ROW("words128M", .words = 1 << 27, .spread = true),
	ROW("hot128M", .words = 1 << 27),
	ROW("depth1", .depth = 1),
	ROW("depth128", .depth = 128),
	ROW("depth1qps4096", .depth = 1, .flows = 4096),
	ROW("mrs16", .mrs = 16),
	ROW("mrs256", .mrs = 256),
	ROW("mrs4096", .mrs = 4096),
	ROW("mrs65536", .mrs = 65536),
};
#pragma GCC diagnostic pop

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
	struct stream_run run = {target, route, options.frames, 1, 1};
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

static int measure_stream(struct traffic *t, struct row_result *result)
{
	if (validate_answers(t, ROUTE_DIRECT) || validate_answers(t, ROUTE_PATH))
		return -1;
	for (int round = 0; round < options.rounds; round++)
		if (measure_round(t, round, result))
			return -1;
	sum_up(result);
	for (int target = TARGET_ECHO; target < TARGET_COUNT; target++)
		if (traffic_program_ns(t, target, options.frames, &result->program_ns[target]))
			return -1;
	return 0;
}

static int measure_row(struct rig *rig, const struct stream_spec *spec, struct row_result *result)
{
	struct stream_place place = {.cpu = options.cpu};
	struct rig_mrs mrs;
	struct traffic t;
	uint64_t executed = rig_count(rig, XA_CLASS_FETCH_ADD, XA_REASON_executed);
	int failed;

	memset(result, 0, sizeof(*result));
	if (rig_add_mrs(rig, 0, spec->mrs, spec->words, &mrs) ||
	    traffic_open(&t, rig, spec, &place, &mrs))
		return -1;
	failed = measure_stream(&t, result);
	executed = rig_count(rig, XA_CLASS_FETCH_ADD, XA_REASON_executed) - executed;
	failed = failed || check_total(&t, executed);
	traffic_close(&t);
	rig_del_mrs(&mrs);
	return failed;
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

static double rewriting(const struct row_result *r)
{
	const struct cell *d = r->cells[ROUTE_DIRECT];

	return d[TARGET_TRANSMIT].median - d[TARGET_BARE].median;
}

static void print_pair(const struct cell cells[TARGET_COUNT], double less)
{
	printf(" %7.2f %7.2f %6.3f |", mops(cells[TARGET_ECHO].median - less),
	       mops(cells[TARGET_RESPONDER].median - less), ratio(cells, less));
}

static void print_row(const char *name, const struct row_result *r)
{
	printf("%-13s", name);
	print_pair(r->cells[ROUTE_DIRECT], 0);
	print_pair(r->cells[ROUTE_DIRECT], rewriting(r));
	print_pair(r->cells[ROUTE_PATH], 0);
	printf(" %6.1f %7.1f | %6.1f %6.1f\n", r->program_ns[TARGET_ECHO],
	       r->program_ns[TARGET_RESPONDER], rewriting(r),
	       r->cells[ROUTE_DIRECT][TARGET_BARE].median);
	fflush(stdout);
}

/* No hardware counters in most virtual machines, so this is what there is on instructions. */
static struct bpf_prog_info responder_info(const struct rig *rig)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	bpf_obj_get_info_by_fd(bpf_program__fd(rig->responder->progs.xatomic_rx), &info, &len);
	return info;
}

static void print_heading(const struct rig *rig)
{
	struct bpf_prog_info info = responder_info(rig);

	printf("%s, kernel %s, CPU %d; M frames/s of CPU time, medians of %d interleaved rounds of "
	       "%u "
	       "frames\n",
	       cpu_model(), kernel_release(), options.cpu, options.rounds, options.frames);
	printf("responder: %u instructions (%u bytes of machine code), %u looked at by the "
	       "verifier\n",
	       info.xlated_prog_len / 8, info.jited_prog_len, info.verified_insns);
	printf("             | direct                  | net of the rewriting    | path (crosses "
	       "twice)  "
	       "  | ns per run     | ns per frame\n");
	printf("row          |   echo xatomic  ratio |    echo xatomic  ratio |    echo xatomic  "
	       "ratio |"
	       "   echo xatomic | rewriting bare\n");
}

static void add_number(json_object *o, const char *key, double value)
{
	json_object_object_add(o, key, json_object_new_double(value));
}

static json_object *json_route(const struct cell cells[TARGET_COUNT], int first)
{
	json_object *o = json_object_new_object();

	for (int i = first; i < TARGET_COUNT; i++) {
		json_object *cell = json_object_new_object();

		add_number(cell, "cpu_ns", cells[i].median);
		add_number(cell, "wall_ns", cells[i].wall_median);
		json_object_object_add(o, target_names[i], cell);
	}
	add_number(o, "ratio", ratio(cells, 0));
	return o;
}

static json_object *json_row(const struct stream_spec *spec, const struct row_result *r)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "row", json_object_new_string(spec->name));
	json_object_object_add(o, "qps", json_object_new_int64(spec->flows));
	json_object_object_add(o, "mrs", json_object_new_int64(spec->mrs));
	json_object_object_add(o, "words", json_object_new_int64(spec->words));
	json_object_object_add(o, "spread", json_object_new_boolean(spec->spread));
	json_object_object_add(o, "depth", json_object_new_int(spec->depth));
	json_object_object_add(o, "direct", json_route(r->cells[ROUTE_DIRECT], TARGET_BARE));
	add_number(o, "net_ratio", ratio(r->cells[ROUTE_DIRECT], rewriting(r)));
	json_object_object_add(o, "path", json_route(r->cells[ROUTE_PATH], TARGET_ECHO));
	add_number(o, "echo_program_ns", r->program_ns[TARGET_ECHO]);
	add_number(o, "xatomic_program_ns", r->program_ns[TARGET_RESPONDER]);
	return o;
}

static json_object *json_heading(struct rig *rig)
{
	struct bpf_prog_info info = responder_info(rig);
	json_object *o = json_object_new_object();

	json_object_object_add(o, "machine", json_object_new_string(cpu_model()));
	json_object_object_add(o, "kernel", json_object_new_string(kernel_release()));
	json_object_object_add(o, "rounds", json_object_new_int(options.rounds));
	json_object_object_add(o, "frames", json_object_new_int64(options.frames));
	json_object_object_add(o, "instructions", json_object_new_int64(info.xlated_prog_len / 8));
	json_object_object_add(o, "machine_code", json_object_new_int64(info.jited_prog_len));
	json_object_object_add(o, "verifier", json_object_new_int64(info.verified_insns));
	json_object_object_add(o, "memory", memory_report(rig));
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
	static struct row_result result;
	double faa = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!wanted(rows[i].name))
			continue;
		if (measure_row(rig, &rows[i], &result))
			return -1;
		print_row(rows[i].name, &result);
		json_object_array_add(results, json_row(&rows[i], &result));
		if (!strcmp(rows[i].name, "faa"))
			faa = ratio(result.cells[ROUTE_DIRECT], 0);
	}
	if (options.quick && faa > 0)
		printf("faa/echo %.3f\n", faa);
	return 0;
}

/* Each name in the list is that of a row. */
static bool rows_exist(void)
{
	size_t named = options.only ? 1 : 0, found = 0;

	for (const char *at = options.only; at && *at; at++)
		named += *at == ',';
	for (size_t i = 0; options.only && i < sizeof(rows) / sizeof(rows[0]); i++)
		found += wanted(rows[i].name);
	return found == named;
}

static int usage(void)
{
	fprintf(stderr,
		"Usage: openloop [--quick] [--rows NAME,...] [--rounds N] [--frames N] [--cpu N] "
		"[--json FILE]\nRows:");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(stderr, " %s", rows[i].name);
	fprintf(stderr, "\n");
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
	return optind == argc && options.rounds > 0 && options.rounds <= ROUNDS_MAX && rows_exist()
		       ? 0
		       : -1;
}

static int measure_and_write(struct rig *rig)
{
	json_object *results = json_object_new_array(), *all = json_heading(rig);
	int failed;

	print_heading(rig);
	failed = measure_all(rig, results);
	json_object_object_add(all, "rows", results);
	if (!failed && options.json)
		failed = json_object_to_file_ext(options.json, all, JSON_C_TO_STRING_PRETTY);
	json_object_put(all);
	return failed;
}

int main(int argc, char **argv)
{
	struct rig rig;
	int failed;

	if (parse(argc, argv))
		return usage();
	if (pin_to_cpu(options.cpu)) {
		perror("bench: cannot stay on one CPU");
		return 1;
	}
	if (rig_open(&rig, 4096, XA_MAX_MRS))
		return 1;
	failed = measure_and_write(&rig);
	rig_close(&rig);
	return failed ? 1 : 0;
}
