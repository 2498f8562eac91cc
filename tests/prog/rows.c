/* SPDX-License-Identifier: BSD-2-Clause */
#include "row.h"

#include "../lib/tap.h"

static void run_row(struct rig *rig, const struct row *row, enum xa_family family)
{
	struct scene scene;

	scene_init(&scene, family);
	if (row->prepare)
		row->prepare(&scene);
	scene_apply(&scene, row->before);
	tap_result(scene_check(rig, &scene, row->reason, row->then, NULL), "%s (%s): %s [%s]",
		   row->name, family == XA_IPV4 ? "IPv4" : "IPv6", reason_name(row->reason),
		   row->rule);
}

void run_table(struct rig *rig, const struct table *table)
{
	tap_note("%s", table->topic);
	for (const struct row *row = table->rows; row < table->rows + table->count; row++) {
		if (row->family != ONLY_V6)
			run_row(rig, row, XA_IPV4);
		if (row->family != ONLY_V4)
			run_row(rig, row, XA_IPV6);
	}
}
