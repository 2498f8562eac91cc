/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep.h - rules that hold for every value of something: one result per sweep.
 */
#ifndef XATOMIC_TEST_SWEEP_H
#define XATOMIC_TEST_SWEEP_H

#include "scene.h"
#include "../lib/tap.h"

struct sweep {
	unsigned int cases;
	unsigned int failures;
};

/* One case of a sweep; the note names it when it failed. False when the sweep should give up. */
bool sweep_case(struct sweep *sweep, bool ok, const char *note, ...) TAP_PRINTF(3);

/* The result of the sweep, which must have had cases. */
void sweep_done(const struct sweep *sweep, const char *name, ...) TAP_PRINTF(2);

/* Numbers that look random and are the same in every run. */
uint64_t any_number(void);

/*
 * What a request meets that is right but for its opcode and length: executed or opcode when those are
 * right too.
 */
enum xa_reason reason_of_request(uint8_t opcode, unsigned int body_len, unsigned int pad);

void sweep_bits(struct rig *rig, enum xa_family family);
void sweep_numbers(struct rig *rig, enum xa_family family);
void sweep_lengths(struct rig *rig, enum xa_family family);
void sweep_opcodes(struct rig *rig, enum xa_family family);
void sweep_order(struct rig *rig, enum xa_family family);
void sweep_stories(struct rig *rig, enum xa_family family);
void sweep_headers(struct rig *rig, enum xa_family family);
void sweep_gsi(struct rig *rig, enum xa_family family);
void sweep_random(struct rig *rig, enum xa_family family, int cases);

#endif
