/* SPDX-License-Identifier: BSD-2-Clause */
/* What the control plane's operations mean to the reference responder. */
#include "model.h"

void model_qp_add(struct model *m, unsigned slot, const struct model_qp_attr *attr)
{
	m->qps[slot] = (struct model_qp){
		.attr = *attr,
		.used = true,
		.epsn = attr->psn,
		.msn = attr->msn,
	};
}

void model_qp_del(struct model *m, unsigned slot)
{
	m->qps[slot].used = false;
}

/* The QP's counters and its last NAK outlive a reset. */
void model_qp_reset(struct model *m, unsigned slot, uint32_t psn)
{
	struct model_qp *qp = &m->qps[slot];

	qp->epsn = psn;
	qp->error = false;
	if (m->fault != MODEL_FAULT_msn_after_reset)
		qp->msn = 0;
	if (m->fault != MODEL_FAULT_sequence_after_reset)
		qp->nak_sent = false;
	if (m->fault != MODEL_FAULT_window_after_reset)
		qp->saved_count = 0;
}

void model_qp_forget(struct model *m, unsigned slot)
{
	m->qps[slot].saved_count = 0;
}

bool model_qp_forget_psn(struct model *m, unsigned slot, uint32_t psn)
{
	struct model_qp *qp = &m->qps[slot];
	unsigned kept = 0, before = qp->saved_count;

	for (unsigned i = 0; i < qp->saved_count; i++)
		if (qp->saved[i].psn != psn)
			qp->saved[kept++] = qp->saved[i];
	qp->saved_count = kept;
	return kept < before;
}

void model_mr_add(struct model *m, unsigned slot, const struct model_mr_attr *attr)
{
	m->mrs[slot] = (struct model_mr){.attr = *attr, .used = true, .mapped = true};
}

void model_mr_unmap(struct model *m, unsigned slot)
{
	m->mrs[slot].mapped = false;
}

void model_mr_del(struct model *m, unsigned slot)
{
	m->mrs[slot].used = false;
	m->mrs[slot].mapped = false;
}

#define FAULT_NAME(name, meaning)    #name,
#define FAULT_MEANING(name, meaning) meaning,

const char *model_fault_name(enum model_fault fault)
{
	static const char *const names[] = {MODEL_FAULTS(FAULT_NAME)};

	return names[fault];
}

const char *model_fault_meaning(enum model_fault fault)
{
	static const char *const meanings[] = {MODEL_FAULTS(FAULT_MEANING)};

	return meanings[fault];
}
