/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fill(struct xatomic_qp *qp, const struct xatomic_qp_attr *attr)
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
	int error = xa_engine_init(&qp->engine, &engine);

	if (error)
		return error;
	error = xa_device_add(qp->device, qp);
	if (error)
		xa_engine_free(&qp->engine);
	return error;
}

int xa_qp_create(const struct xatomic_qp_attr *attr, const struct xa_path *path,
		 struct xatomic_device *device, struct xatomic_qp **qp)
{
	struct xatomic_qp *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	new->path = *path;
	xa_template_init(&new->template, path);
	new->device = device;
	new->port_fd = -1;
	error = fill(new, attr);
	if (error)
		free(new);
	else
		*qp = new;
	return error;
}

void xatomic_qp_close(struct xatomic_qp *qp)
{
	if (!qp)
		return;
	xa_device_remove(qp->device, qp);
	if (qp->owns_device)
		xatomic_device_close(qp->device);
	if (qp->port_fd >= 0)
		close(qp->port_fd);
	xa_engine_free(&qp->engine);
	free(qp);
}

int xatomic_post_send(struct xatomic_qp *qp, const struct xatomic_wr *wr)
{
	int error = xa_engine_post(&qp->engine, wr);

	if (error)
		return error;
	xa_device_note_busy(qp->device, qp);
	/* In error, it has completed already. */
	xa_device_note_ready(qp->device, qp);
	return 0;
}

int xatomic_ring_doorbell(struct xatomic_qp *qp)
{
	xa_engine_doorbell(&qp->engine);
	return xa_device_transmit(qp->device);
}

int xatomic_poll_cq(struct xatomic_qp *qp, int n, struct xatomic_wc *wc)
{
	return xa_device_poll(qp->device, qp, n, wc);
}

int xatomic_wait(struct xatomic_qp *qp, int timeout_ms)
{
	return xa_device_wait(qp->device, qp, timeout_ms);
}

int xatomic_qp_fd(const struct xatomic_qp *qp)
{
	return xatomic_device_fd(qp->device);
}

uint64_t xatomic_qp_deadline(const struct xatomic_qp *qp)
{
	uint64_t now = qp->device->clock(), deadline = qp->engine.deadline;

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
