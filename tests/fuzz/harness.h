/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * harness.h - model and real program side by side: the same steps go to both, and what can be seen of them
 * must be equal.
 *
 * Looking at everything after each step would take most of the time. So an ordinary run compares verdict,
 * reply, event, the QP and the word of each packet, and the rest from time to time; a strict run, which the
 * search for a minimal sequence uses, compares everything each time.
 */
#ifndef XATOMIC_TESTS_HARNESS_H
#define XATOMIC_TESTS_HARNESS_H

#include "gen.h"
#include "target.h"
#include "tests/model/model.h"

#define HARNESS_NO_STEP ((size_t)-1)

struct harness {
	struct target *target;
	struct target_limits limits;
	struct model model;
	struct gen gen;
	struct xa_qp *control; /* qps as the control plane has left it */
	bool strict;
	size_t done; /* steps of this episode */
	struct step step;
	struct model_result result;
	struct target_reply reply;
	struct {
		size_t len;
		uint8_t frame[XA_GSI_FRAME_MAX];
	} waiting[TARGET_GSI_ROOM]; /* packets for QP 1, model.gsi_waiting of them */
	struct xa_window window;
	char difference[1024];                              /* "" as long as there is none */
	uint64_t counters[XA_CLASS_COUNT][XA_REASON_COUNT]; /* over all episodes */
};

/* False when the target cannot be opened; *why tells the reason. */
bool harness_open(struct harness *h, const struct target_limits *limits, const char **why);
void harness_close(struct harness *h);

/*
 * An episode: both sides from nothing, then the steps whose numbers are in keep[0 .. count - 1], or 0 ..
 * count - 1 when keep is NULL. Returns the position of the step after which the sides differed, or
 * HARNESS_NO_STEP. With `verbose` each step is printed as it is done.
 */
size_t harness_episode(struct harness *h, uint64_t seed, const uint32_t *keep, size_t count,
		       bool verbose);

/* The parts of an episode: both sides from nothing, then h->step; false when they differ after it. */
void harness_start(struct harness *h, uint64_t seed);
bool harness_step(struct harness *h);

/* Does an operation of the control plane on both sides (apply.c). */
void harness_apply(struct harness *h);

/* Compare, and write what is different to h->difference; false when something is (compare.c). */
bool compare_packet(struct harness *h, bool has_event, const struct xa_event *event);
bool compare_qp(struct harness *h, unsigned slot);
bool compare_window(struct harness *h, unsigned slot);
bool compare_stats(struct harness *h);
bool compare_words(struct harness *h);
bool compare_mrs(struct harness *h);
bool compare_waiting(struct harness *h); /* takes them, on both sides */

/* The QP context that the model and the control plane's last writing add up to. */
struct xa_qp expected_qp(const struct harness *h, unsigned slot);

/* Prints a step as comment lines of TAP (print.c). */
void print_step(const struct harness *h, uint32_t number);

#endif
