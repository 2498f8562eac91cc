/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "harness.h"

static void print_gid(const char *what, const uint8_t *gid)
{
	printf(" %s ", what);
	for (int i = 0; i < 16; i++)
		printf("%02x", gid[i]);
}

static void print_qp_add(const struct step *step)
{
	const struct model_qp_attr *qp = &step->qp;

	printf("qp add: qpn %#x rqpn %#x psn %#x msn %u pd %#x access %u depth %u %s", qp->qpn,
	       qp->rqpn, qp->psn, qp->msn, qp->pdn, qp->access, qp->depth,
	       qp->ipv6 ? "ipv6" : "ipv4");
	print_gid("peer", qp->peer);
	print_gid("local", qp->local);
}

static void print_mr_add(const struct step *step)
{
	const struct model_mr_attr *mr = &step->mr;

	printf("mr add: rkey %#x pd %#x access %u iova %#" PRIx64 " length %" PRIu64, mr->rkey,
	       mr->pdn, mr->access, mr->iova, mr->length);
}

static void print_frame(const struct step *step)
{
	printf("packet%s, %zu bytes: ", step->locked ? " while the QP is locked" : "", step->len);
	for (size_t i = 0; i < step->len; i++)
		printf("%02x", step->frame[i]);
}

static void print_op(const struct step *step)
{
	switch (step->op) {
	case OP_PACKET:
		return print_frame(step);
	case OP_QP_ADD:
		return print_qp_add(step);
	case OP_MR_ADD:
		return print_mr_add(step);
	case OP_QP_DEL:
		printf("qp del");
		return;
	case OP_QP_RESET:
		printf("qp reset: psn %#x", step->psn);
		return;
	case OP_WINDOW_LOST:
		printf("replay window lost");
		return;
	case OP_SLOT_FOREIGN:
		printf("saved atomic of psn %#x overwritten by another QP", step->psn);
		return;
	case OP_SLOT_TORN:
		printf("saved atomic of psn %#x torn", step->psn);
		return;
	case OP_MR_DEL:
		printf("mr del");
		return;
	case OP_MR_UNMAP:
		printf("mr del, half-way: words taken out");
		return;
	case OP_MR_MAP:
		printf("mr: %u new words", step->words);
		return;
	case OP_HOST_STORE:
		printf("host stores %#" PRIx64 " in word %u", step->value, step->word);
		return;
	case OP_AGENT:
		printf("%s takes packets for QP 1", step->value ? "somebody" : "nobody");
		return;
	case OP_AGENT_READ:
		printf("packets for QP 1 are taken");
		return;
	}
}

static const char *owner(enum op op)
{
	if (op >= OP_AGENT)
		return "agent";
	return op >= OP_MR_ADD ? "mr" : "qp";
}

void print_step(const struct harness *h, uint32_t number)
{
	printf("# step %u: ", number);
	if (h->step.op != OP_PACKET)
		printf("%s slot %u ", owner(h->step.op), h->step.slot);
	print_op(&h->step);
	printf("\n");
}
