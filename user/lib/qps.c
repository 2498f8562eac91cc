/* SPDX-License-Identifier: BSD-2-Clause */
#include "qps.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "grace.h"
#include "icrc.h"
#include "identity.h"
#include "random.h"

/*
 * A packet holds the lock for less than a microsecond, but its CPU may be one that a hypervisor has taken
 * away. So many turns of sched_yield() are seconds.
 */
enum { PATIENCE = 10 * 1000 * 1000 };

union ctl_word {
	struct xa_qp_ctl ctl;
	uint64_t word;
};

static _Atomic uint64_t *word_of(struct xa_qp *qp)
{
	return (_Atomic uint64_t *)&qp->ctl;
}

static struct xa_qp_ctl read_ctl(struct xa_qp *qp)
{
	union ctl_word now = {.word = atomic_load(word_of(qp))};

	return now.ctl;
}

static int is_stuck(const struct xa_qp *qp)
{
	return xa_error("QP %u has been locked for seconds, so its map is damaged; destroy the "
			"instance and attach again",
			qp->qpn);
}

/*
 * Everything that was written to the QP before is visible to whoever sees the new state. `was` becomes what it
 * took the place of; it may be NULL.
 */
static int set_ctl(struct xa_qp *qp, enum xa_qp_state state, uint32_t epsn, struct xa_qp_ctl *was)
{
	union ctl_word old = {.ctl = read_ctl(qp)}, new;

	for (int tries = 0; tries < PATIENCE; tries++) {
		new.ctl =
			(struct xa_qp_ctl){.epsn = epsn, .state = state, .life = old.ctl.life + 1};
		if (!old.ctl.lock &&
		    atomic_compare_exchange_strong(word_of(qp), &old.word, new.word)) {
			if (was)
				*was = old.ctl;
			return 0;
		}
		sched_yield();
		old.ctl = read_ctl(qp);
	}
	return is_stuck(qp);
}

/*
 * The copy counts when no packet took or gave back the lock meanwhile, as far as the control word can tell:
 * duplicates leave it as it was, and then a counter may be one ahead of the rest.
 */
static int snapshot(struct xa_qp *qp, struct xa_qp *copy)
{
	union ctl_word before, after;

	for (int tries = 0; tries < PATIENCE; tries++) {
		before.ctl = read_ctl(qp);
		memcpy(copy, qp, sizeof(*copy));
		atomic_thread_fence(memory_order_acquire);
		after.ctl = read_ctl(qp);
		copy->ctl = before.ctl;
		if (!before.ctl.lock && before.word == after.word)
			return 0;
	}
	return is_stuck(qp);
}

/* False when there was none: it may have been recycled, or never made. */
static bool delete_window(const struct xa_instance *instance, uint32_t qpn)
{
	return !bpf_map_delete_elem(instance->maps[XA_MAP_REPLAY], &qpn);
}

static int insert_window(const struct xa_instance *instance, uint32_t qpn)
{
	struct xa_window *window = calloc(1, sizeof(*window));
	int status = -1;

	if (window)
		status = bpf_map_update_elem(instance->maps[XA_MAP_REPLAY], &qpn, window, BPF_ANY);
	if (status)
		status = xa_error("no replay window can be had (%s); delete a queue pair, or "
				  "attach with a larger --replay-windows",
				  strerror(errno));
	free(window);
	return status;
}

/* A free index, each with the same chance, or -1. */
static int choose_index(const struct xa_instance *instance)
{
	uint32_t max = instance->config.max_qps, in_use = xa_qp_count(instance), nth;

	if (in_use >= max)
		return xa_error("all %u queue pairs of instance '%s' are in use; delete one with "
				"'xatomic -i %s qp del LQPN'",
				max, instance->name, instance->name);
	nth = xa_random() % (max - in_use);
	for (uint32_t i = 0;; i++)
		if (read_ctl(&instance->qps[i]).state == XA_QP_RESET && !nth--)
			return i;
}

/* Everything but the control word; the QP is free, so no packet looks at it. */
static void fill(struct xa_qp *qp, const struct xa_qp_request *request)
{
	qp->rqpn = request->rqpn;
	qp->pdn = request->pdn;
	qp->access = request->access;
	qp->family = request->peer.family;
	qp->depth = xa_round_up_pow2(request->depth);
	memcpy(qp->peer, request->peer.gid, sizeof(qp->peer));
	memcpy(qp->local, request->local.gid, sizeof(qp->local));
	qp->msn = 0;
	qp->requests = qp->replayed = qp->duplicates_dropped = 0;
	qp->sequence_naks = qp->fatal_naks = 0;
	memset(&qp->last_nak, 0, sizeof(qp->last_nak));
	xa_icrc_prefixes(qp);
}

int xa_qp_add(const struct xa_instance *instance, const struct xa_qp_request *request,
	      struct xa_qp *copy)
{
	int index = choose_index(instance);
	struct xa_qp *qp;

	if (index < 0)
		return -1;
	qp = &instance->qps[index];
	/* Of a deletion that did not come to its end, so packets may still be at work with the QP. */
	if (qp->qpn && delete_window(instance, qp->qpn) && xa_grace_period())
		return -1;
	xa_next_qpn(qp, index, instance->config.max_qps);
	fill(qp, request);
	if (insert_window(instance, qp->qpn))
		return -1;
	if (set_ctl(qp, XA_QP_RTR, request->rq_psn, NULL)) {
		delete_window(instance, qp->qpn);
		return -1;
	}
	return snapshot(qp, copy);
}

static struct xa_qp *look_up(const struct xa_instance *instance, uint32_t lqpn)
{
	struct xa_qp *qp = &instance->qps[lqpn & (instance->config.max_qps - 1)];

	if (lqpn && qp->qpn == lqpn && read_ctl(qp).state != XA_QP_RESET)
		return qp;
	xa_error("there is no QP %u in instance '%s'; 'xatomic -i %s qp show' lists them", lqpn,
		 instance->name, instance->name);
	return NULL;
}

int xa_qp_retire(const struct xa_instance *instance, uint32_t lqpn)
{
	struct xa_qp *qp = look_up(instance, lqpn);

	return qp ? set_ctl(qp, XA_QP_RESET, 0, NULL) : -1;
}

int xa_qp_release(const struct xa_instance *instance, const uint32_t *lqpns, size_t count)
{
	if (xa_grace_period())
		return -1;
	for (size_t i = 0; i < count; i++)
		delete_window(instance, lqpns[i]);
	return 0;
}

/* Takes packets away from a QP; NULL with xa_error(), and then it is as it was but for packets lost. */
static struct xa_qp *suspend(const struct xa_instance *instance, uint32_t lqpn,
			     struct xa_qp_ctl *was)
{
	struct xa_qp *qp = look_up(instance, lqpn);

	if (!qp || set_ctl(qp, XA_QP_RESET, 0, was))
		return NULL;
	if (!xa_grace_period())
		return qp;
	set_ctl(qp, was->state, was->epsn, NULL);
	return NULL;
}

int xa_qp_del(const struct xa_instance *instance, uint32_t lqpn)
{
	struct xa_qp_ctl was;

	if (!suspend(instance, lqpn, &was))
		return -1;
	delete_window(instance, lqpn);
	return 0;
}

int xa_qp_revoke(const struct xa_instance *instance, uint32_t lqpn)
{
	const uint8_t remote = XA_ACCESS_ATOMIC | XA_ACCESS_READ | XA_ACCESS_WRITE;
	struct xa_qp *qp = look_up(instance, lqpn);

	if (!qp)
		return -1;
	/* A byte that stands for itself, and that nobody else changes while the QP lives. */
	__atomic_and_fetch(&qp->access, ~remote, __ATOMIC_RELAXED);
	return 0;
}

int xa_qp_reset(const struct xa_instance *instance, uint32_t lqpn, uint32_t rq_psn,
		struct xa_qp *copy)
{
	struct xa_qp_ctl was;
	struct xa_qp *qp = suspend(instance, lqpn, &was);

	if (!qp)
		return -1;
	/* Takes the place of the old one, which stays when it cannot. */
	if (insert_window(instance, lqpn)) {
		set_ctl(qp, was.state, was.epsn, NULL);
		return -1;
	}
	qp->msn = 0;
	return set_ctl(qp, XA_QP_RTR, rq_psn, NULL) ? -1 : snapshot(qp, copy);
}

int xa_qp_find(const struct xa_instance *instance, uint32_t lqpn, struct xa_qp *copy)
{
	struct xa_qp *qp = look_up(instance, lqpn);

	return qp ? snapshot(qp, copy) : -1;
}

int xa_qp_list(const struct xa_instance *instance, struct xa_qp **list, size_t *count)
{
	*count = 0;
	*list = calloc(instance->config.max_qps, sizeof(**list));
	if (!*list)
		return xa_error("xatomic is out of memory; try again when more is free");
	for (uint32_t i = 0; i < instance->config.max_qps; i++) {
		if (read_ctl(&instance->qps[i]).state == XA_QP_RESET)
			continue;
		if (snapshot(&instance->qps[i], &(*list)[(*count)++])) {
			free(*list);
			return -1;
		}
	}
	return 0;
}

uint32_t xa_qp_count(const struct xa_instance *instance)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < instance->config.max_qps; i++)
		count += read_ctl(&instance->qps[i]).state != XA_QP_RESET;
	return count;
}
