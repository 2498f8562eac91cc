/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "qp.h"

/* So many frames are sent, or taken in, before the other way has its turn. */
enum { MAX_ROUNDS = 16, MAX_FRAMES = MAX_ROUNDS * XA_BATCH };

static const uint64_t ns_per_s = 1000 * 1000 * 1000, ns_per_ms = 1000 * 1000;

uint64_t xa_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * ns_per_s + now.tv_nsec;
}

int xa_device_create(struct xa_transport *transport, struct xatomic_device **device)
{
	struct xatomic_device *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->transport = transport;
	TAILQ_INIT(&new->busy);
	TAILQ_INIT(&new->ready);
	new->deadline = XA_NEVER;
	new->clock = xa_clock_ns;
	new->allowance = MAX_FRAMES;
	*device = new;
	return 0;
}

void xatomic_device_close(struct xatomic_device *device)
{
	if (!device)
		return;
	device->transport->ops->close(device->transport);
	xa_qp_table_free(&device->table);
	free(device->ifname);
	free(device->netns);
	free(device);
}

int xa_device_add(struct xatomic_device *device, struct xatomic_qp *qp)
{
	const struct xa_transport_ops *ops = device->transport->ops;
	int error = xa_qp_table_add(&device->table, qp);

	if (error)
		return error;
	error = ops->admit(device->transport, &qp->path.local, qp->path.lqpn);
	if (error)
		xa_qp_table_remove(&device->table, qp);
	return error;
}

void xa_device_remove(struct xatomic_device *device, struct xatomic_qp *qp)
{
	device->transport->ops->dismiss(device->transport, &qp->path.local, qp->path.lqpn);
	xa_qp_table_remove(&device->table, qp);
	if (qp->is_busy)
		TAILQ_REMOVE(&device->busy, qp, busy_link);
	if (qp->is_ready)
		TAILQ_REMOVE(&device->ready, qp, ready_link);
}

void xa_device_note_busy(struct xatomic_device *device, struct xatomic_qp *qp)
{
	if (qp->is_busy)
		return;
	qp->is_busy = true;
	TAILQ_INSERT_TAIL(&device->busy, qp, busy_link);
}

void xa_device_note_ready(struct xatomic_device *device, struct xatomic_qp *qp)
{
	if (qp->is_ready || !xa_qp_has_completion(qp))
		return;
	qp->is_ready = true;
	TAILQ_INSERT_TAIL(&device->ready, qp, ready_link);
}

static void note_deadline(struct xatomic_device *device, const struct xatomic_qp *qp)
{
	if (qp->engine.deadline < device->deadline)
		device->deadline = qp->engine.deadline;
}

static int flush(struct xatomic_device *device)
{
	unsigned int n = device->filled;

	device->filled = 0;
	return n ? device->transport->ops->send(device->transport, device->out, n) : 0;
}

static int transmit_one(struct xatomic_device *device, struct xatomic_qp *qp, uint64_t now)
{
	struct xa_request request;
	int error = 0;

	while (!error && device->allowance && xa_engine_next(&qp->engine, now, &request)) {
		struct xa_frame *frame = &device->out[device->filled++];

		device->allowance--;
		xa_frame_build(&qp->template, &request, frame->bytes);
		frame->len = qp->template.len;
		if (device->filled == XA_BATCH)
			error = flush(device);
	}
	note_deadline(device, qp);
	return error;
}

static int transmit(struct xatomic_device *device, uint64_t now)
{
	struct xatomic_qp *qp, *next;
	int error = 0;

	for (qp = TAILQ_FIRST(&device->busy); qp && !error && device->allowance; qp = next) {
		next = TAILQ_NEXT(qp, busy_link);
		error = transmit_one(device, qp, now);
		/* Has more to send, or waits for xatomic_device_doorbell(). */
		if (!device->allowance || qp->engine.posted != qp->engine.rung)
			continue;
		TAILQ_REMOVE(&device->busy, qp, busy_link);
		qp->is_busy = false;
	}
	return error ? error : flush(device);
}

int xa_device_transmit(struct xatomic_device *device)
{
	return transmit(device, device->clock());
}

static void take(struct xatomic_device *device, uint64_t now, const struct xa_frame *frame)
{
	struct xa_response response;
	struct xatomic_qp *qp;
	uint32_t lqpn;

	if (!xa_frame_qpn(frame->bytes, frame->len, &lqpn))
		return;
	qp = xa_qp_table_find(&device->table, lqpn);
	if (!qp)
		return;
	if (!xa_frame_parse(&qp->path, frame->bytes, frame->len, &response)) {
		qp->engine.counters.rejected++;
		return;
	}
	xa_engine_receive(&qp->engine, now, &response);
	xa_device_note_busy(device, qp);
	xa_device_note_ready(device, qp);
	note_deadline(device, qp);
}

/*
 * Has an end, so that a flood of packets cannot keep the timers from their work. Answers to what is sent then
 * will find room: only after all that had arrived has been taken in, many more may be called for.
 */
static int receive(struct xatomic_device *device, uint64_t now)
{
	int n = XA_BATCH;

	for (int round = 0; round < MAX_ROUNDS && n == XA_BATCH; round++) {
		n = device->transport->ops->receive(device->transport, device->in);
		for (int i = 0; i < n; i++)
			take(device, now, &device->in[i]);
		if (n > 0)
			device->allowance += n;
	}
	if (n < XA_BATCH || device->allowance > MAX_FRAMES)
		device->allowance = MAX_FRAMES;
	return n < 0 ? n : 0;
}

static void run_timers(struct xatomic_device *device, uint64_t now)
{
	if (now < device->deadline)
		return;
	device->deadline = XA_NEVER;
	for (uint32_t i = 0; i < device->table.size; i++) {
		struct xatomic_qp *qp = device->table.slots[i];

		if (!qp)
			continue;
		xa_engine_timer(&qp->engine, now);
		xa_device_note_busy(device, qp);
		xa_device_note_ready(device, qp);
		note_deadline(device, qp);
	}
}

/* Responses first: one that has arrived in time counts, however late we come to look. */
static int work(struct xatomic_device *device)
{
	uint64_t now = device->clock();
	int error = receive(device, now);

	if (error)
		return error;
	run_timers(device, now);
	return transmit(device, now);
}

/* Sleeps until something arrives, a timer ends or `end`. Returns 0 or a negative errno. */
static int sleep_until(const struct xatomic_device *device, uint64_t end)
{
	struct pollfd pollfd = {.fd = xatomic_device_fd(device), .events = POLLIN};
	uint64_t now = device->clock(), wake = device->deadline < end ? device->deadline : end;
	uint64_t left = wake > now ? wake - now : 0;
	struct timespec limit = {.tv_sec = left / ns_per_s, .tv_nsec = left % ns_per_s};

	return ppoll(&pollfd, 1, wake == XA_NEVER ? NULL : &limit, NULL) < 0 ? -errno : 0;
}

int xatomic_device_fd(const struct xatomic_device *device)
{
	return device->transport->ops->fd(device->transport);
}

const char *xatomic_device_transport(const struct xatomic_device *device)
{
	return device->transport->ops->name;
}

int xatomic_device_doorbell(struct xatomic_device *device)
{
	struct xatomic_qp *qp;

	for (qp = TAILQ_FIRST(&device->busy); qp; qp = TAILQ_NEXT(qp, busy_link))
		xa_engine_doorbell(&qp->engine);
	return xa_device_transmit(device);
}

static int take_completions(struct xatomic_device *device, int n, struct xatomic_wc *wc)
{
	struct xatomic_qp *qp;
	int taken = 0;

	while (taken < n && (qp = TAILQ_FIRST(&device->ready))) {
		taken += xa_engine_poll(&qp->engine, n - taken, wc + taken);
		if (xa_qp_has_completion(qp))
			break;
		TAILQ_REMOVE(&device->ready, qp, ready_link);
		qp->is_ready = false;
	}
	return taken;
}

static int take_any(struct xatomic_device *device, struct xatomic_qp *qp, int n,
		    struct xatomic_wc *wc)
{
	return qp ? xa_engine_poll(&qp->engine, n, wc) : take_completions(device, n, wc);
}

/* What has completed already needs no system call. */
int xa_device_poll(struct xatomic_device *device, struct xatomic_qp *qp, int n,
		   struct xatomic_wc *wc)
{
	int taken = take_any(device, qp, n, wc), error;

	if (taken)
		return taken;
	error = work(device);
	return error ? error : take_any(device, qp, n, wc);
}

int xatomic_device_poll(struct xatomic_device *device, int n, struct xatomic_wc *wc)
{
	return xa_device_poll(device, NULL, n, wc);
}

/* Has this queue pair a completion, or, when there is none given, any of the device? */
static bool is_ready(const struct xatomic_device *device, const struct xatomic_qp *qp)
{
	if (qp)
		return xa_qp_has_completion(qp);
	/* One whose completions have been polled by its own function may still be in the list. */
	for (qp = TAILQ_FIRST(&device->ready); qp; qp = TAILQ_NEXT(qp, ready_link))
		if (xa_qp_has_completion(qp))
			return true;
	return false;
}

int xa_device_wait(struct xatomic_device *device, const struct xatomic_qp *qp, int timeout_ms)
{
	uint64_t end = timeout_ms < 0 ? XA_NEVER : device->clock() + timeout_ms * ns_per_ms;
	int error;

	while (!is_ready(device, qp)) {
		error = work(device);
		if (error)
			return error;
		if (is_ready(device, qp))
			break;
		if (device->clock() >= end)
			return 0;
		if (!device->allowance)
			continue;
		error = sleep_until(device, end);
		if (error)
			return error;
	}
	return 1;
}

int xatomic_device_wait(struct xatomic_device *device, int timeout_ms)
{
	return xa_device_wait(device, NULL, timeout_ms);
}
