/* SPDX-License-Identifier: BSD-2-Clause */
#include "hasty.h"
#include "lib/grace.h"

#define xa_grace_period() 0

#include "../../../user/lib/qps.c"

int hasty_qp_del(const struct xa_instance *instance, uint32_t lqpn)
{
	return xa_qp_del(instance, lqpn);
}

int hasty_qp_reset(const struct xa_instance *instance, uint32_t lqpn, uint32_t rq_psn,
		   struct xa_qp *qp)
{
	return xa_qp_reset(instance, lqpn, rq_psn, qp);
}
