/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "save.h"
#include "snapshot.h"

static int fill_region(struct xa_snapshot *snapshot, struct xa_region *region)
{
	if (xa_region_create(region) || xa_region_map(region))
		return -1;
	return xa_snapshot_read_words(snapshot, region);
}

/* Makes the region with its words and pins it; no packet sees it yet. */
static int prepare(const struct xa_instance *instance, struct xa_snapshot *snapshot,
		   struct xa_region *region)
{
	int status = fill_region(snapshot, region);

	if (!status)
		status = xa_region_pin(instance, region);
	xa_region_close(region);
	return status;
}

static int register_all(const struct xa_instance *instance, struct xa_snapshot *snapshot)
{
	size_t pinned = 0;
	int status = 0;

	while (pinned < snapshot->count && !status) {
		status = prepare(instance, snapshot, &snapshot->regions[pinned]);
		pinned += !status;
	}
	if (!status)
		status = xa_snapshot_read_end(snapshot);
	if (!status)
		status = xa_regions_publish(instance, snapshot->regions, snapshot->count);
	if (status)
		xa_regions_withdraw(instance, snapshot->regions, pinned);
	return status;
}

static int list_entries(const struct xa_snapshot *snapshot, struct xa_mr **list)
{
	*list = calloc(snapshot->count + 1, sizeof(**list));
	if (!*list)
		return xa_error("xatomic is out of memory; try again when more is free");
	for (size_t i = 0; i < snapshot->count; i++)
		(*list)[i] = snapshot->regions[i].mr;
	return 0;
}

static int restore_from(const struct xa_instance *instance, struct xa_snapshot *snapshot,
			struct xa_mr **list, size_t *count)
{
	if (xa_snapshot_read_regions(snapshot) ||
	    xa_regions_check(instance, snapshot->regions, snapshot->count) ||
	    list_entries(snapshot, list))
		return -1;
	*count = snapshot->count;
	if (!register_all(instance, snapshot))
		return 0;
	free(*list);
	return -1;
}

int xa_restore(const struct xa_instance *instance, const char *path, struct xa_mr **list,
	       size_t *count)
{
	struct xa_snapshot snapshot = {.file = fopen(path, "re"), .path = path};
	int status;

	if (!snapshot.file)
		return xa_error("%s cannot be opened (%s); give a file that 'xatomic save' wrote",
				path, strerror(errno));
	status = restore_from(instance, &snapshot, list, count);
	xa_snapshot_free(&snapshot);
	fclose(snapshot.file);
	return status;
}
