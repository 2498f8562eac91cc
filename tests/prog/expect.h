/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.h - what a reason entails: each one's answer and its marks on the state (IBA volume 1 chapter 9;
 * docs/protocol.md). Which reason a packet meets is what the rows say; this is what follows from it.
 */
#ifndef XATOMIC_TEST_EXPECT_H
#define XATOMIC_TEST_EXPECT_H

#include "scene.h"

struct outcome {
	enum xa_reason reason;
	enum xa_class class;
	int verdict;          /* XDP_* */
	struct answer answer; /* with XDP_TX */
	bool has_event;
	struct xa_event event; /* but for its time */
};

void scene_expect(const struct scene *scene, enum xa_reason reason, enum xa_unknown_qp unknown_qp,
		  struct scene *after, struct outcome *out);

#endif
