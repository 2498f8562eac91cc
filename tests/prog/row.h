/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row.h - the table that specifies the BPF program: one row per rule.
 *
 * A row is a scene, told by what is different from the plain one (a FETCH_ADD that is executed), and the
 * reason that the packet must meet there. What the reason entails is in expect.c.
 */
#ifndef XATOMIC_TEST_ROW_H
#define XATOMIC_TEST_ROW_H

#include "scene.h"

struct row {
	const char *name;
	const char *rule; /* where it comes from */
	enum xa_reason reason;
	enum { BOTH, ONLY_V4, ONLY_V6 } family;
	void (*prepare)(struct scene *scene); /* before the settings */
	struct set before[SETS_MAX];
	struct set then[SETS_MAX]; /* corrections to the expected state */
};

struct table {
	const char *topic;
	const struct row *rows;
	size_t count;
};

/* What a row does not mention is not special: that is the point of a row. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define TABLE(name, array)                                                                         \
	const struct table name = {#array, array, sizeof(array) / sizeof(array[0])}
#define R(word) XA_REASON_##word

extern const struct table parse_table, qp_table, psn_table, access_table, execute_table,
	duplicate_table, reply_table, gsi_table;

/* Plays each row of a table over the families that it is for: a result each. */
void run_table(struct rig *rig, const struct table *table);

#endif
