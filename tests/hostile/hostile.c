/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile.c - stages of work at rising loss, and the judgement on each.
 *
 * Requesters in several namespaces, on IPv4 and IPv6, and threads of the host do adds and swaps on shared
 * words. What they record goes to the checker of linear.h, word by word; what the responder has counted and
 * what the words hold in the end must fit as well.
 */
#include <bpf/libbpf.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "hostile.h"
#include "lib/mrs.h"
#include "lib/stats.h"
#include "tests/lib/tap.h"

/* Swaps of a round are numbered in 20 bits, see work.c. */
enum { ROOM_SLACK = 64, MAX_ROUND = 1000 * 1000 };

static const uint64_t iova = 0x2000;

static struct world world = {
	.options = {.prefix = "hostile",
		    .nodes = 3,
		    .qps = 2,
		    .window = 16,
		    .timeout = 8,
		    .round = 200000,
		    .corrupt = 2,
		    .duplicate = 4,
		    .reorder = 4},
	.iova = iova,
};
static struct requester requesters[MAX_REQUESTERS];
static struct host hosts[HOSTS];
static unsigned requester_count;

/* What a stage has seen, over its rounds. */
struct tally {
	uint64_t operations, by_host, unknown, executed, judged, steps;
	unsigned failures;
	bool linear, counted, summed, agreed;
	struct xatomic_qp_counters requesters;
	struct wire_counters wire[WIRE_WAYS];
};

/* --- set-up --- */

static int attach_all(void)
{
	struct xa_attach attach = {.mode = XA_MODE_NATIVE,
				   .limits = {.max_qps = 64, .max_mrs = 4, .unknown_qp = -1}};
	struct xa_attached attached;
	char netns[64], ifname[16];

	snprintf(netns, sizeof(netns), "%s-resp", world.options.prefix);
	attach.netns = netns;
	attach.ifname = ifname;
	for (unsigned node = 1; node <= world.options.nodes; node++) {
		snprintf(ifname, sizeof(ifname), "node%u", node);
		if (xa_attach(&world.place, &attach, &attached))
			return -1;
	}
	return 0;
}

static int register_words(void)
{
	const struct xa_mr_request request = {.name = "words",
					      .words = WORDS,
					      .iova = iova,
					      .access = XA_ACCESS_ATOMIC,
					      .owner = -1,
					      .group = -1,
					      .perm = 0600};
	struct xa_instance instance;
	struct xa_mr mr = {};
	int status;

	if (xa_instance_open(&instance, &world.place, LOCK_EX))
		return -1;
	status = xa_mr_add(&instance, &request, &mr);
	xa_instance_close(&instance);
	if (status)
		return -1;
	world.rkey = mr.rkey;
	world.mr = xa_mr_open_at(&world.place, request.name);
	if (!world.mr)
		return -1;
	world.words = xatomic_mr_words(world.mr);
	return 0;
}

static void make_actor(struct actor *actor, unsigned process, uint32_t room)
{
	actor->world = &world;
	actor->process = process;
	actor->rng.state = rng_mix(world.options.seed, process);
	actor->room = room;
	actor->ops = calloc(room, sizeof(*actor->ops));
	if (!actor->ops)
		exit(fprintf(stderr, "hostile: there is no memory for the record\n"));
}

/* The last node has one queue pair on AF_XDP where that works. */
static int open_requesters(void)
{
	const struct options *options = &world.options;
	uint32_t room = options->round / options->qps + ROOM_SLACK;

	for (unsigned i = 0; i < options->nodes * options->qps; i++) {
		struct requester *r = &requesters[requester_count];

		r->node = 1 + i / options->qps;
		if (options->nodes > 1 && r->node == options->nodes) {
			if (i % options->qps)
				break;
			r->transport = XATOMIC_TRANSPORT_AUTO;
		}
		r->family = i % 2 ? XA_IPV6 : XA_IPV4;
		r->window = options->window >> 2 * (i % 3);
		r->window = r->window ? r->window : 1;
		make_actor(&r->actor, requester_count++, room);
		if (requester_open(r))
			return -1;
	}
	for (unsigned i = 0; i < HOSTS; i++)
		make_actor(&hosts[i].actor, requester_count + i, options->round);
	return 0;
}

static int set_up(void)
{
	return attach_all() || register_words() || wire_open(&world.options) || open_requesters();
}

static void take_down(void)
{
	for (unsigned i = 0; i < requester_count; i++) {
		requester_close(&requesters[i]);
		free(requesters[i].actor.ops);
	}
	for (unsigned i = 0; i < HOSTS; i++)
		free(hosts[i].actor.ops);
	xatomic_mr_close(world.mr);
	wire_close();
	xa_destroy(&world.place);
}

/* --- one round --- */

static uint64_t executed_so_far(void)
{
	struct xa_instance instance;
	union xa_counts counts;
	int status;

	if (xa_instance_open(&instance, &world.place, LOCK_SH))
		return 0;
	status = xa_counts_read(&instance, &counts);
	xa_instance_close(&instance);
	return status ? 0 : counts.stats.cmp_swap.executed + counts.stats.fetch_add.executed;
}

static void start_actor(struct actor *actor)
{
	actor->count = 0;
	actor->holds_lock = actor->lock_is_busy = false;
}

static void work(uint32_t operations)
{
	atomic_store(&world.completed, 0);
	atomic_store(&world.over, false);
	work_reset(&world);
	for (unsigned i = 0; i < HOSTS; i++) {
		start_actor(&hosts[i].actor);
		pthread_create(&hosts[i].thread, NULL, host_run, &hosts[i]);
	}
	for (unsigned i = 0; i < requester_count; i++) {
		struct requester *r = &requesters[i];

		start_actor(&r->actor);
		r->done = 0;
		r->quota = operations / requester_count;
		pthread_create(&r->thread, NULL, requester_run, r);
	}
	for (unsigned i = 0; i < requester_count; i++)
		pthread_join(requesters[i].thread, NULL);
	atomic_store(&world.over, true);
	for (unsigned i = 0; i < HOSTS; i++)
		pthread_join(hosts[i].thread, NULL);
}

/* --- judgement --- */

static size_t collect(const struct actor *actor, unsigned word, struct linear_op *history)
{
	size_t count = 0;

	for (uint32_t i = 0; i < actor->count; i++)
		if (actor->ops[i].word == word)
			history[count++] = actor->ops[i];
	return count;
}

/* All that was done to a word, and last what it holds now. */
static size_t collect_all(unsigned word, struct linear_op *history)
{
	size_t count = 0;
	uint64_t now;

	for (unsigned i = 0; i < requester_count; i++)
		count += collect(&requesters[i].actor, word, history + count);
	for (unsigned i = 0; i < HOSTS; i++)
		count += collect(&hosts[i].actor, word, history + count);
	now = now_ns();
	history[count] = (struct linear_op){.invoked = now,
					    .returned = now,
					    .word = word,
					    .kind = LINEAR_LOAD,
					    .process = requester_count + HOSTS,
					    .result = atomic_load(&world.words[word])};
	return count + 1;
}

static void accuse(unsigned word, const struct linear_report *report)
{
	const struct linear_op *op = &report->culprit;

	tap_note("word %u: %s after %zu operations, when it held 0x%" PRIx64
		 ": process %u, operation %u (kind %u, operand 0x%" PRIx64 ", swap 0x%" PRIx64
		 ", result 0x%" PRIx64 "): %s",
		 word, report->verdict == LINEAR_VIOLATED ? "not linearizable" : "no verdict",
		 report->placed, report->value, op->process, op->seq, op->kind, op->operand,
		 op->swap, op->result, report->why);
}

/* Independent of the checker: a word without swaps holds the sum of its adds, unknown ones counted or not. */
static bool sums_up(unsigned word, const struct linear_op *history, size_t count)
{
	uint64_t certain = 0, unknown = 0, held = history[count - 1].result;

	for (size_t i = 0; i < count; i++) {
		if (history[i].kind == LINEAR_SWAP)
			return true;
		if (history[i].kind == LINEAR_ADD)
			*(history[i].unknown ? &unknown : &certain) += history[i].operand;
	}
	if (held >= certain && held <= certain + unknown)
		return true;
	tap_note("word %u holds %" PRIu64 " after adds of %" PRIu64 " and, perhaps, %" PRIu64, word,
		 held, certain, unknown);
	return false;
}

static void judge(struct tally *tally, struct linear_op *history)
{
	struct linear_report report;

	for (unsigned word = 0; word < WORDS; word++) {
		size_t count = collect_all(word, history);

		tally->summed &= sums_up(word, history, count);
		if (linear_check(history, count, 0, &report) != LINEAR_OK) {
			accuse(word, &report);
			tally->linear = false;
		}
		tally->judged += count;
		tally->steps += report.steps;
	}
}

/* What has run is what has completed, and of the unknown operations some. */
static void check_counts(struct tally *tally, uint64_t executed, uint64_t completed,
			 uint64_t unknown)
{
	if (executed >= completed && executed <= completed + unknown)
		return;
	tap_note("%" PRIu64 " operations completed, %" PRIu64 " are unknown, but %" PRIu64
		 " were executed",
		 completed, unknown, executed);
	tally->counted = false;
}

static uint64_t unknown_so_far(void)
{
	uint64_t unknown = 0;

	for (unsigned i = 0; i < requester_count; i++)
		unknown += requesters[i].unknown;
	return unknown;
}

static void run_round(struct tally *tally, uint32_t operations, struct linear_op *history)
{
	uint64_t executed = executed_so_far(), unknown = unknown_so_far();

	work(operations);
	executed = executed_so_far() - executed;
	unknown = unknown_so_far() - unknown;
	check_counts(tally, executed, atomic_load(&world.completed), unknown);
	for (unsigned i = 0; i < requester_count; i++)
		tally->agreed &= requester_agrees(&requesters[i]);
	judge(tally, history);
	tally->operations += atomic_load(&world.completed);
	tally->executed += executed;
	tally->unknown += unknown;
	for (unsigned i = 0; i < HOSTS; i++)
		tally->by_host += hosts[i].actor.count;
}

/* --- a stage --- */

static void sum_requesters(struct tally *tally)
{
	for (unsigned i = 0; i < requester_count; i++) {
		struct xatomic_qp_counters c = requester_counters(&requesters[i]);

		tally->requesters.resent += c.resent;
		tally->requesters.timeouts += c.timeouts;
		tally->requesters.rejected += c.rejected;
		tally->requesters.ignored += c.ignored;
		tally->failures += requesters[i].failures;
	}
}

static bool was_hostile(const struct wire_counters *c, double loss)
{
	const struct options *options = &world.options;

	return !c->lost == !(loss > 0) && !c->corrupted == !(options->corrupt > 0) &&
	       !c->duplicated == !(options->duplicate > 0) &&
	       !c->reordered == !(options->reorder > 0);
}

static void describe(const struct tally *end, const struct tally *begin, double seconds)
{
	static const char *const ways[WIRE_WAYS] = {"requests", "replies"};

	tap_note("%" PRIu64 " operations of requesters completed, %" PRIu64 " unknown after %u "
		 "failures of queue pairs, %" PRIu64 " of the host; %.1f s",
		 end->operations, end->unknown, end->failures - begin->failures, end->by_host,
		 seconds);
	tap_note("requesters: %" PRIu64 " packets resent, %" PRIu64 " timeouts, %" PRIu64
		 " replies ignored, %" PRIu64 " rejected",
		 end->requesters.resent - begin->requesters.resent,
		 end->requesters.timeouts - begin->requesters.timeouts,
		 end->requesters.ignored - begin->requesters.ignored,
		 end->requesters.rejected - begin->requesters.rejected);
	for (int way = 0; way < WIRE_WAYS; way++)
		tap_note("%s: %llu on the wire, %llu lost, %llu corrupted, %llu duplicated, %llu "
			 "reordered",
			 ways[way], end->wire[way].seen, end->wire[way].lost,
			 end->wire[way].corrupted, end->wire[way].duplicated,
			 end->wire[way].reordered);
	tap_note("checker: %" PRIu64 " operations in %" PRIu64 " steps", end->judged, end->steps);
}

static void report(const struct tally *t, double loss)
{
	bool broken = false;

	for (unsigned i = 0; i < requester_count; i++)
		broken |= requesters[i].broken || requesters[i].refused;
	tap_result(!broken, "loss %g %%: no operation failed but by its retries", loss);
	tap_result(t->linear, "loss %g %%: every word's history is linearizable", loss);
	tap_result(t->counted, "loss %g %%: every completed operation ran once", loss);
	tap_result(t->summed, "loss %g %%: words hold the sums of the adds", loss);
	tap_result(t->agreed, "loss %g %%: both ends agree on the next PSN", loss);
	tap_result(was_hostile(&t->wire[WIRE_REQUESTS], loss) &&
			   was_hostile(&t->wire[WIRE_REPLIES], loss),
		   "loss %g %%: the wire did both ways what it was told", loss);
}

static void run_stage(double loss, uint64_t operations, struct linear_op *history)
{
	struct tally begin = {},
		     tally = {.linear = true, .counted = true, .summed = true, .agreed = true};
	uint64_t start = now_ns();

	sum_requesters(&begin);
	wire_set(&world.options, loss, rng_mix(world.options.seed, (uint64_t)(loss * 1000)));
	while (operations) {
		uint64_t now = operations < world.options.round ? operations : world.options.round;

		run_round(&tally, now, history);
		operations -= now;
	}
	sum_requesters(&tally);
	wire_count(tally.wire);
	describe(&tally, &begin, (now_ns() - start) / 1e9);
	report(&tally, loss);
}

/* --- command line --- */

static int usage(int status)
{
	fprintf(status ? stderr : stdout,
		"Usage: hostile [OPTION]... LOSS:OPERATIONS...\n"
		"  runs OPERATIONS atomics at LOSS percent each way, in a lab that test_hostile.sh "
		"makes\n"
		"  --bpffs DIR  --prefix NAME  --nodes N  --qps N (of a node)  --window N\n"
		"  --timeout N (4.096 us * 2^N)  --round N (operations between judgements)\n"
		"  --corrupt, --duplicate, --reorder PERCENT  --seed N\n");
	return status;
}

static bool parse_option(int c, const char *value)
{
	struct options *options = &world.options;

	switch (c) {
	case 'b':
		options->bpffs = value;
		return true;
	case 'p':
		options->prefix = value;
		return true;
	case 'n':
		return (options->nodes = strtoul(value, NULL, 0)) - 1 < MAX_NODES;
	case 'q':
		return (options->qps = strtoul(value, NULL, 0)) > 0;
	case 'w':
		return (options->window = strtoul(value, NULL, 0)) - 1 < XATOMIC_MAX_RD_ATOMIC;
	case 't':
		return (options->timeout = strtoul(value, NULL, 0)) < 32;
	case 'r':
		return (options->round = strtoul(value, NULL, 0)) - 1 < MAX_ROUND;
	case 'c':
		return (options->corrupt = strtod(value, NULL)) >= 0;
	case 'd':
		return (options->duplicate = strtod(value, NULL)) >= 0;
	case 'o':
		return (options->reorder = strtod(value, NULL)) >= 0;
	case 's':
		options->seed = strtoull(value, NULL, 0);
		return true;
	default:
		return false;
	}
}

static bool parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"bpffs", 1, NULL, 'b'},   {"prefix", 1, NULL, 'p'},  {"nodes", 1, NULL, 'n'},
		{"qps", 1, NULL, 'q'},     {"window", 1, NULL, 'w'},  {"timeout", 1, NULL, 't'},
		{"round", 1, NULL, 'r'},   {"corrupt", 1, NULL, 'c'}, {"duplicate", 1, NULL, 'd'},
		{"reorder", 1, NULL, 'o'}, {"seed", 1, NULL, 's'},    {},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!parse_option(c, optarg))
			return false;
	return world.options.bpffs && world.options.nodes * world.options.qps <= MAX_REQUESTERS;
}

static bool run_stages(char **stages)
{
	size_t room = world.options.round + HOSTS * (size_t)world.options.round + 1;
	struct linear_op *history = calloc(room, sizeof(*history));
	uint64_t operations;
	double loss;

	for (; history && *stages; stages++) {
		if (sscanf(*stages, "%lf:%" SCNu64, &loss, &operations) != 2)
			break;
		run_stage(loss, operations, history);
	}
	free(history);
	return history && !*stages;
}

int main(int argc, char **argv)
{
	int status = 1;

	if (!parse(argc, argv))
		return usage(2);
	world.place = (struct xa_place){.bpffs = world.options.bpffs, .name = "hostile"};
	libbpf_set_print(NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	tap_note("seed %" PRIu64, world.options.seed);
	if (set_up())
		fprintf(stderr, "hostile: %s\n", xatomic_error());
	else
		status = run_stages(argv + optind) ? tap_done() : usage(2);
	take_down();
	return status;
}
