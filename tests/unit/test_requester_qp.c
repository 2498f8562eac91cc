/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole queue pair on a fake wire, behind which a small responder of the test's own runs each request once
 * and answers duplicates from what it saved. The wire loses, doubles, damages and delays frames by a fixed
 * sequence of pseudo-random numbers; the clock jumps from deadline to deadline.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/icrc.h"
#include "requester/qp.h"
#include "xatomic/wire.h"

enum {
	ETH_LEN = 14,
	L3_LEN = 28,
	ROCE = ETH_LEN + L3_LEN,
	QUEUE = 1024,
	SAVED = 128,
	PER_MILLE = 1000
};
enum { LQPN = 0x2f, RQPN = 0x11, FIRST_PSN = 0xfffff0, RKEY = 0x1234 };

/* How many of a thousand frames, in either direction. */
struct faults {
	unsigned int lost, doubled, damaged;
};

static struct wire {
	struct xa_transport transport; /* must come first */
	struct faults faults;
	uint64_t random;
	struct xa_frame queue[QUEUE]; /* responses under way */
	uint32_t head, tail;
	int fd, send_error, receive_error;
	bool closed;
	uint32_t admitted;
	/* the responder */
	uint32_t epsn, msn;
	bool nak_sent, refuse;
	uint64_t word, saved[SAVED], executed;
} wire;

static uint64_t fake_now;

static uint64_t fake_clock(void)
{
	return fake_now;
}

static bool chance(unsigned int per_mille)
{
	wire.random ^= wire.random << 13;
	wire.random ^= wire.random >> 7;
	wire.random ^= wire.random << 17;
	return wire.random % PER_MILLE < per_mille;
}

static void put32(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = value >> (24 - 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static void seal(uint8_t *frame, size_t roce_len)
{
	uint32_t icrc = xa_icrc(frame + ETH_LEN, frame + ROCE, roce_len - XA_ICRC_LEN);

	for (int i = 0; i < XA_ICRC_LEN; i++)
		frame[ROCE + roce_len - XA_ICRC_LEN + i] = icrc >> 8 * i;
}

static void deliver(const struct xa_frame *frame)
{
	int copies = chance(wire.faults.lost) ? 0 : chance(wire.faults.doubled) ? 2 : 1;

	while (copies--) {
		struct xa_frame *slot = &wire.queue[wire.tail++ % QUEUE];

		*slot = *frame;
		if (chance(wire.faults.damaged))
			slot->bytes[ROCE + 16 + wire.random % 8] ^= 0x10;
	}
	assert_true(wire.tail - wire.head <= QUEUE);
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

static void respond(const struct xa_frame *request, uint8_t opcode, uint8_t syndrome, uint32_t psn,
		    uint64_t original)
{
	struct xa_frame frame = *request;
	uint8_t *ip = frame.bytes + ETH_LEN, *bth = frame.bytes + ROCE;
	size_t roce_len = opcode == XA_OP_ACKNOWLEDGE ? XA_NAK_LEN : XA_ATOMIC_ACK_LEN;

	frame.len = ROCE + roce_len;
	memcpy(frame.bytes, request->bytes + 6, 6);
	memcpy(frame.bytes + 6, request->bytes, 6);
	ip[3] = 28 + roce_len;
	memcpy(ip + 12, request->bytes + ETH_LEN + 16, 4);
	memcpy(ip + 16, request->bytes + ETH_LEN + 12, 4);
	set_ip_sum(ip);
	ip[25] = 8 + roce_len;
	bth[0] = opcode;
	put32(bth + 4, LQPN);
	put32(bth + 8, psn);
	put32(bth + 12, (uint32_t)syndrome << 24 | wire.msn);
	put32(bth + 16, original >> 32);
	put32(bth + 20, original);
	seal(frame.bytes, roce_len);
	deliver(&frame);
}

static void execute(const struct xa_frame *frame, uint32_t psn)
{
	const uint8_t *atmeth = frame->bytes + ROCE + sizeof(struct xa_bth);
	uint64_t add = (uint64_t)get32(atmeth + 12) << 32 | get32(atmeth + 16);

	wire.nak_sent = false;
	if (wire.refuse) {
		respond(frame, XA_OP_ACKNOWLEDGE, XA_SYN_NAK_REM_ACCESS, psn, 0);
		return;
	}
	wire.saved[psn % SAVED] = wire.word;
	wire.word += add;
	wire.executed++;
	wire.msn++;
	wire.epsn = xa_psn_add(wire.epsn, 1);
	respond(frame, XA_OP_ATOMIC_ACKNOWLEDGE, XA_SYN_ACK_UNLIMITED, psn,
		wire.saved[psn % SAVED]);
}

static void serve(const struct xa_frame *frame)
{
	uint32_t psn = get32(frame->bytes + ROCE + 8) & XA_PSN_MASK;
	int32_t ahead = xa_psn_diff(psn, wire.epsn);

	assert_int_equal(frame->len, ROCE + XA_ATOMIC_LEN);
	assert_int_equal(frame->bytes[ROCE], XA_OP_FETCH_ADD);
	assert_int_equal(get32(frame->bytes + ROCE + 4), RQPN);
	assert_int_equal(get32(frame->bytes + ROCE + 20), RKEY);
	if (ahead == 0) {
		execute(frame, psn);
	} else if (ahead < 0) {
		assert_true(ahead >= -SAVED);
		respond(frame, XA_OP_ATOMIC_ACKNOWLEDGE, XA_SYN_ACK_UNLIMITED, psn,
			wire.saved[psn % SAVED]);
	} else if (!wire.nak_sent) {
		wire.nak_sent = true;
		respond(frame, XA_OP_ACKNOWLEDGE, XA_SYN_NAK_SEQUENCE, wire.epsn, 0);
	}
}

static int fake_send(struct xa_transport *transport, const struct xa_frame *frames, unsigned int n)
{
	(void)transport;
	assert_in_range(n, 1, XA_BATCH);
	for (unsigned int i = 0; i < n && !wire.send_error; i++)
		for (int copies = chance(wire.faults.doubled) ? 2 : 1; copies; copies--)
			if (!chance(wire.faults.lost))
				serve(&frames[i]);
	return wire.send_error;
}

static int fake_receive(struct xa_transport *transport, struct xa_frame *frames)
{
	int n = 0;

	(void)transport;
	while (n < XA_BATCH && wire.head < wire.tail)
		frames[n++] = wire.queue[wire.head++ % QUEUE];
	return wire.receive_error ? wire.receive_error : n;
}

static int fake_fd(const struct xa_transport *transport)
{
	(void)transport;
	return wire.fd;
}

static void fake_close(struct xa_transport *transport)
{
	(void)transport;
	close(wire.fd);
	wire.closed = true;
}

static int fake_admit(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn)
{
	(void)transport;
	(void)local;
	wire.admitted = lqpn;
	return 0;
}

static void fake_dismiss(struct xa_transport *transport, const struct xa_ip *local, uint32_t lqpn)
{
	(void)transport;
	(void)local;
	assert_int_equal(wire.admitted, lqpn);
	wire.admitted = 0;
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

static struct xatomic_qp *open_qp(uint8_t window, const struct faults *faults)
{
	struct xa_path path = {.lqpn = LQPN, .rqpn = RQPN, .pkey = 0xffff};
	struct xatomic_qp_attr attr;
	struct xatomic_device *device;
	struct xatomic_qp *qp;

	wire = (struct wire){.transport.ops = &fake_ops,
			     .faults = *faults,
			     .random = 88172645463325252ull,
			     .epsn = FIRST_PSN,
			     .fd = eventfd(1, EFD_CLOEXEC)};
	fake_now = 1;
	xatomic_qp_attr_init(&attr);
	attr.qp_num = LQPN;
	attr.dest_qp_num = RQPN;
	attr.sq_psn = FIRST_PSN;
	attr.max_rd_atomic = window;
	assert_true(xa_ip_parse(&path.local, "10.0.0.1"));
	assert_true(xa_ip_parse(&path.peer, "10.0.0.2"));
	assert_int_equal(xa_device_create(&wire.transport, &device), 0);
	device->clock = fake_clock;
	assert_int_equal(xa_qp_create(&attr, &path, device, &qp), 0);
	qp->owns_device = true;
	return qp;
}

static int post(struct xatomic_qp *qp, uint64_t n, uint64_t *reply)
{
	return xatomic_post_send(qp, &(struct xatomic_wr){.wr_id = n,
							  .opcode = XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
							  .send_flags = XATOMIC_SEND_SIGNALED,
							  .remote_addr = 0x2000,
							  .rkey = RKEY,
							  .compare_add = 1,
							  .reply = reply});
}

/* Time goes on when nothing else does. */
static void idle(struct xatomic_qp *qp)
{
	uint64_t left = xatomic_qp_deadline(qp);

	if (wire.head == wire.tail && left != UINT64_MAX)
		fake_now += left;
}

/* Adds 1 `count` times: each original is right, in order, and each request was run once. */
static void add_many(uint8_t window, const struct faults *faults, uint64_t count)
{
	struct xatomic_qp *qp = open_qp(window, faults);
	uint64_t replies[128], posted = 0, done = 0;
	struct xatomic_wc wc[16];

	while (done < count) {
		while (posted < count && !post(qp, posted, &replies[posted % 128]))
			posted++;
		assert_int_equal(xatomic_ring_doorbell(qp), 0);
		int n = xatomic_poll_cq(qp, 16, wc);

		assert_in_range(n, 0, 16);
		for (int i = 0; i < n; i++, done++) {
			assert_int_equal(wc[i].status, XATOMIC_WC_SUCCESS);
			assert_int_equal(wc[i].wr_id, done);
			assert_int_equal(replies[done % 128], done);
		}
		idle(qp);
	}
	assert_int_equal(wire.word, count);
	assert_int_equal(wire.executed, count);
	xatomic_qp_close(qp);
	assert_true(wire.closed);
}

static void test_faultless_wire(void **state)
{
	const struct faults none = {0};

	(void)state;
	add_many(1, &none, 1000);
	add_many(16, &none, 10000);
	add_many(128, &none, 10000);
}

static void test_lossy_wire(void **state)
{
	const struct faults lossy = {.lost = 50};

	(void)state;
	add_many(1, &lossy, 1000);
	add_many(7, &lossy, 5000);
	add_many(128, &lossy, 5000);
}

static void test_bad_wire(void **state)
{
	const struct faults bad = {.lost = 30, .doubled = 50, .damaged = 50};

	(void)state;
	add_many(1, &bad, 1000);
	add_many(16, &bad, 5000);
	add_many(128, &bad, 2000);
}

static void test_damage_is_counted_and_not_believed(void **state)
{
	const struct faults damage = {.damaged = PER_MILLE};
	struct xatomic_qp *qp = open_qp(1, &damage);
	uint64_t reply = 77;
	struct xatomic_qp_info info;
	struct xatomic_wc wc;

	(void)state;
	assert_int_equal(post(qp, 0, &reply), 0);
	assert_int_equal(xatomic_ring_doorbell(qp), 0);
	while (!xatomic_poll_cq(qp, 1, &wc))
		idle(qp);
	assert_int_equal(wc.status, XATOMIC_WC_RETRY_EXC_ERR);
	assert_int_equal(reply, 77);
	xatomic_qp_query(qp, &info);
	assert_int_equal(info.state, XATOMIC_QPS_ERR);
	assert_int_equal(info.counters.rejected, 8);
	assert_int_equal(info.counters.resent, 7);
	assert_non_null(strstr(xatomic_qp_hint(qp), "ICRC"));
	xatomic_qp_close(qp);
}

static void test_hint_names_the_psn_that_is_asked_for(void **state)
{
	const struct faults none = {0};
	struct xatomic_qp *qp = open_qp(1, &none);
	struct xatomic_wc wc;
	uint64_t reply;

	(void)state;
	wire.epsn = FIRST_PSN - 3;
	assert_int_equal(post(qp, 0, &reply), 0);
	assert_int_equal(xatomic_ring_doorbell(qp), 0);
	while (!xatomic_poll_cq(qp, 1, &wc))
		idle(qp);
	assert_int_equal(wc.status, XATOMIC_WC_RETRY_EXC_ERR);
	assert_non_null(strstr(xatomic_qp_hint(qp), "16777197"));
	xatomic_qp_close(qp);
}

static void test_fatal_nak_through_the_wire(void **state)
{
	const struct faults none = {0};
	struct xatomic_qp *qp = open_qp(4, &none);
	uint64_t replies[3];
	struct xatomic_wc wc[3];

	(void)state;
	wire.refuse = true;
	for (int i = 0; i < 3; i++)
		assert_int_equal(post(qp, i, &replies[i]), 0);
	assert_int_equal(xatomic_ring_doorbell(qp), 0);
	assert_int_equal(xatomic_poll_cq(qp, 3, wc), 3);
	assert_int_equal(wc[0].status, XATOMIC_WC_REM_ACCESS_ERR);
	assert_int_equal(wc[0].vendor_err, XA_SYN_NAK_REM_ACCESS);
	assert_int_equal(wc[1].status, XATOMIC_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[2].status, XATOMIC_WC_WR_FLUSH_ERR);
	xatomic_qp_close(qp);
}

static void test_wait(void **state)
{
	const struct faults none = {0};
	struct xatomic_qp *qp = open_qp(1, &none);
	struct xatomic_wc wc;
	uint64_t reply;

	(void)state;
	assert_int_equal(xatomic_wait(qp, 0), 0);
	assert_int_equal(post(qp, 0, &reply), 0);
	assert_int_equal(xatomic_ring_doorbell(qp), 0);
	assert_int_equal(xatomic_wait(qp, -1), 1);
	/* It stays so until somebody polls. */
	assert_int_equal(xatomic_wait(qp, 0), 1);
	assert_int_equal(xatomic_poll_cq(qp, 1, &wc), 1);
	assert_int_equal(xatomic_wait(qp, 0), 0);
	xatomic_qp_close(qp);
}

static void test_query(void **state)
{
	const struct faults none = {0};
	struct xatomic_qp *qp = open_qp(1, &none);
	struct xatomic_qp_info info;
	uint64_t reply;

	(void)state;
	assert_int_equal(post(qp, 0, &reply), 0);
	xatomic_qp_query(qp, &info);
	assert_int_equal(info.state, XATOMIC_QPS_RTS);
	assert_int_equal(info.open_psn, FIRST_PSN);
	assert_int_equal(info.next_psn, FIRST_PSN + 1);
	assert_int_equal(info.timeout_ns, 67108864);
	assert_memory_equal(&info.local, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	assert_int_equal(xatomic_qp_deadline(qp), UINT64_MAX);
	assert_int_equal(xatomic_ring_doorbell(qp), 0);
	assert_int_equal(xatomic_qp_deadline(qp), 67108864);
	fake_now += 67108865;
	assert_int_equal(xatomic_qp_deadline(qp), 0);
	assert_int_equal(xatomic_qp_fd(qp), wire.fd);
	xatomic_qp_close(qp);
}

static void test_socket_errors_reach_the_caller(void **state)
{
	const struct faults none = {0};
	struct xatomic_qp *qp = open_qp(1, &none);
	struct xatomic_wc wc;
	uint64_t reply;

	(void)state;
	wire.send_error = -ENETDOWN;
	assert_int_equal(post(qp, 0, &reply), 0);
	assert_int_equal(xatomic_ring_doorbell(qp), -ENETDOWN);
	wire.receive_error = -ENODEV;
	assert_int_equal(xatomic_poll_cq(qp, 1, &wc), -ENODEV);
	assert_int_equal(xatomic_wait(qp, -1), -ENODEV);
	xatomic_qp_close(qp);
}

static struct xatomic_qp_attr good_attr(void)
{
	struct xatomic_qp_attr attr;

	xatomic_qp_attr_init(&attr);
	attr.ifname = "eth0";
	memcpy(&attr.peer, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\2", 16);
	attr.qp_num = LQPN;
	attr.dest_qp_num = RQPN;
	return attr;
}

#define WITH(change)                                                                               \
	do {                                                                                       \
		struct xatomic_qp_attr attr = good_attr();                                         \
		change;                                                                            \
		errno = 0;                                                                         \
		assert_int_equal(xa_qp_check_attr(&attr), -1);                                     \
		assert_int_equal(errno, EINVAL);                                                   \
	} while (0)

static void test_attributes_are_checked(void **state)
{
	struct xatomic_qp_attr good = good_attr();

	(void)state;
	assert_int_equal(xa_qp_check_attr(&good), 0);
	WITH(attr.ifname = NULL);
	WITH(memset(&attr.peer, 0, 16));
	WITH(memset(&attr.peer, 0xff, 16));
	WITH(attr.peer.s6_addr[12] = 224);
	WITH(attr.local.s6_addr[15] = 1);
	WITH(attr.qp_num = 1);
	WITH(attr.qp_num = 0xffffff);
	WITH(attr.dest_qp_num = 0);
	WITH(attr.dest_qp_num = 0x1000002);
	WITH(attr.sq_psn = 0x1000000);
	WITH(attr.pkey = 0x8000);
	WITH(attr.max_rd_atomic = 0);
	WITH(attr.max_rd_atomic = 129);
	WITH(attr.timeout = 32);
	WITH(attr.retry_cnt = 8);
	WITH(attr.rnr_retry = 8);
	WITH(attr.max_send_wr = 0);
	WITH(attr.max_send_wr = XA_MAX_SEND_WR + 1);
	WITH(attr.vlans = 3);
}

static void expect_refusal(const struct xatomic_qp_attr *attr, int error, const char *words)
{
	errno = 0;
	assert_null(xatomic_qp_open(attr));
	assert_int_equal(errno, error);
	assert_non_null(strstr(xatomic_error(), words));
}

static void test_open_says_why_not(void **state)
{
	struct xatomic_qp_attr attr = good_attr();

	(void)state;
	attr.ifname = "no-such-if";
	expect_refusal(&attr, ENODEV, "no-such-if");
	attr.ifname = "lo";
	expect_refusal(&attr, ENOTSUP, "Ethernet");
	attr.netns = "no-such-netns";
	expect_refusal(&attr, ENOENT, "no-such-netns");
	attr.netns = "../escape";
	expect_refusal(&attr, ENOENT, "../escape");
	attr.sq_psn = 0x1000000;
	expect_refusal(&attr, EINVAL, "PSN");
	xatomic_qp_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faultless_wire),
		cmocka_unit_test(test_lossy_wire),
		cmocka_unit_test(test_bad_wire),
		cmocka_unit_test(test_damage_is_counted_and_not_believed),
		cmocka_unit_test(test_hint_names_the_psn_that_is_asked_for),
		cmocka_unit_test(test_fatal_nak_through_the_wire),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_socket_errors_reach_the_caller),
		cmocka_unit_test(test_attributes_are_checked),
		cmocka_unit_test(test_open_says_why_not),
	};

	return cmocka_run_group_tests_name("requester queue pair", tests, NULL, NULL);
}
