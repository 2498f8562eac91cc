/* SPDX-License-Identifier: BSD-2-Clause */
/* What the control plane does, on the real maps and in the model, in the order in which it does it. */
#include <arpa/inet.h>
#include <string.h>

#include "harness.h"
#include "user/lib/icrc.h"

enum { KEY_STEP = 1 };

static struct xa_qp *real_qp(struct harness *h, unsigned slot)
{
	return target_qp(h->target, h->gen.qp_index[slot]);
}

static void set_qp(struct harness *h, unsigned slot, const struct xa_qp *qp)
{
	*real_qp(h, slot) = *qp;
	h->control[h->gen.qp_index[slot]] = *qp;
}

static void empty_window(struct harness *h, uint32_t qpn)
{
	memset(&h->window, 0, sizeof(h->window));
	target_window_put(h->target, qpn, &h->window);
}

static void qp_add(struct harness *h, unsigned slot, const struct model_qp_attr *attr)
{
	struct xa_qp qp = {
		.ctl = {.epsn = attr->psn, .state = XA_QP_RTR},
		.qpn = attr->qpn,
		.rqpn = attr->rqpn,
		.msn = attr->msn,
		.pdn = attr->pdn,
		.access = attr->access,
		.family = attr->ipv6 ? XA_IPV6 : XA_IPV4,
		.depth = attr->depth,
		.qpn_step = KEY_STEP,
	};

	qp.ctl.life = real_qp(h, slot)->ctl.life + 1;
	memcpy(qp.peer, attr->peer, sizeof(qp.peer));
	memcpy(qp.local, attr->local, sizeof(qp.local));
	xa_icrc_prefixes(&qp);
	empty_window(h, attr->qpn);
	set_qp(h, slot, &qp);
	model_qp_add(&h->model, slot, attr);
}

static void qp_del(struct harness *h, unsigned slot)
{
	struct xa_qp qp = expected_qp(h, slot);

	qp.ctl.state = XA_QP_RESET;
	set_qp(h, slot, &qp);
	target_window_del(h->target, qp.qpn);
	model_qp_del(&h->model, slot);
}

static void qp_reset(struct harness *h, unsigned slot, uint32_t psn)
{
	struct xa_qp qp = expected_qp(h, slot);

	qp.ctl = (struct xa_qp_ctl){.epsn = psn, .state = XA_QP_RTR, .life = qp.ctl.life + 1};
	qp.msn = 0;
	target_window_del(h->target, qp.qpn);
	empty_window(h, qp.qpn);
	set_qp(h, slot, &qp);
	model_qp_reset(&h->model, slot, psn);
}

static void window_lost(struct harness *h, unsigned slot)
{
	target_window_del(h->target, h->model.qps[slot].attr.qpn);
	model_qp_forget(&h->model, slot);
}

/* What another QP's packet leaves behind when it writes into a window that was its own a moment ago. */
static void spoil_slot(struct harness *h, unsigned slot, uint32_t psn)
{
	const struct model_qp_attr *qp = &h->model.qps[slot].attr;
	struct xa_saved *saved = &h->window.saved[psn % qp->depth];

	if (!model_qp_forget_psn(&h->model, slot, psn))
		return;
	if (!target_window_get(h->target, qp->qpn, &h->window))
		return;
	if (h->step.op == OP_SLOT_TORN) {
		saved->original ^= h->step.value | 1;
	} else {
		saved->qpn ^= h->limits.max_qps;
		saved->guard =
			saved->original ^ xa_replay_mix(saved->qpn, saved->psn, saved->opcode);
	}
	target_window_put(h->target, qp->qpn, &h->window);
}

static void mr_add(struct harness *h, unsigned slot, const struct model_mr_attr *attr)
{
	struct xa_mr mr = {
		.iova = attr->iova,
		.length = attr->length,
		.rkey = attr->rkey,
		.pdn = attr->pdn,
		.state = XA_MR_VALID,
		.access = attr->access,
		.key_step = KEY_STEP,
		.name = "fuzzed",
	};

	memset(target_mr_words(h->target, slot), 0, attr->length);
	target_mr_put(h->target, slot, &mr);
	model_mr_add(&h->model, slot, attr);
}

static void mr_del(struct harness *h, unsigned slot)
{
	struct xa_mr mr;

	target_mr_get(h->target, slot, &mr);
	mr.state = XA_MR_FREE;
	target_mr_put(h->target, slot, &mr);
	model_mr_del(&h->model, slot);
}

static void host_store(struct harness *h, unsigned slot, uint32_t word, uint64_t value)
{
	target_mr_words(h->target, slot)[word] = value;
	h->model.mrs[slot].words[word] = value;
}

static void agent(struct harness *h, bool alive)
{
	target_agent(h->target, alive);
	h->model.agent = alive;
}

void harness_apply(struct harness *h)
{
	const struct step *step = &h->step;

	switch (step->op) {
	case OP_QP_ADD:
		return qp_add(h, step->slot, &step->qp);
	case OP_QP_DEL:
		return qp_del(h, step->slot);
	case OP_QP_RESET:
		return qp_reset(h, step->slot, step->psn);
	case OP_WINDOW_LOST:
		return window_lost(h, step->slot);
	case OP_SLOT_FOREIGN:
	case OP_SLOT_TORN:
		return spoil_slot(h, step->slot, step->psn);
	case OP_MR_ADD:
		return mr_add(h, step->slot, &step->mr);
	case OP_MR_DEL:
		return mr_del(h, step->slot);
	case OP_MR_UNMAP:
		target_mr_unmap(h->target, step->slot);
		return model_mr_unmap(&h->model, step->slot);
	case OP_MR_MAP:
		return target_mr_map(h->target, step->slot, step->words);
	case OP_HOST_STORE:
		return host_store(h, step->slot, step->word, step->value);
	case OP_AGENT:
		return agent(h, step->value);
	case OP_AGENT_READ:
	case OP_PACKET:
		return;
	}
}
