/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.h - the real responder, as the fuzzer drives it: the maps as the control plane sees them, and one
 * packet at a time.
 *
 * target_kernel.c loads the program and runs it by BPF_PROG_TEST_RUN; target_native.c compiles its source
 * for the host, over plain memory.
 */
#ifndef XATOMIC_TESTS_TARGET_H
#define XATOMIC_TESTS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/model/model.h"
#include "xatomic/abi.h"

#define TARGET_FRAME_MAX 2048
#define TARGET_GSI_ROOM  10 /* packets for QP 1 that may wait; a ring of 4096 bytes holds so many */

struct target_limits {
	uint32_t max_qps; /* a power of two */
	uint32_t max_mrs;
	uint32_t replay_windows;      /* 0: enough for every QP */
	uint32_t mr_index[MODEL_MRS]; /* the indices that are used */
	uint32_t mr_words[MODEL_MRS]; /* words of each, until target_mr_map() */
	enum xa_unknown_qp unknown_qp;
};

struct target_reply {
	uint32_t action; /* enum xdp_action */
	size_t len;
	uint8_t frame[TARGET_FRAME_MAX];
};

struct target;

/* NULL when it cannot be: *why tells the reason. */
struct target *target_open(const struct target_limits *limits, const char **why);
void target_close(struct target *t);

/* As if the instance were new. */
void target_reset(struct target *t);

/* Entry of `qps`, mapped. */
struct xa_qp *target_qp(struct target *t, uint32_t index);

/* False when there is no such window. */
bool target_window_get(struct target *t, uint32_t qpn, struct xa_window *window);
void target_window_put(struct target *t, uint32_t qpn, const struct xa_window *window);
void target_window_del(struct target *t, uint32_t qpn);

/* Slots are 0 .. MODEL_MRS - 1, their indices are in the limits. */
void target_mr_get(struct target *t, unsigned slot, struct xa_mr *mr);
void target_mr_put(struct target *t, unsigned slot, const struct xa_mr *mr);
/* Words of a slot; NULL when they are not mapped. */
uint64_t *target_mr_words(struct target *t, unsigned slot);
/* Gives the slot new words, all 0. Slow: it takes an RCU grace period. */
void target_mr_map(struct target *t, unsigned slot, uint32_t words);
void target_mr_unmap(struct target *t, unsigned slot);

/* Sum over all CPUs. */
void target_stats(struct target *t, struct xa_stats *sum);

/* The next event, false when there is none. */
bool target_event(struct target *t, struct xa_event *event);

/* Packets for QP 1: is there somebody who takes them, and the next one that waits, false: none. */
void target_agent(struct target *t, bool alive);
bool target_gsi(struct target *t, struct xa_gsi_packet *packet);

void target_run(struct target *t, const uint8_t *frame, size_t len, struct target_reply *reply);

#endif
