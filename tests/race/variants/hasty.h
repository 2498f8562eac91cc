/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hasty.h - control operations that leave out what packets in flight need, for proofs that the tests see
 * it; and one that is right, but slow. Same arguments and results as those of user/lib.
 */
#ifndef XATOMIC_RACE_HASTY_H
#define XATOMIC_RACE_HASTY_H

#include "lib/mrs.h"
#include "lib/qps.h"

/* Leaves the words in `mr_words`, so it waits for nobody. */
int hasty_mr_del(const struct xa_instance *instance, const char *name);

/* Without a grace period. */
int hasty_qp_del(const struct xa_instance *instance, uint32_t lqpn);
int hasty_qp_reset(const struct xa_instance *instance, uint32_t lqpn, uint32_t rq_psn,
		   struct xa_qp *qp);

/* The real one, but every map update takes its time. */
int slow_mr_del(const struct xa_instance *instance, const char *name);

#endif
