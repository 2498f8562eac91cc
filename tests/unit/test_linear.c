/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The linearizability checker: small histories by hand, all small ones against trying every order, and long
 * ones from a simulated responder that is right, or wrong in one place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../fuzz/rng.h"
#include "../hostile/linear.h"

enum { MAX_OPS = 20000, MAX_SMALL = 6 };

static struct linear_op history[MAX_OPS], scratch[MAX_OPS];
static size_t count;
static struct linear_report report;

static struct linear_op *record(unsigned process, uint64_t invoked, uint64_t returned,
				enum linear_kind kind, uint64_t operand, uint64_t result)
{
	struct linear_op *op = &history[count];

	*op = (struct linear_op){.invoked = invoked,
				 .returned = returned,
				 .operand = operand,
				 .result = result,
				 .seq = count++,
				 .process = process,
				 .kind = kind};
	return op;
}

static void add(unsigned process, uint64_t invoked, uint64_t returned, uint64_t operand,
		uint64_t result)
{
	record(process, invoked, returned, LINEAR_ADD, operand, result);
}

static void swap(unsigned process, uint64_t invoked, uint64_t returned, uint64_t compare,
		 uint64_t new, uint64_t result)
{
	record(process, invoked, returned, LINEAR_SWAP, compare, result)->swap = new;
}

static void load(unsigned process, uint64_t invoked, uint64_t returned, uint64_t result)
{
	record(process, invoked, returned, LINEAR_LOAD, 0, result);
}

static enum linear_verdict judge(uint64_t initial)
{
	memcpy(scratch, history, count * sizeof(*history));
	return linear_check(scratch, count, initial, &report);
}

/* --- by hand --- */

static int clear(void **state)
{
	(void)state;
	count = 0;
	return 0;
}

static void test_nothing_happened(void **state)
{
	(void)state;
	assert_int_equal(judge(5), LINEAR_OK);
}

static void test_concurrent_adds_in_either_order(void **state)
{
	(void)state;
	add(0, 1, 10, 3, 104);
	add(1, 2, 9, 4, 100);
	load(2, 11, 12, 107);
	assert_int_equal(judge(100), LINEAR_OK);
	assert_int_equal(report.placed, 0);
	assert_string_equal(report.why, "");
}

static void test_touching_operations_are_concurrent(void **state)
{
	(void)state;
	add(0, 1, 5, 1, 1);
	add(1, 5, 9, 1, 0);
	assert_int_equal(judge(0), LINEAR_OK);
}

static void test_real_time_order(void **state)
{
	(void)state;
	add(0, 1, 5, 1, 1);
	add(1, 6, 9, 1, 0);
	assert_int_equal(judge(0), LINEAR_VIOLATED);
	assert_int_equal(report.culprit.result, 1);
}

static void test_order_of_one_process(void **state)
{
	(void)state;
	add(0, 1, 9, 1, 1);
	add(0, 1, 9, 1, 0);
	assert_int_equal(judge(0), LINEAR_VIOLATED);
	history[1].process = 1;
	assert_int_equal(judge(0), LINEAR_OK);
}

static void test_double_execution(void **state)
{
	(void)state;
	add(0, 1, 2, 5, 0);
	add(1, 3, 4, 5, 10);
	load(2, 5, 6, 15);
	assert_int_equal(judge(0), LINEAR_VIOLATED);
	assert_int_equal(report.value, 5);
	assert_int_equal(report.culprit.result, 10);
	assert_non_null(strstr(report.why, "ran twice"));
}

static void test_double_execution_at_the_end(void **state)
{
	(void)state;
	add(0, 1, 2, 5, 0);
	load(2, 5, 6, 10);
	assert_int_equal(judge(0), LINEAR_VIOLATED);
}

static void test_lost_update(void **state)
{
	(void)state;
	add(0, 1, 9, 1, 7);
	add(1, 1, 9, 1, 7);
	load(2, 10, 11, 8);
	assert_int_equal(judge(7), LINEAR_VIOLATED);
	assert_non_null(strstr(report.why, "lost"));
}

static void test_stale_value(void **state)
{
	(void)state;
	add(0, 1, 2, 1, 0);
	load(1, 3, 4, 0);
	assert_int_equal(judge(0), LINEAR_VIOLATED);
	assert_non_null(strstr(report.why, "another time"));
	history[1].invoked = 2;
	assert_int_equal(judge(0), LINEAR_OK);
}

static void test_value_that_never_was(void **state)
{
	(void)state;
	add(0, 1, 9, 1, 0);
	swap(1, 1, 9, 77, 78, 5);
	assert_int_equal(judge(0), LINEAR_VIOLATED);
}

static void test_swap_that_did_and_one_that_did_not(void **state)
{
	(void)state;
	swap(0, 1, 9, 0, 8, 0);
	swap(1, 1, 9, 0, 9, 8);
	load(2, 10, 11, 8);
	assert_int_equal(judge(0), LINEAR_OK);
	history[2].result = 9;
	assert_int_equal(judge(0), LINEAR_VIOLATED);
}

/* Both contenders hold the lock at once. */
static void test_lock_taken_twice(void **state)
{
	(void)state;
	swap(0, 1, 2, 0, 1, 0);
	swap(1, 3, 4, 0, 2, 0);
	swap(0, 5, 6, 1, 0, 2);
	assert_int_equal(judge(0), LINEAR_VIOLATED);
}

/* Values come again; the order that fits first leads nowhere. */
static void test_lock_with_a_choice(void **state)
{
	(void)state;
	swap(0, 1, 100, 0, 1, 0);
	swap(1, 2, 100, 0, 1, 0);
	swap(1, 3, 100, 1, 0, 1);
	swap(2, 4, 100, 0, 2, 0);
	swap(0, 5, 100, 1, 0, 1);
	load(3, 101, 102, 2);
	assert_int_equal(judge(0), LINEAR_OK);
}

static void test_unknown_may_have_run_or_not(void **state)
{
	(void)state;
	record(0, 1, 5, LINEAR_ADD, 100, 0)->unknown = true;
	add(1, 2, 3, 1, 0);
	load(1, 6, 7, 1);
	assert_int_equal(judge(0), LINEAR_OK);
	history[2].result = 101;
	assert_int_equal(judge(0), LINEAR_OK);
	history[2].result = 201;
	assert_int_equal(judge(0), LINEAR_VIOLATED);
	history[2].result = 100;
	assert_int_equal(judge(0), LINEAR_VIOLATED);
}

static void test_unknown_cannot_run_after_its_end(void **state)
{
	(void)state;
	record(0, 1, 5, LINEAR_ADD, 100, 0)->unknown = true;
	add(0, 6, 7, 1, 0);
	load(1, 8, 9, 101);
	assert_int_equal(judge(0), LINEAR_VIOLATED);
	history[1].result = 100;
	assert_int_equal(judge(0), LINEAR_OK);
}

static void test_unknown_swap(void **state)
{
	(void)state;
	swap(0, 1, 5, 3, 9, 0);
	history[0].unknown = true;
	load(1, 6, 7, 9);
	assert_int_equal(judge(3), LINEAR_OK);
	assert_int_equal(judge(4), LINEAR_VIOLATED);
}

/* An observation must wait for an unknown operation that ends before it is called. */
static void test_observation_after_an_unknown(void **state)
{
	(void)state;
	record(0, 1, 5, LINEAR_ADD, 1, 0)->unknown = true;
	record(1, 2, 5, LINEAR_ADD, UINT64_MAX, 0)->unknown = true;
	load(2, 6, 9, 0);
	load(3, 1, 9, 1);
	assert_int_equal(judge(0), LINEAR_OK);
}

/* No order exists, but 2^24 sets of adds would have to be tried to say so. */
static void test_search_has_an_end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 24; i++)
		record(i, 1, 5, LINEAR_ADD, 2ull << i, 0)->unknown = true;
	load(30, 6, 7, 1);
	assert_int_equal(judge(0), LINEAR_GAVE_UP);
	assert_non_null(strstr(report.why, "proves nothing"));
}

/* --- every order of small histories --- */

static bool may_follow(const struct linear_op *op, unsigned placed)
{
	for (size_t i = 0; i < count; i++) {
		const struct linear_op *other = &history[i];

		if (other == op || placed & 1u << i)
			continue;
		if (!other->unknown && (other->returned < op->invoked ||
					(other->process == op->process && other->seq < op->seq)))
			return false;
	}
	return true;
}

static bool may_precede(const struct linear_op *op, unsigned placed)
{
	for (size_t i = 0; i < count; i++)
		if (placed & 1u << i && op->returned < history[i].invoked)
			return false;
	return true;
}

static bool try_all(unsigned placed, uint64_t value)
{
	bool complete = true;

	for (size_t i = 0; i < count; i++) {
		const struct linear_op *op = &history[i];

		if (placed & 1u << i)
			continue;
		complete &= op->unknown;
		if ((op->unknown || op->result == value) && may_follow(op, placed) &&
		    may_precede(op, placed) && try_all(placed | 1u << i, linear_after(op, value)))
			return true;
	}
	return complete;
}

static void record_anything(struct rng *rng)
{
	uint64_t invoked = rng_below(rng, 12);
	struct linear_op *op = record(count, invoked, invoked + rng_below(rng, 8),
				      rng_below(rng, 3), rng_below(rng, 3), rng_below(rng, 4));

	op->swap = rng_below(rng, 3);
	op->unknown = op->kind != LINEAR_LOAD && rng_percent(rng, 20);
	/* A second one of the same process, called later. */
	if (count > 1 && rng_percent(rng, 30) && op->invoked > op[-1].invoked && !op->unknown &&
	    !op[-1].unknown)
		op->process = op[-1].process;
}

static void test_small_histories_against_every_order(void **state)
{
	struct rng rng = {2026};
	unsigned good = 0, rounds = 200000;

	(void)state;
	for (unsigned i = 0; i < rounds; i++) {
		count = 0;
		for (uint32_t n = 1 + rng_below(&rng, MAX_SMALL); n; n--)
			record_anything(&rng);
		good += try_all(0, 0);
		assert_int_equal(judge(0), try_all(0, 0) ? LINEAR_OK : LINEAR_VIOLATED);
	}
	assert_in_range(good, rounds / 20, rounds - rounds / 20);
}

/* --- long histories from a simulated responder --- */

enum { PROCESSES = 8 };

enum fault { NO_FAULT, TWICE, LOST, NEVER_WAS, STALE, FAULTS };

/* The operations of a process: [returned, executed) have run, [executed, issued) are on their way. */
struct process {
	uint32_t ops[MAX_OPS];
	uint32_t returned, executed, issued;
};

struct simulation {
	struct rng rng;
	struct process processes[PROCESSES];
	uint64_t now, value, before; /* before the last change */
	unsigned fail_percent;
	enum fault fault;
	size_t wrong_from; /* operation from which on the fault may strike; it does so once */
	unsigned window;
	bool locks; /* a lock word: values come again */
	uint64_t tag;
};

static void choose(struct simulation *s, unsigned p, struct linear_op *op)
{
	if (s->locks) {
		op->kind = LINEAR_SWAP;
		op->operand = rng_percent(&s->rng, 50) ? 0 : p + 1;
		op->swap = op->operand ? 0 : p + 1;
		return;
	}
	op->kind = rng_below(&s->rng, 3);
	op->operand = 1 + (rng_next(&s->rng) >> 34);
	if (op->kind == LINEAR_SWAP) {
		op->operand = s->value;
		op->swap = ++s->tag << 45;
	}
}

static void issue(struct simulation *s, unsigned p, size_t limit)
{
	struct process *process = &s->processes[p];

	if (process->issued - process->returned == s->window || count == limit)
		return;
	process->ops[process->issued++] = count;
	choose(s, p, record(p, s->now, 0, 0, 0, 0));
}

static bool changes(const struct linear_op *op)
{
	return linear_after(op, op->result) != op->result;
}

/* True when the fault took its place. */
static bool strike(struct simulation *s, struct linear_op *op)
{
	if (s->fault == TWICE && op->kind == LINEAR_ADD) {
		s->value = linear_after(op, linear_after(op, s->value));
	} else if (s->fault == LOST && op->kind == LINEAR_ADD && s->before != s->value) {
		op->result = s->before;
		s->value = linear_after(op, s->before);
	} else if (s->fault == NEVER_WAS) {
		op->result ^= 1ull << 63;
	} else if (s->fault == STALE && op->kind == LINEAR_LOAD && s->before != s->value) {
		op->invoked = s->now; /* after the change was seen by a load of another process */
		record(PROCESSES, s->now - 2, s->now - 1, LINEAR_LOAD, 0, s->value);
		op->result = s->before;
	} else {
		return false;
	}
	s->fault = NO_FAULT;
	return true;
}

static void execute(struct simulation *s, unsigned p)
{
	struct process *process = &s->processes[p];
	struct linear_op *op;

	if (process->executed == process->issued)
		return;
	op = &history[process->ops[process->executed++]];
	op->result = s->value;
	if (count >= s->wrong_from && strike(s, op))
		return;
	if (changes(op)) {
		s->before = s->value;
		s->value = linear_after(op, s->value);
	}
}

static void complete(struct simulation *s, unsigned p)
{
	struct process *process = &s->processes[p];

	if (process->returned < process->executed)
		history[process->ops[process->returned++]].returned = s->now;
}

/* The queue pair is gone: what is open ran or did not. */
static void fail_process(struct simulation *s, unsigned p)
{
	struct process *process = &s->processes[p];

	for (; process->returned < process->issued; process->returned++) {
		struct linear_op *op = &history[process->ops[process->returned]];

		op->returned = s->now;
		op->unknown = op->kind != LINEAR_LOAD;
		if (op->kind == LINEAR_LOAD && process->returned >= process->executed)
			op->result = s->value;
	}
	process->executed = process->issued;
}

static void step(struct simulation *s, size_t limit)
{
	unsigned p = rng_below(&s->rng, PROCESSES);

	s->now += 4;
	if (rng_below(&s->rng, 10000) < 100 * s->fail_percent)
		fail_process(s, p);
	else if (rng_percent(&s->rng, 36))
		issue(s, p, limit);
	else if (rng_percent(&s->rng, 50))
		execute(s, p);
	else
		complete(s, p);
}

static void simulate(struct simulation *s, size_t limit)
{
	count = 0;
	memset(s->processes, 0, sizeof(s->processes));
	s->window = s->window ? s->window : 16;
	s->now = s->value = s->before = s->tag = 0;
	while (count < limit)
		step(s, limit);
	for (unsigned p = 0; p < PROCESSES; p++) {
		while (s->processes[p].executed < s->processes[p].issued)
			execute(s, p);
		s->now += 4;
		while (s->processes[p].returned < s->processes[p].executed)
			complete(s, p);
	}
	load(PROCESSES, s->now + 4, s->now + 5, s->value);
}

static struct simulation simulation;

static void test_long_good_histories(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 4; seed++) {
		simulation = (struct simulation){.rng = {seed}, .locks = seed % 2};
		simulate(&simulation, MAX_OPS - 1);
		assert_int_equal(judge(0), LINEAR_OK);
		/* As many steps as operations where no value comes twice. */
		if (!simulation.locks)
			assert_in_range(report.steps, count, count);
	}
}

static void test_long_histories_with_failing_queue_pairs(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 12; seed++) {
		simulation = (struct simulation){.rng = {seed}, .fail_percent = 1};
		if (seed % 2) {
			simulation.locks = true;
			simulation.window = 1;
		}
		simulate(&simulation, 4000);
		assert_int_equal(judge(0), LINEAR_OK);
	}
}

static void test_every_seeded_fault_is_caught(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 100; seed++)
		for (enum fault fault = TWICE; fault < FAULTS; fault++) {
			simulation = (struct simulation){
				.rng = {seed}, .fault = fault, .wrong_from = 1 + 9 * seed};
			simulate(&simulation, 1000);
			assert_int_equal(simulation.fault, NO_FAULT);
			assert_int_equal(judge(0), LINEAR_VIOLATED);
			simulation.fault = NO_FAULT;
		}
}

/* The same where queue pairs fail as well. */
static void test_double_execution_among_unknown_operations(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 30; seed++) {
		simulation = (struct simulation){
			.rng = {seed}, .fault = TWICE, .wrong_from = 300, .fail_percent = seed % 2};
		simulate(&simulation, 600);
		assert_int_equal(simulation.fault, NO_FAULT);
		assert_int_not_equal(judge(0), LINEAR_OK);
	}
}

/* Two results exchanged: each is a right value, only not at its place. */
static void test_every_exchange_is_caught(void **state)
{
	struct rng rng = {7};
	unsigned exchanged = 0;

	(void)state;
	while (exchanged < 200) {
		simulation = (struct simulation){.rng = {rng_next(&rng)}};
		simulate(&simulation, 300);
		struct linear_op *a = &history[rng_below(&rng, 300)], *b = a + 1;

		for (; b < history + 300; b++)
			if (b->process == a->process || a->returned < b->invoked)
				break;
		if (b == history + 300 || a->result == b->result || a->kind != b->kind ||
		    a->kind == LINEAR_SWAP)
			continue;
		uint64_t result = a->result;

		a->result = b->result;
		b->result = result;
		assert_int_equal(judge(0), LINEAR_VIOLATED);
		exchanged++;
	}
}

#define test(function) cmocka_unit_test_setup(function, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_nothing_happened),
		test(test_concurrent_adds_in_either_order),
		test(test_touching_operations_are_concurrent),
		test(test_real_time_order),
		test(test_order_of_one_process),
		test(test_double_execution),
		test(test_double_execution_at_the_end),
		test(test_lost_update),
		test(test_stale_value),
		test(test_value_that_never_was),
		test(test_swap_that_did_and_one_that_did_not),
		test(test_lock_taken_twice),
		test(test_lock_with_a_choice),
		test(test_unknown_may_have_run_or_not),
		test(test_unknown_cannot_run_after_its_end),
		test(test_unknown_swap),
		test(test_observation_after_an_unknown),
		test(test_search_has_an_end),
		test(test_small_histories_against_every_order),
		test(test_long_good_histories),
		test(test_long_histories_with_failing_queue_pairs),
		test(test_every_seeded_fault_is_caught),
		test(test_double_execution_among_unknown_operations),
		test(test_every_exchange_is_caught),
	};

	return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}
