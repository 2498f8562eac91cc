/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qps.h - queue pairs of an instance: connection, teardown, a look at them.
 *
 * The map `qps` is mapped into this process, so a live QP is changed by a compare-and-swap of its control
 * word, as abi.h says. A QP whose state is RESET is free.
 *
 * All functions return 0, or -1 with xa_error(), unless they say otherwise.
 */
#ifndef XATOMIC_LIB_QPS_H
#define XATOMIC_LIB_QPS_H

#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "instance.h"

struct xa_qp_request {
	struct xa_ip peer;
	struct xa_ip local; /* of the same family */
	uint32_t rqpn;      /* 24 bits */
	uint32_t rq_psn;    /* first PSN that the peer will send, 24 bits */
	uint32_t pdn;
	uint8_t depth; /* 1-128; rounded up to a power of two */
	uint8_t access;
};

/* Makes a QP that is ready to receive; *qp becomes a copy. The instance is locked exclusively. */
int xa_qp_add(const struct xa_instance *instance, const struct xa_qp_request *request,
	      struct xa_qp *qp);

/* Takes a QP down. When it returns no packet is in it any more. */
int xa_qp_del(const struct xa_instance *instance, uint32_t lqpn);

/*
 * The same in two steps, so that many can share the second one, which waits: no new packet gets into the QP;
 * those that are in it are out, and what is left of it is gone. The lock must be held over both.
 */
int xa_qp_retire(const struct xa_instance *instance, uint32_t lqpn);
int xa_qp_release(const struct xa_instance *instance, const uint32_t *lqpns, size_t count);

/* From now on requests of the peer are answered by NAKs; those that a packet is at may still be executed. */
int xa_qp_revoke(const struct xa_instance *instance, uint32_t lqpn);

/* Back to ready, whatever its state: next PSN `rq_psn`, MSN 0, nothing to replay. Counters stay. */
int xa_qp_reset(const struct xa_instance *instance, uint32_t lqpn, uint32_t rq_psn,
		struct xa_qp *qp);

/* A copy of the QP as it was at one moment between two packets. */
int xa_qp_find(const struct xa_instance *instance, uint32_t lqpn, struct xa_qp *qp);

/* Such copies of all QPs, by index. *list is to be freed. */
int xa_qp_list(const struct xa_instance *instance, struct xa_qp **list, size_t *count);

/* How many there are. */
uint32_t xa_qp_count(const struct xa_instance *instance);

#endif
