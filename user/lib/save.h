/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * save.h - memory regions across a reboot: into a file (snapshot.h) and back.
 *
 * Functions return 0, or -1 with xa_error().
 */
#ifndef XATOMIC_LIB_SAVE_H
#define XATOMIC_LIB_SAVE_H

#include <stddef.h>
#include <stdint.h>

#include "instance.h"

struct xa_saved_file {
	size_t mrs;
	uint64_t words; /* of all regions together */
	uint64_t bytes; /* of the file */
};

/*
 * Writes all regions of an instance to `path`: to `path`.tmp first, which takes the other's place when it is
 * complete and on the disk. The instance is locked; packets may go on.
 */
int xa_save(const struct xa_instance *instance, const char *path, struct xa_saved_file *saved);

/*
 * Registers all regions of a file: all of them or none. The instance is locked exclusively. *list, to be
 * freed, becomes their entries.
 */
int xa_restore(const struct xa_instance *instance, const char *path, struct xa_mr **list,
	       size_t *count);

#endif
