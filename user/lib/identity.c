/* SPDX-License-Identifier: BSD-2-Clause */
#include "identity.h"

#include <stdbool.h>

#include "random.h"
#include "xatomic/wire.h"

uint32_t xa_round_up_pow2(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power <<= 1;
	return power;
}

/*
 * Generation 0 looks like a plain index, so it is left out as well. The last index has 0xffffff to avoid
 * and keeps it instead: with the smallest generation, 8 bits, each index has 255 QPNs.
 */
static bool is_usable_qpn(uint32_t qpn, uint32_t index, uint32_t max_qps)
{
	if (qpn <= XA_QPN_GSI || qpn == XA_QPN_MULTICAST)
		return false;
	return qpn >= max_qps || index == max_qps - 1;
}

void xa_next_qpn(struct xa_qp *qp, uint32_t index, uint32_t max_qps)
{
	uint32_t generations = (XA_QPN_MASK + 1) / max_qps;
	uint32_t generation = qp->qpn / max_qps;

	if (!qp->qpn) {
		qp->qpn_step = xa_random() | 1;
		generation = xa_random();
	}
	do {
		generation = (generation + qp->qpn_step) % generations;
		qp->qpn = generation * max_qps + index;
	} while (!is_usable_qpn(qp->qpn, index, max_qps));
}

void xa_next_rkey(struct xa_mr *mr, uint32_t index)
{
	uint8_t key = mr->rkey;

	if (!mr->rkey) {
		mr->key_step = (xa_random() & 0xff) | 1;
		key = xa_random();
	}
	do {
		key += mr->key_step;
		mr->rkey = index << 8 | key;
	} while (!mr->rkey);
}
