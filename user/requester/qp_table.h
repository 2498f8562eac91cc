/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp_table.h - the queue pairs of a device by their local QPNs.
 */
#ifndef XATOMIC_REQUESTER_QP_TABLE_H
#define XATOMIC_REQUESTER_QP_TABLE_H

#include <stdint.h>

struct xatomic_qp;

/* Open addressing: a queue pair is at the slot of its QPN or, when that is taken, soon behind it. */
struct xa_qp_table {
	struct xatomic_qp **slots; /* NULL: empty */
	uint32_t size;             /* a power of two, or 0 */
	uint32_t count;
};

/* Returns 0, -ENOMEM, or -EEXIST when there is one with this local QPN. */
int xa_qp_table_add(struct xa_qp_table *table, struct xatomic_qp *qp);

/* It must be there. */
void xa_qp_table_remove(struct xa_qp_table *table, struct xatomic_qp *qp);

/* NULL: there is none. */
struct xatomic_qp *xa_qp_table_find(const struct xa_qp_table *table, uint32_t lqpn);

void xa_qp_table_free(struct xa_qp_table *table);

#endif
