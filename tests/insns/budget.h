/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * budget.h - what a packet of each class may cost: tests/insns/budget.txt.
 */
#ifndef XATOMIC_TEST_INSNS_BUDGET_H
#define XATOMIC_TEST_INSNS_BUDGET_H

#include "measure.h"

#define BUDGET_FILE  "tests/insns/budget.txt"
#define BUDGET_CLANG 14 /* the compiler whose instructions it counts */

/* The budget of a class; false when the file has no line for it, or is not there. */
bool budget_of(const struct class *class, struct cost *budget);

/* Writes the file that fits these costs, one for each of `classes`, to standard output. */
void budget_print(const struct cost *costs);

/* Major version of the clang that made an object file with debug information; 0 when that does not tell. */
int compiled_by(const void *object, size_t size);

#endif
