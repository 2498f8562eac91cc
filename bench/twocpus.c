/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * twocpus - what a second CPU adds: both send and answer at the same time, each on its own veth pair and its
 * own QP, first on a word of its own, then both on one word. See bench/README.md.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check.h"
#include "bench/rig.h"
#include "bench/stream.h"
#include "bench/timing.h"

#define CPUS       2
#define ROUNDS_MAX 99
#define FRAMES     (1 << 20)

enum layout { ALONE, OWN_WORDS, ONE_WORD, LAYOUTS };

static const char *const layout_names[LAYOUTS] = {"one CPU", "two CPUs, own words",
						  "two CPUs, one word"};

static struct {
	int rounds;
	const char *json;
} options = {.rounds = 9};

static const struct stream_spec spec = {
	.name = "two CPUs",
	.frame = {.opcode = XA_OP_FETCH_ADD, .family = XA_IPV4, .add = 1},
	.flows = 1,
	.mrs = 1,
	.words = 1,
	.depth = 16,
};

struct sender {
	pthread_t thread;
	pthread_barrier_t *barrier;
	struct traffic traffic;
	struct stream_run run;
	struct span span;
	int failed;
};

/* M frames/s, both CPUs together. */
struct result {
	double echo[LAYOUTS][ROUNDS_MAX];
	double xatomic[LAYOUTS][ROUNDS_MAX];
};

static void *send_from_cpu(void *argument)
{
	struct sender *s = argument;

	s->failed = pin_to_cpu(s->traffic.place.cpu);
	pthread_barrier_wait(s->barrier);
	s->failed = s->failed || traffic_send(&s->traffic, &s->run, &s->span);
	return NULL;
}

static int send_together(struct sender *senders, int n)
{
	pthread_barrier_t barrier;
	int failed = 0;

	pthread_barrier_init(&barrier, NULL, n);
	for (int i = 0; i < n; i++) {
		senders[i].barrier = &barrier;
		if (pthread_create(&senders[i].thread, NULL, send_from_cpu, &senders[i])) {
			perror("bench: cannot start a thread");
			exit(1);
		}
	}
	for (int i = 0; i < n; i++) {
		pthread_join(senders[i].thread, NULL);
		failed |= senders[i].failed;
	}
	pthread_barrier_destroy(&barrier);
	return failed;
}

/* What both have done at once is in the counters of the responder as a sum. */
static int send_and_check(struct sender *senders, int n)
{
	struct account before[CPUS], after[CPUS];

	for (int i = 0; i < n; i++)
		if (traffic_prepare(&senders[i].traffic, &senders[i].run) ||
		    account_take(&senders[i].traffic, &before[i]))
			return -1;
	if (send_together(senders, n))
		return -1;
	for (int i = 0; i < n; i++)
		if (account_take(&senders[i].traffic, &after[i]) ||
		    account_check(&senders[i].traffic, &senders[i].run, &before[i], &after[i]))
			return -1;
	return 0;
}

static double rate(const struct sender *senders, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += 1000.0 * FRAMES / senders[i].span.cpu_ns;
	return sum;
}

static int measure(struct sender *senders, enum layout layout, enum target target, double *mops)
{
	int n = layout == ALONE ? 1 : CPUS;

	for (int i = 0; i < n; i++)
		senders[i].run = (struct stream_run){target, ROUTE_DIRECT, FRAMES, n,
						     layout == ONE_WORD ? n : 1};
	if (send_and_check(senders, n))
		return -1;
	*mops = rate(senders, n);
	return 0;
}

static int measure_layout(struct rig *rig, struct rig_mrs mrs[CPUS], enum layout layout, int round,
			  struct result *result)
{
	struct sender senders[CPUS] = {0};
	int failed = 0;

	for (int i = 0; i < CPUS; i++) {
		struct stream_place place = {.cpu = i, .pair = i, .first_qp = i};

		if (traffic_open(&senders[i].traffic, rig, &spec, &place,
				 &mrs[layout == ONE_WORD ? 0 : i]))
			return -1;
	}
	failed = measure(senders, layout, TARGET_ECHO, &result->echo[layout][round]) ||
		 measure(senders, layout, TARGET_RESPONDER, &result->xatomic[layout][round]);
	for (int i = 0; i < CPUS; i++)
		traffic_close(&senders[i].traffic);
	return failed ? -1 : 0;
}

static int measure_rounds(struct rig *rig, struct result *result)
{
	struct rig_mrs mrs[CPUS];

	for (int i = 0; i < CPUS; i++)
		if (rig_add_mrs(rig, i, 1, 1, &mrs[i]))
			return -1;
	for (int round = 0; round < options.rounds; round++)
		for (int layout = 0; layout < LAYOUTS; layout++)
			if (measure_layout(rig, mrs, layout, round, result))
				return -1;
	for (int i = 0; i < CPUS; i++)
		rig_del_mrs(&mrs[i]);
	return 0;
}

static json_object *report(struct result *result)
{
	json_object *rows = json_object_new_array();
	double echo_alone = 0, xatomic_alone = 0;

	printf("%-22s %8s %7s %8s %7s   (M frames/s, both CPUs together; times one CPU)\n", "",
	       "echo", "", "xatomic", "");
	for (int i = 0; i < LAYOUTS; i++) {
		double echo = median(result->echo[i], options.rounds);
		double xatomic = median(result->xatomic[i], options.rounds);
		json_object *row = json_object_new_object();

		echo_alone = i == ALONE ? echo : echo_alone;
		xatomic_alone = i == ALONE ? xatomic : xatomic_alone;
		printf("%-22s %8.2f %7.2f %8.2f %7.2f\n", layout_names[i], echo, echo / echo_alone,
		       xatomic, xatomic / xatomic_alone);
		json_object_object_add(row, "layout", json_object_new_string(layout_names[i]));
		json_object_object_add(row, "echo_mops", json_object_new_double(echo));
		json_object_object_add(row, "xatomic_mops", json_object_new_double(xatomic));
		json_object_array_add(rows, row);
	}
	return rows;
}

static int parse(int argc, char **argv)
{
	static const struct option known[] = {{"rounds", required_argument, NULL, 'n'},
					      {"json", required_argument, NULL, 'j'},
					      {0}};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'n')
			options.rounds = atoi(optarg);
		else if (option == 'j')
			options.json = optarg;
		else
			return -1;
	}
	return optind == argc && options.rounds > 0 && options.rounds <= ROUNDS_MAX ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct result result;
	struct rig rig;
	int failed;

	if (parse(argc, argv)) {
		fprintf(stderr, "Usage: twocpus [--rounds N] [--json FILE]\n");
		return 2;
	}
	if (rig_open(&rig, 16, 16))
		return 1;
	failed = measure_rounds(&rig, &result);
	if (!failed) {
		json_object *rows = report(&result);

		failed = options.json &&
			 json_object_to_file_ext(options.json, rows, JSON_C_TO_STRING_PRETTY);
		json_object_put(rows);
	}
	rig_close(&rig);
	return failed ? 1 : 0;
}
