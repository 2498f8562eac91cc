/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 16 };

static const uint64_t ns_per_s = 1000 * 1000 * 1000, ns_per_ms = 1000 * 1000;

uint64_t xa_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * ns_per_s + now.tv_nsec;
}

int xa_qp_create(const struct xatomic_qp_attr *attr, const struct xa_path *path,
		 struct xa_transport *transport, struct xatomic_qp **qp)
{
	struct xa_engine_attr engine = {
		.qp_num = attr->qp_num,
		.sq_psn = attr->sq_psn,
		.max_send_wr = attr->max_send_wr,
		.max_rd_atomic = attr->max_rd_atomic,
		.timeout_ns = xa_timeout_ns(attr->timeout),
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
	};
	struct xatomic_qp *new = calloc(1, sizeof(*new));

	if (!new || xa_engine_init(&new->engine, &engine)) {
		free(new);
		return -ENOMEM;
	}
	new->path = *path;
	xa_template_init(&new->template, path);
	new->transport = transport;
	new->port_fd = -1;
	new->clock = xa_clock_ns;
	*qp = new;
	return 0;
}

void xatomic_qp_close(struct xatomic_qp *qp)
{
	if (!qp)
		return;
	qp->transport->ops->close(qp->transport);
	if (qp->port_fd >= 0)
		close(qp->port_fd);
	xa_engine_free(&qp->engine);
	free(qp->netns);
	free(qp);
}

int xatomic_post_send(struct xatomic_qp *qp, const struct xatomic_wr *wr)
{
	return xa_engine_post(&qp->engine, wr);
}

static int transmit(struct xatomic_qp *qp, uint64_t now)
{
	struct xa_request request;
	unsigned int n;
	int error;

	do {
		for (n = 0; n < XA_BATCH && xa_engine_next(&qp->engine, now, &request); n++) {
			xa_frame_build(&qp->template, &request, qp->frames[n].bytes);
			qp->frames[n].len = qp->template.len;
		}
		error = n ? qp->transport->ops->send(qp->transport, qp->frames, n) : 0;
	} while (!error && n == XA_BATCH);
	return error;
}

static void take(struct xatomic_qp *qp, uint64_t now, const struct xa_frame *frame)
{
	struct xa_response response;

	if (xa_frame_parse(&qp->path, frame->bytes, frame->len, &response))
		xa_engine_receive(&qp->engine, now, &response);
	else
		qp->engine.counters.rejected++;
}

/* Has an end, so that a flood of packets cannot keep the timer from its work. */
static int receive(struct xatomic_qp *qp, uint64_t now)
{
	int n = XA_BATCH;

	for (int round = 0; round < MAX_ROUNDS && n == XA_BATCH; round++) {
		n = qp->transport->ops->receive(qp->transport, qp->frames);
		for (int i = 0; i < n; i++)
			take(qp, now, &qp->frames[i]);
	}
	return n < 0 ? n : 0;
}

int xatomic_ring_doorbell(struct xatomic_qp *qp)
{
	xa_engine_doorbell(&qp->engine);
	return transmit(qp, qp->clock());
}

/* Responses first: one that has arrived in time counts, however late we come to look. */
static int work(struct xatomic_qp *qp)
{
	uint64_t now = qp->clock();
	int error = receive(qp, now);

	if (error)
		return error;
	xa_engine_timer(&qp->engine, now);
	return transmit(qp, now);
}

/* What has completed already needs no system call. */
int xatomic_poll_cq(struct xatomic_qp *qp, int n, struct xatomic_wc *wc)
{
	int taken = xa_engine_poll(&qp->engine, n, wc), error;

	if (taken)
		return taken;
	error = work(qp);
	return error ? error : xa_engine_poll(&qp->engine, n, wc);
}

static bool has_completion(const struct xatomic_qp *qp)
{
	return qp->engine.cq_head < qp->engine.cq_tail;
}

/* Sleeps until something arrives, the engine's deadline or `end`. Returns 0 or a negative errno. */
static int sleep_until(const struct xatomic_qp *qp, uint64_t end)
{
	struct pollfd pollfd = {.fd = xatomic_qp_fd(qp), .events = POLLIN};
	uint64_t now = qp->clock(), wake = qp->engine.deadline < end ? qp->engine.deadline : end;
	uint64_t left = wake > now ? wake - now : 0;
	struct timespec limit = {.tv_sec = left / ns_per_s, .tv_nsec = left % ns_per_s};

	return ppoll(&pollfd, 1, wake == XA_NEVER ? NULL : &limit, NULL) < 0 ? -errno : 0;
}

int xatomic_wait(struct xatomic_qp *qp, int timeout_ms)
{
	uint64_t end = timeout_ms < 0 ? XA_NEVER : qp->clock() + timeout_ms * ns_per_ms;
	int error;

	while (!has_completion(qp)) {
		error = work(qp);
		if (error)
			return error;
		if (has_completion(qp))
			break;
		if (qp->clock() >= end)
			return 0;
		error = sleep_until(qp, end);
		if (error)
			return error;
	}
	return 1;
}

int xatomic_qp_fd(const struct xatomic_qp *qp)
{
	return qp->transport->ops->fd(qp->transport);
}

uint64_t xatomic_qp_deadline(const struct xatomic_qp *qp)
{
	uint64_t now = qp->clock(), deadline = qp->engine.deadline;

	if (deadline == XA_NEVER)
		return UINT64_MAX;
	return deadline > now ? deadline - now : 0;
}

void xatomic_qp_query(const struct xatomic_qp *qp, struct xatomic_qp_info *info)
{
	*info = (struct xatomic_qp_info){
		.state = qp->engine.state,
		.next_psn = xa_engine_psn(&qp->engine, qp->engine.posted),
		.open_psn = xa_engine_psn(&qp->engine, qp->engine.acked),
		.timeout_ns = qp->engine.attr.timeout_ns,
		.counters = qp->engine.counters,
	};
	memcpy(&info->local, qp->path.local.gid, sizeof(info->local));
}
