/* SPDX-License-Identifier: BSD-2-Clause */
#include "qps.h"

#include <string.h>
#include <sys/file.h>

#include "lib/error.h"

void cm_qps_init(struct cm_qps *qps, struct xa_instance *instance, uint32_t max_per_peer)
{
	*qps = (struct cm_qps){.instance = instance, .max_per_peer = max_per_peer};
}

static int lock(struct cm_qps *qps)
{
	if (qps->locked)
		return 0;
	qps->lost = xa_instance_lock(qps->instance, LOCK_EX) != 0;
	qps->locked = !qps->lost;
	return qps->lost ? -1 : 0;
}

static bool is_of_peer(const struct xa_qp *qp, const struct xa_ip *peer)
{
	return qp->ctl.state != XA_QP_RESET && qp->family == peer->family &&
	       !memcmp(qp->peer, peer->gid, sizeof(qp->peer));
}

uint32_t cm_qps_of_peer(const struct cm_qps *qps, const struct xa_ip *peer)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < qps->instance->config.max_qps; i++)
		count += is_of_peer(&qps->instance->qps[i], peer);
	return count;
}

/* A failure leaves windows behind that the next queue pairs of these indices clear away. */
static void release(struct cm_qps *qps)
{
	if (qps->retired)
		xa_qp_release(qps->instance, qps->retired_qpns, qps->retired);
	qps->retired = 0;
}

int cm_qps_add(struct cm_qps *qps, const struct xa_qp_request *request, struct xa_qp *qp)
{
	if (cm_qps_of_peer(qps, &request->peer) >= qps->max_per_peer)
		return xa_error("the peer has %u queue pairs already, the most that one may have",
				qps->max_per_peer);
	if (lock(qps))
		return -1;
	/* The new one may get the index of one of those. */
	release(qps);
	return xa_qp_add(qps->instance, request, qp);
}

void cm_qps_remove(struct cm_qps *qps, uint32_t lqpn)
{
	if (lock(qps) || xa_qp_retire(qps->instance, lqpn))
		return;
	if (qps->retired == CM_RETIRED_MAX)
		release(qps);
	qps->retired_qpns[qps->retired++] = lqpn;
}

void cm_qps_revoke(struct cm_qps *qps, uint32_t lqpn)
{
	if (!lock(qps))
		xa_qp_revoke(qps->instance, lqpn);
}

bool cm_qps_is_used(const struct cm_qps *qps, uint32_t lqpn)
{
	struct xa_qp qp;

	return !xa_qp_find(qps->instance, lqpn, &qp) && qp.requests;
}

int cm_qps_find_mr(struct cm_qps *qps, const struct cm_offer *offer, struct xa_mr *mr)
{
	return lock(qps) ? -1 : xa_mr_find(qps->instance, offer->mr, mr);
}

int cm_qps_end_turn(struct cm_qps *qps)
{
	release(qps);
	if (qps->locked)
		xa_instance_unlock(qps->instance);
	qps->locked = false;
	return qps->lost ? -1 : 0;
}
