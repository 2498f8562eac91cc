/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instance.h - one responder: its maps, its program and its links, pinned in a directory of the BPF file
 * system. Nothing of it lives in a process.
 *
 * DIR/xatomic/NAME/ holds a pin of each map by the map's name, `prog`, `mr/` with the words of each memory
 * region, `links/` with the link of each interface, and `monitor/` and `serve/`, which are only there to be
 * locked.
 *
 * All functions return 0, or -1 with xa_error().
 */
#ifndef XATOMIC_LIB_INSTANCE_H
#define XATOMIC_LIB_INSTANCE_H

#include <limits.h>
#include <stdbool.h>

#include "xatomic/abi.h"

struct xa_place {
	const char *bpffs;
	const char *name; /* of the instance */
};

enum xa_map {
	XA_MAP_CONFIG,
	XA_MAP_QPS,
	XA_MAP_MRS,
	XA_MAP_MR_WORDS,
	XA_MAP_REPLAY,
	XA_MAP_STATS,
	XA_MAP_EVENTS,
	XA_MAP_GSI,
	XA_MAP_AGENT,
	XA_MAP_CONNECTIONS,
	XA_MAP_COUNT
};

struct xa_instance {
	const char *name;
	char dir[PATH_MAX];
	int lock;
	int place; /* the directory itself, wherever it is; its path may not be ours to walk any more */
	int maps[XA_MAP_COUNT];
	int prog;
	struct xa_config config;
	struct xa_qp *qps; /* the map itself, config.max_qps long */
};

/*
 * Opens an instance and locks it: LOCK_EX to change something, LOCK_SH to look (flock(2)). Refuses one that
 * another layout version made.
 */
int xa_instance_open(struct xa_instance *instance, const struct xa_place *place, int operation);

/* The same without a lock, by the directory; for an instance that nobody else can see yet. */
int xa_instance_open_dir(struct xa_instance *instance, const char *name, const char *dir);

/*
 * For those that go on for long: without the lock the instance can be looked at only. Taking it again fails when
 * the instance has been destroyed since, also when another one has its name now.
 */
void xa_instance_unlock(struct xa_instance *instance);
int xa_instance_lock(struct xa_instance *instance, int operation);

/* Fails when the instance has been destroyed; needs no lock. */
int xa_instance_check(const struct xa_instance *instance);

/* Fine for one that could not be opened. */
void xa_instance_close(struct xa_instance *instance);

/* Path below the instance's directory: "DIR/xatomic/NAME/SUB/LEAF"; `leaf` NULL: without it. */
int xa_instance_path(const struct xa_instance *instance, const char *sub, const char *leaf,
		     char path[PATH_MAX]);

/* "DIR/xatomic" and, when `name` is not NULL, "/NAME" and `suffix` behind it. */
int xa_place_path(const struct xa_place *place, const char *name, const char *suffix,
		  char path[PATH_MAX]);

/*
 * Loads the program with maps sized by `config` and pins all below `dir`, which must not be there yet.
 * Leaves a part of it behind upon failure.
 */
int xa_instance_create(const char *dir, const struct xa_config *config);

/* Loads this binary's program with the maps of an instance. Returns its descriptor, or -1 with xa_error(). */
int xa_prog_load(const struct xa_instance *instance);

/* Names of the maps, indexed by enum xa_map. */
extern const char *const xa_map_names[XA_MAP_COUNT];

#endif
