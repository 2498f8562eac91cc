/* SPDX-License-Identifier: BSD-2-Clause */
#include "target.h"

#include <string.h>

/* Endless RNR retries, which verbs programs like, would make a command that never ends. */
enum { RNR_RETRY = 6 };

struct req_target req_target_of(const struct req_settings *settings)
{
	return (struct req_target){
		.peer = settings->peer,
		.local = {.family = XA_IPV6},
		.lqpn = settings->lqpn,
		.rqpn = settings->rqpn,
		.sq_psn = settings->sq_psn,
	};
}

struct xatomic_qp *req_open(const struct req_settings *settings, const struct req_target *target,
			    struct xatomic_device *device, uint32_t window)
{
	struct xatomic_qp_attr attr;

	xatomic_qp_attr_init(&attr);
	attr.ifname = settings->dev;
	attr.netns = settings->netns;
	attr.transport = req_transport(settings, XATOMIC_TRANSPORT_AF_PACKET);
	attr.device = device;
	memcpy(&attr.peer, target->peer.gid, sizeof(attr.peer));
	memcpy(&attr.local, target->local.gid, sizeof(attr.local));
	attr.qp_num = target->lqpn;
	attr.dest_qp_num = target->rqpn;
	attr.sq_psn = target->sq_psn;
	attr.max_rd_atomic = window;
	attr.max_send_wr = window;
	attr.timeout = req_timeout(settings->timeout_us);
	attr.retry_cnt = settings->retry;
	attr.rnr_retry = RNR_RETRY;
	return xatomic_qp_open(&attr);
}
