/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linear.h - is a recorded history of atomics on one 64-bit word linearizable?
 *
 * Linearizability is local: a history is linearizable if and only if its part on each word is (Herlihy and
 * Wing, theorem 1), so words are judged one by one.
 *
 * A history is linearizable when all its operations can be put into one order such that each returns what
 * the word held at its place, and no operation comes before one that had returned when it was invoked.
 * This checker asks for one thing more: operations of one process keep their order. A host's thread has
 * one operation at a time, where that says nothing new; a queue pair has many, and a reliable connection
 * runs them in the order of their PSNs.
 *
 * An operation of which nobody knows whether it ran (its queue pair failed) may be placed, once, or left out.
 */
#ifndef XATOMIC_TEST_LINEAR_H
#define XATOMIC_TEST_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINEAR_PROCESSES = 64 };

enum linear_kind { LINEAR_ADD, LINEAR_SWAP, LINEAR_LOAD };

struct linear_op {
	uint64_t invoked,
		returned; /* ns of one monotonic clock; both ends belong to the operation */
	uint64_t operand; /* what to add, or to compare with */
	uint64_t swap;
	uint64_t result; /* the original value; of unknown operations nothing */
	uint32_t seq;    /* numbers the operations of a process */
	uint16_t word;   /* for the owner of the history */
	uint8_t process; /* below LINEAR_PROCESSES */
	uint8_t kind;    /* enum linear_kind */
	bool unknown;    /* it ran between the two times, or not at all */
};

enum linear_verdict {
	LINEAR_OK,
	LINEAR_VIOLATED,
	LINEAR_GAVE_UP, /* the search became too long; see linear.c for when that can be */
};

struct linear_report {
	enum linear_verdict verdict;
	size_t placed;            /* operations with a result, at most, before it went on no more */
	uint64_t value;           /* what the word held there */
	struct linear_op culprit; /* one that had to come next and could not */
	const char *why;          /* a sentence; "" when all is well */
	size_t steps;             /* of the search */
};

/*
 * Judges the operations of one word, which held `initial` before them. Sorts them by time of invocation. An
 * observation at the end (LINEAR_LOAD) is the way to tell what the word held after them.
 * Aborts when there is no memory.
 */
enum linear_verdict linear_check(struct linear_op *ops, size_t count, uint64_t initial,
				 struct linear_report *report);

/* Does it change the word, given the value that it finds? What the word holds afterwards. */
uint64_t linear_after(const struct linear_op *op, uint64_t found);

#endif
