/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many queue pairs on one device: who gets which frame, common batches, common completions, the timers of all.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/icrc.h"
#include "requester/qp.h"
#include "xatomic/wire.h"

enum { ETH_LEN = 14, L3_LEN = 28, ROCE = ETH_LEN + L3_LEN, QUEUE = 4096, MANY = 1000 };
enum { FIRST_LQPN = 0x100, RQPN = 0x11, TIMEOUT_NS = 67108864 };

/* What is sent is answered with the number of the answer, or lost. */
static struct wire {
	struct xa_transport transport; /* must come first */
	struct xa_frame queue[QUEUE];
	uint32_t head, tail;
	unsigned int batches, admitted;
	int admit_error;
	uint64_t answers;
	bool deaf;
} wire;

static uint64_t fake_now;

static uint64_t fake_clock(void)
{
	return fake_now;
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static void put32(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = value >> (24 - 8 * i);
}

static void set_ip_sum(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = ip[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	ip[10] = sum >> 8;
	ip[11] = sum;
}

/* The test's rkeys are the requester's QPNs, which no request carries otherwise. */
static void answer(const struct xa_frame *request)
{
	struct xa_frame *frame = &wire.queue[wire.tail++ % QUEUE];
	uint8_t *ip = frame->bytes + ETH_LEN, *bth = frame->bytes + ROCE;
	uint32_t icrc;

	*frame = *request;
	frame->len = ROCE + XA_ATOMIC_ACK_LEN;
	ip[3] = L3_LEN + XA_ATOMIC_ACK_LEN;
	memcpy(ip + 12, request->bytes + ETH_LEN + 16, 4);
	memcpy(ip + 16, request->bytes + ETH_LEN + 12, 4);
	set_ip_sum(ip);
	ip[25] = 8 + XA_ATOMIC_ACK_LEN;
	bth[0] = XA_OP_ATOMIC_ACKNOWLEDGE;
	put32(bth + 4, get32(request->bytes + ROCE + 20));
	put32(bth + 8, get32(request->bytes + ROCE + 8) & XA_PSN_MASK);
	put32(bth + 12, (uint32_t)XA_SYN_ACK_UNLIMITED << 24);
	put32(bth + 16, 0);
	put32(bth + 20, wire.answers++);
	icrc = xa_icrc(ip, bth, XA_ATOMIC_ACK_LEN - XA_ICRC_LEN);
	for (int i = 0; i < XA_ICRC_LEN; i++)
		bth[XA_ATOMIC_ACK_LEN - XA_ICRC_LEN + i] = icrc >> 8 * i;
}

static int fake_send(struct xa_transport *transport, const struct xa_frame *frames, unsigned int n)
{
	(void)transport;
	assert_in_range(n, 1, XA_BATCH);
	wire.batches++;
	for (unsigned int i = 0; i < n && !wire.deaf; i++)
		answer(&frames[i]);
	return 0;
}

static int fake_receive(struct xa_transport *transport, struct xa_frame *frames)
{
	int n = 0;

	(void)transport;
	while (n < XA_BATCH && wire.head < wire.tail)
		frames[n++] = wire.queue[wire.head++ % QUEUE];
	return n;
}

static int fake_fd(const struct xa_transport *transport)
{
	(void)transport;
	return -1;
}

static int fake_admit(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn)
{
	(void)transport;
	(void)local;
	(void)lqpn;
	if (wire.admit_error)
		return wire.admit_error;
	wire.admitted++;
	return 0;
}

static void fake_dismiss(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn)
{
	(void)transport;
	(void)local;
	(void)lqpn;
	wire.admitted--;
}

static void fake_close(struct xa_transport *transport)
{
	(void)transport;
}

static const struct xa_transport_ops fake_ops = {
	.name = "fake",
	.send = fake_send,
	.receive = fake_receive,
	.fd = fake_fd,
	.admit = fake_admit,
	.dismiss = fake_dismiss,
	.close = fake_close,
};

static struct xatomic_device *device;
static struct xatomic_qp *qps[MANY];
static uint64_t replies[MANY];

static int set_up(void **state)
{
	(void)state;
	memset(&wire, 0, sizeof(wire));
	memset(qps, 0, sizeof(qps));
	wire.transport.ops = &fake_ops;
	fake_now = 1;
	assert_int_equal(xa_device_create(&wire.transport, &device), 0);
	device->clock = fake_clock;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < MANY; i++)
		xatomic_qp_close(qps[i]);
	assert_int_equal(wire.admitted, 0);
	xatomic_device_close(device);
	return 0;
}

static int open_qp(int i, uint32_t lqpn)
{
	struct xa_path path = {.lqpn = lqpn, .rqpn = RQPN, .pkey = 0xffff};
	struct xatomic_qp_attr attr;

	xatomic_qp_attr_init(&attr);
	attr.qp_num = lqpn;
	attr.dest_qp_num = RQPN;
	attr.max_rd_atomic = 4;
	attr.max_send_wr = 4;
	attr.retry_cnt = 1;
	assert_true(xa_ip_parse(&path.local, "10.0.0.1"));
	assert_true(xa_ip_parse(&path.peer, "10.0.0.2"));
	return xa_qp_create(&attr, &path, device, &qps[i]);
}

static void open_many(int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(open_qp(i, FIRST_LQPN + i), 0);
}

static void post(int i)
{
	assert_int_equal(
		xatomic_post_send(qps[i],
				  &(struct xatomic_wr){.wr_id = i,
						       .opcode = XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
						       .send_flags = XATOMIC_SEND_SIGNALED,
						       .rkey = qps[i]->path.lqpn,
						       .reply = &replies[i]}),
		0);
}

/* The order of posting is that of sending, and so of the answers' numbers here. */
static void test_each_gets_its_own_answer(void **state)
{
	struct xatomic_wc wc[100];
	int done = 0, n;

	(void)state;
	open_many(MANY);
	for (int i = 0; i < MANY; i++)
		post(i);
	assert_int_equal(wire.batches, 0);
	assert_int_equal(xatomic_device_doorbell(device), 0);
	assert_int_equal(wire.batches, (MANY + XA_BATCH - 1) / XA_BATCH);
	while (done < MANY) {
		n = xatomic_device_poll(device, 100, wc);
		assert_in_range(n, 1, 100);
		for (int i = 0; i < n; i++, done++) {
			assert_int_equal(wc[i].status, XATOMIC_WC_SUCCESS);
			assert_int_equal(wc[i].qp_num, FIRST_LQPN + wc[i].wr_id);
			assert_int_equal(replies[wc[i].wr_id], wc[i].wr_id);
		}
	}
	assert_int_equal(xatomic_device_poll(device, 100, wc), 0);
}

/* Answers that nobody takes in would have no room in the end. */
static void test_receiving_has_its_turn(void **state)
{
	enum { EACH = 4, ONE_WAY = 1024 };
	struct xatomic_wc wc[100];
	uint32_t sent = 0;
	int done = 0, n;

	(void)state;
	open_many(MANY);
	for (int i = 0; i < EACH * MANY; i++)
		post(i / EACH);
	assert_int_equal(xatomic_device_doorbell(device), 0);
	while (done < EACH * MANY) {
		assert_in_range(wire.tail - sent, 0, ONE_WAY);
		assert_in_range(wire.tail - wire.head, 0, 2 * ONE_WAY);
		sent = wire.tail;
		assert_int_equal(xatomic_device_wait(device, -1), 1);
		n = xatomic_device_poll(device, 100, wc);
		assert_in_range(n, 1, 100);
		for (int i = 0; i < n; i++)
			assert_int_equal(wc[i].status, XATOMIC_WC_SUCCESS);
		done += n;
	}
	assert_int_equal(wire.tail, EACH * MANY);
}

/* One doorbell does not send what waits for another. */
static void test_a_doorbell_is_its_queue_pairs(void **state)
{
	struct xatomic_wc wc[4];

	(void)state;
	open_many(2);
	post(0);
	post(1);
	assert_int_equal(xatomic_ring_doorbell(qps[1]), 0);
	assert_int_equal(wire.tail, 1);
	assert_int_equal(xatomic_device_poll(device, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(xatomic_device_doorbell(device), 0);
	assert_int_equal(wire.tail, 2);
	assert_int_equal(xatomic_device_poll(device, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 0);
}

static void test_both_ways_of_polling(void **state)
{
	struct xatomic_wc wc[4];

	(void)state;
	open_many(2);
	for (int i = 0; i < 3; i++) {
		post(0);
		post(1);
	}
	assert_int_equal(xatomic_device_doorbell(device), 0);
	assert_int_equal(xatomic_poll_cq(qps[1], 2, wc), 2);
	assert_int_equal(wc[1].wr_id, 1);
	assert_int_equal(xatomic_device_wait(device, 0), 1);
	assert_int_equal(xatomic_device_poll(device, 2, wc), 2);
	assert_int_equal(wc[1].wr_id, 0);
	assert_int_equal(xatomic_poll_cq(qps[1], 4, wc), 1);
	assert_int_equal(xatomic_device_poll(device, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 0);
	assert_int_equal(xatomic_device_wait(device, 0), 0);
}

static void test_every_timer_runs(void **state)
{
	struct xatomic_wc wc[4];

	(void)state;
	open_many(3);
	wire.deaf = true;
	for (int i = 0; i < 3; i++, fake_now += 1000) {
		post(i);
		assert_int_equal(xatomic_ring_doorbell(qps[i]), 0);
	}
	fake_now = 1 + TIMEOUT_NS;
	assert_int_equal(xatomic_device_poll(device, 4, wc), 0);
	assert_int_equal(qps[0]->engine.counters.resent, 1);
	assert_int_equal(qps[1]->engine.counters.resent, 0);
	fake_now = 2001 + TIMEOUT_NS;
	assert_int_equal(xatomic_device_poll(device, 4, wc), 0);
	assert_int_equal(qps[1]->engine.counters.resent, 1);
	assert_int_equal(qps[2]->engine.counters.resent, 1);
	fake_now += TIMEOUT_NS;
	assert_int_equal(xatomic_device_poll(device, 4, wc), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wc[i].status, XATOMIC_WC_RETRY_EXC_ERR);
	/* What is posted in error completes at once. */
	post(1);
	assert_int_equal(xatomic_device_poll(device, 4, wc), 1);
	assert_int_equal(wc[0].status, XATOMIC_WC_WR_FLUSH_ERR);
}

static void test_one_local_qpn_each(void **state)
{
	struct xatomic_wc wc;

	(void)state;
	open_many(1);
	assert_int_equal(open_qp(1, FIRST_LQPN), -EEXIST);
	wire.admit_error = -ENOSPC;
	assert_int_equal(open_qp(1, FIRST_LQPN + 1), -ENOSPC);
	wire.admit_error = 0;
	assert_int_equal(open_qp(1, FIRST_LQPN + 1), 0);
	post(0);
	assert_int_equal(xatomic_ring_doorbell(qps[0]), 0);
	/* An answer for somebody who has gone is nobody's. */
	xatomic_qp_close(qps[0]);
	qps[0] = NULL;
	assert_int_equal(xatomic_device_poll(device, 1, &wc), 0);
}

/* In an order that leaves gaps in the table, and with one in each of the lists. */
static void test_closing_some_leaves_the_others(void **state)
{
	struct xatomic_wc wc[MANY];
	int left = 0, n, done = 0;

	(void)state;
	open_many(MANY);
	for (int i = 0; i < MANY; i++)
		post(i);
	for (int i = 0; i < MANY; i++) {
		if (i * 7 % 10 > 3) {
			left++;
			continue;
		}
		xatomic_qp_close(qps[i]);
		qps[i] = NULL;
	}
	assert_int_equal(device->table.count, left);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(xa_qp_table_find(&device->table, FIRST_LQPN + i), qps[i]);
	assert_int_equal(xatomic_device_doorbell(device), 0);
	n = xatomic_device_poll(device, 1, wc);
	assert_int_equal(n, 1);
	xatomic_qp_close(qps[wc[0].wr_id]);
	qps[wc[0].wr_id] = NULL;
	while ((n = xatomic_device_poll(device, MANY, wc)) > 0)
		done += n;
	assert_int_equal(done, left - 1);
}

static void test_frames_that_are_nobodys(void **state)
{
	static const uint16_t types[] = {0x0800, 0x86dd, 0x0806, 0x8100};
	uint8_t frame[XA_FRAME_MAX] = {0};
	struct xatomic_wc wc;
	uint32_t qpn;

	(void)state;
	open_many(1);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (size_t len = 0; len <= XA_FRAME_MAX; len++) {
			uint8_t *exact = calloc(1, len ? len : 1);

			assert_non_null(exact);
			frame[12] = types[i] >> 8;
			frame[13] = types[i];
			memcpy(exact, frame, len);
			assert_false(xa_frame_qpn(exact, len, &qpn));
			free(exact);
			wire.queue[wire.tail % QUEUE].len = len;
			memcpy(wire.queue[wire.tail++ % QUEUE].bytes, frame, len);
		}
	assert_int_equal(xatomic_device_poll(device, 1, &wc), 0);
	assert_int_equal(qps[0]->engine.counters.rejected, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_gets_its_own_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_receiving_has_its_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_doorbell_is_its_queue_pairs, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_both_ways_of_polling, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_timer_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_local_qpn_each, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closing_some_leaves_the_others, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_frames_that_are_nobodys, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("requester device", tests, NULL, NULL);
}
