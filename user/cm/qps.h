/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qps.h - the queue pairs that the daemon makes, in turns.
 *
 * A turn is one round of the event loop. The instance is locked from its first change to its end, where one
 * RCU grace period does for all queue pairs that were taken down in it.
 */
#ifndef XATOMIC_CM_QPS_H
#define XATOMIC_CM_QPS_H

#include "lib/mrs.h"
#include "lib/qps.h"
#include "policy.h"

enum { CM_RETIRED_MAX = 256 };

struct cm_qps {
	struct xa_instance *instance;
	uint32_t max_per_peer;
	bool locked, lost; /* lost: the instance is gone */
	size_t retired;
	uint32_t retired_qpns[CM_RETIRED_MAX];
};

void cm_qps_init(struct cm_qps *qps, struct xa_instance *instance, uint32_t max_per_peer);

/* How many queue pairs a peer has, whoever made them. */
uint32_t cm_qps_of_peer(const struct cm_qps *qps, const struct xa_ip *peer);

/* Makes one. Returns 0, or -1 with xa_error(). */
int cm_qps_add(struct cm_qps *qps, const struct xa_qp_request *request, struct xa_qp *qp);

/* Takes one down, if it is still there: from now on no new packet gets into it. */
void cm_qps_remove(struct cm_qps *qps, uint32_t lqpn);

/* Leaves it, but answers its peer's requests by NAKs from now on. */
void cm_qps_revoke(struct cm_qps *qps, uint32_t lqpn);

/* Has it had a request? */
bool cm_qps_is_used(const struct cm_qps *qps, uint32_t lqpn);

/* The memory region of an offer. Returns 0, or -1 with xa_error(). */
int cm_qps_find_mr(struct cm_qps *qps, const struct cm_offer *offer, struct xa_mr *mr);

/* Ends the turn. Returns -1 with xa_error() when the instance is gone. */
int cm_qps_end_turn(struct cm_qps *qps);

#endif
