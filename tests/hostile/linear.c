/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linear.c - the search of Wing and Gong with Lowe's memory (Lowe, "Testing for linearizability", 2017).
 *
 * The history is a list of events by time, a call and a return for each operation. What may come first in the
 * order are the operations whose call stands before the first return of an operation that has a result. One
 * is taken out, then the same is asked of the rest, and when nothing fits the last choice is taken back. Sets
 * of operations that have led nowhere with the same value are remembered, so no state is tried twice. That
 * is complete: LINEAR_VIOLATED means that no order exists, LINEAR_OK that one was found. (The memory holds
 * a 63-bit sum of the set and the value: with n states it is wrong about one of them with probability
 * n^2 / 2^64, about 1 in 10^9 for a hundred thousand, and then on the side of blaming the innocent.)
 *
 * Why this takes linear time where it matters, though the question is NP-complete in general. An operation
 * with a result fits one value of the word only: its original. Where no value comes twice in a life of the
 * word, as with adds of positive numbers whose sum does not wrap and swaps to values that are new, at most one
 * operation that changes the word fits, since the word leaves a value once: their originals form a chain,
 * original + operand being the next one's original, and the search follows it without a choice. Two
 * operations with one original cannot both be placed, and the search finds that at the first of them.
 *
 * Operations that change nothing (a load, a swap that failed) need no choice either: when one fits, taking it
 * at once costs nothing, for the value stays and nothing that comes later can profit from it still being
 * there. Only an unknown operation that would have ended by then could, see `late` below.
 *
 * So choices are left in two cases. Values that come again: a lock word, whose history is local in time,
 * with as many choices as there are contenders. And unknown operations, which fit many values; when operands
 * differ a wrong one leads to a value that nothing fits, at once. Both are bounded by what is concurrent,
 * not by the length of the history. LIMIT bounds them for good; a search that reaches it proves nothing and
 * says so, and tests take that as a failure.
 */
#include "linear.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, LIMIT = 1000 * 1000, LIMIT_PER_OP = 16 };

struct move {
	int op;
	int frontier;
	uint64_t value;
	bool forced; /* nothing to try instead */
};

struct memory {
	uint64_t *slots;
	size_t mask, used;
};

/* Events are numbered 2n for the call of ops[n] and 2n + 1 for its return; `head` is one more. */
struct search {
	struct linear_op *ops;
	int count, head;
	int *next, *prev;
	int *position; /* of each event in the whole list */
	int frontier;  /* position of the latest call placed: where time is at least */
	uint64_t value, set;
	size_t left; /* operations with a result that are not placed */
	struct move *moves;
	int depth;
	struct memory memory;
	struct linear_report *report;
};

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		err(1, "linear_check");
	return memory;
}

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static int call_of(int op)
{
	return 2 * op;
}

static int return_of(int op)
{
	return 2 * op + 1;
}

uint64_t linear_after(const struct linear_op *op, uint64_t found)
{
	if (op->kind == LINEAR_ADD)
		return found + op->operand;
	return op->kind == LINEAR_SWAP && found == op->operand ? op->swap : found;
}

/* --- the list --- */

static int by_invocation(const void *left, const void *right)
{
	const struct linear_op *a = left, *b = right;

	if (a->invoked != b->invoked)
		return a->invoked < b->invoked ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

struct event {
	uint64_t time;
	int number;
};

/* Calls first: operations that touch are concurrent. */
static int by_time(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if ((a->number & 1) != (b->number & 1))
		return (a->number & 1) - (b->number & 1);
	return a->number - b->number;
}

static struct event *sort_events(const struct search *s)
{
	struct event *events = allocate(2 * s->count, sizeof(*events));

	for (int op = 0; op < s->count; op++) {
		events[2 * op] = (struct event){s->ops[op].invoked, call_of(op)};
		events[2 * op + 1] = (struct event){s->ops[op].returned, return_of(op)};
	}
	qsort(events, 2 * s->count, sizeof(*events), by_time);
	return events;
}

static void make_list(struct search *s)
{
	struct event *events = sort_events(s);
	int last = s->head;

	for (int i = 0; i < 2 * s->count; i++) {
		int event = events[i].number;

		s->position[event] = i;
		s->prev[event] = last;
		s->next[last] = event;
		last = event;
	}
	s->next[last] = s->head;
	s->prev[s->head] = last;
	free(events);
}

static void unlink_event(struct search *s, int event)
{
	s->next[s->prev[event]] = s->next[event];
	s->prev[s->next[event]] = s->prev[event];
}

/* Undoes the last unlink_event() that was not undone. */
static void relink_event(struct search *s, int event)
{
	s->next[s->prev[event]] = event;
	s->prev[s->next[event]] = event;
}

/* --- what has been tried --- */

static void insert(struct memory *m, uint64_t key)
{
	size_t at = key & m->mask;

	while (m->slots[at])
		at = (at + 1) & m->mask;
	m->slots[at] = key;
	m->used++;
}

static void grow(struct memory *m)
{
	struct memory larger = {.mask = 2 * m->mask + 1};

	larger.slots = allocate(larger.mask + 1, sizeof(*larger.slots));
	for (size_t i = 0; i <= m->mask; i++)
		if (m->slots[i])
			insert(&larger, m->slots[i]);
	free(m->slots);
	*m = larger;
}

/* True when it is new. */
static bool remember(struct memory *m, uint64_t set, uint64_t value)
{
	uint64_t key = mix(set ^ mix(value + 0x9e3779b97f4a7c15ull)) | 1;
	size_t at;

	for (at = key & m->mask; m->slots[at]; at = (at + 1) & m->mask)
		if (m->slots[at] == key)
			return false;
	if (2 * m->used > m->mask)
		grow(m);
	insert(m, key);
	return true;
}

/* --- the search --- */

static bool fits(const struct linear_op *op, uint64_t value)
{
	if (op->unknown) /* a swap that changes nothing need not be placed */
		return op->kind == LINEAR_ADD || op->operand == value;
	return op->result == value;
}

static bool observes(const struct linear_op *op)
{
	return !op->unknown && linear_after(op, op->result) == op->result;
}

/* An unknown operation that time has gone past is one that never ran. */
static bool is_past(const struct search *s, int op)
{
	return s->ops[op].unknown && s->position[return_of(op)] < s->frontier;
}

/*
 * Those that need not be chosen come first: they change nothing, and no unknown operation that could still
 * have run has ended before they were called (`late`), so placing them takes no possibility away. Unknown
 * operations come last, since they fit nearly always.
 */
enum rank { FREE, KNOWN, UNKNOWN };

static bool has_rank(const struct linear_op *op, enum rank rank, bool late)
{
	return rank == FREE ? !late && observes(op) : op->unknown == (rank == UNKNOWN);
}

/*
 * The first operation of a rank that may come next, fits, and is called later than position `after`. One
 * that comes before it in its process has to be placed before. Unknown ones are the last of their queue pair,
 * so they hold up each other only, until that ends; swaps among them do not even that, as they may have
 * run without effect, which is no matter of placing them.
 */
static int find(const struct search *s, enum rank rank, int after)
{
	uint64_t waiting[2] = {0, 0}, own;
	bool late = false, waits;

	for (int event = s->next[s->head]; event != s->head; event = s->next[event]) {
		int op = event / 2;
		const struct linear_op *o = &s->ops[op];

		if (is_past(s, op))
			continue;
		own = 1ull << o->process;
		if (event == return_of(op)) {
			if (!o->unknown)
				break;
			waiting[true] &= ~own;
			late = true;
			continue;
		}
		waits = (waiting[false] | (o->unknown ? waiting[true] : 0)) & own;
		if (!o->unknown || o->kind == LINEAR_ADD)
			waiting[o->unknown] |= own;
		if (!waits && s->position[event] > after && fits(o, s->value) &&
		    has_rank(o, rank, late))
			return op;
	}
	return NONE;
}

static void place(struct search *s, int op, bool forced)
{
	struct linear_op *o = &s->ops[op];
	int call = s->position[call_of(op)];

	s->moves[s->depth++] = (struct move){op, s->frontier, s->value, forced};
	s->value = linear_after(o, s->value);
	s->set ^= mix(op + 1);
	if (call > s->frontier)
		s->frontier = call;
	s->left -= !o->unknown;
	unlink_event(s, call_of(op));
	unlink_event(s, return_of(op));
}

static struct move take_back(struct search *s)
{
	struct move move = s->moves[--s->depth];

	relink_event(s, return_of(move.op));
	relink_event(s, call_of(move.op));
	s->left += !s->ops[move.op].unknown;
	s->frontier = move.frontier;
	s->set ^= mix(move.op + 1);
	s->value = move.value;
	return move;
}

/* Keeps the state that explains most, should no better one come. */
static void note_dead_end(struct search *s, size_t total)
{
	struct linear_report *r = s->report;

	if (r->placed && total - s->left <= r->placed)
		return;
	r->placed = total - s->left;
	r->value = s->value;
	for (int event = s->next[s->head]; event != s->head; event = s->next[event]) {
		if (event == call_of(event / 2) || s->ops[event / 2].unknown)
			continue;
		r->culprit = s->ops[event / 2];
		return;
	}
}

/* What to try after `last` in the present state, KNOWN ones first. */
static int find_next(const struct search *s, int last)
{
	bool unknown = last != NONE && s->ops[last].unknown;
	int after = last == NONE ? NONE : s->position[call_of(last)], op = NONE;

	if (!unknown)
		op = find(s, KNOWN, after);
	return op != NONE ? op : find(s, UNKNOWN, unknown ? after : NONE);
}

/* Places what comes after `last` in the present state. False: nothing is left to try here. */
static bool advance(struct search *s, int last)
{
	int op = last == NONE ? find(s, FREE, NONE) : NONE;

	if (op != NONE) {
		place(s, op, true);
		return true;
	}
	while ((op = find_next(s, last)) != NONE) {
		place(s, op, false);
		if (remember(&s->memory, s->set, s->value))
			return true;
		take_back(s);
		last = op;
	}
	return false;
}

/* Takes moves back up to one that there may be another for. Returns its operation, or NONE. */
static int retreat(struct search *s)
{
	while (s->depth) {
		struct move move = take_back(s);

		if (!move.forced)
			return move.op;
	}
	return NONE;
}

static enum linear_verdict run(struct search *s)
{
	size_t total = s->left, limit = LIMIT + LIMIT_PER_OP * (size_t)s->count;
	int last = NONE;

	while (s->left) {
		if (++s->report->steps > limit)
			return LINEAR_GAVE_UP;
		if (advance(s, last)) {
			last = NONE;
			continue;
		}
		note_dead_end(s, total);
		last = retreat(s);
		if (last == NONE)
			return LINEAR_VIOLATED;
	}
	return LINEAR_OK;
}

/* --- what to say --- */

static bool is_made(const struct search *s, uint64_t value, uint64_t initial)
{
	if (value == initial)
		return true;
	for (int op = 0; op < s->count; op++)
		if (!s->ops[op].unknown && linear_after(&s->ops[op], s->ops[op].result) == value)
			return true;
	return false;
}

static bool has_rival(const struct search *s, const struct linear_op *culprit)
{
	int same = 0;

	for (int op = 0; op < s->count; op++)
		same += !s->ops[op].unknown && !observes(&s->ops[op]) &&
			s->ops[op].result == culprit->result;
	return !observes(culprit) && same > 1;
}

/* A hint for people; the verdict is what counts. */
static const char *explain(const struct search *s, uint64_t initial)
{
	const struct linear_op *culprit = &s->report->culprit;

	if (s->report->verdict == LINEAR_OK)
		return "";
	if (s->report->verdict == LINEAR_GAVE_UP)
		return "the search was too long and proves nothing";
	if (!is_made(s, culprit->result, initial))
		return "it returned a value that no recorded operation leaves: something ran "
		       "twice, or "
		       "never should have";
	if (has_rival(s, culprit))
		return "another operation returned the same value: an update was lost";
	return "it returned a value of another time";
}

static void start(struct search *s)
{
	int events = 2 * s->count + 1;

	s->head = 2 * s->count;
	s->next = allocate(events, sizeof(*s->next));
	s->prev = allocate(events, sizeof(*s->prev));
	s->position = allocate(events, sizeof(*s->position));
	s->moves = allocate(s->count, sizeof(*s->moves));
	s->frontier = NONE;
	s->memory =
		(struct memory){.slots = allocate(1024, sizeof(*s->memory.slots)), .mask = 1023};
	qsort(s->ops, s->count, sizeof(*s->ops), by_invocation);
	make_list(s);
	for (int op = 0; op < s->count; op++)
		s->left += !s->ops[op].unknown;
}

static void end(struct search *s)
{
	free(s->memory.slots);
	free(s->moves);
	free(s->position);
	free(s->prev);
	free(s->next);
}

enum linear_verdict linear_check(struct linear_op *ops, size_t count, uint64_t initial,
				 struct linear_report *report)
{
	struct search s = {.ops = ops, .count = count, .value = initial, .report = report};

	memset(report, 0, sizeof(*report));
	start(&s);
	report->verdict = run(&s);
	report->why = explain(&s, initial);
	end(&s);
	return report->verdict;
}
