/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp_table.h"

#include <errno.h>
#include <stdlib.h>

#include "qp.h"

enum { FIRST_SIZE = 16 };

/* Where the QPN is, or the empty slot where it would be. There is always an empty one. */
static struct xatomic_qp **find_slot(const struct xa_qp_table *table, uint32_t lqpn)
{
	const uint32_t spread = 0x9e3779b1; /* 2^32 / golden ratio: neighbours end up far apart */
	uint32_t at = (lqpn * spread) >> 8;
	struct xatomic_qp **slot;

	do {
		slot = &table->slots[at++ & (table->size - 1)];
	} while (*slot && (*slot)->path.lqpn != lqpn);
	return slot;
}

static int resize(struct xa_qp_table *table, uint32_t size)
{
	struct xa_qp_table old = *table;

	table->slots = calloc(size, sizeof(*table->slots));
	if (!table->slots) {
		*table = old;
		return -ENOMEM;
	}
	table->size = size;
	for (uint32_t i = 0; i < old.size; i++)
		if (old.slots[i])
			*find_slot(table, old.slots[i]->path.lqpn) = old.slots[i];
	free(old.slots);
	return 0;
}

int xa_qp_table_add(struct xa_qp_table *table, struct xatomic_qp *qp)
{
	struct xatomic_qp **slot;

	/* At most half full, so that searches are short. */
	if (2 * (table->count + 1) > table->size &&
	    resize(table, table->size ? 2 * table->size : FIRST_SIZE))
		return -ENOMEM;
	slot = find_slot(table, qp->path.lqpn);
	if (*slot)
		return -EEXIST;
	*slot = qp;
	table->count++;
	return 0;
}

/* Those behind the emptied slot are put in anew, or a search would end before them. */
void xa_qp_table_remove(struct xa_qp_table *table, struct xatomic_qp *qp)
{
	struct xatomic_qp **slot = find_slot(table, qp->path.lqpn);
	uint32_t at = slot - table->slots;

	*slot = NULL;
	table->count--;
	while ((qp = table->slots[++at & (table->size - 1)])) {
		table->slots[at & (table->size - 1)] = NULL;
		*find_slot(table, qp->path.lqpn) = qp;
	}
}

struct xatomic_qp *xa_qp_table_find(const struct xa_qp_table *table, uint32_t lqpn)
{
	return table->size ? *find_slot(table, lqpn) : NULL;
}

void xa_qp_table_free(struct xa_qp_table *table)
{
	free(table->slots);
}
