/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester's state machine on a fake wire with a fake clock: the test sees every packet that would be
 * sent, answers or loses it, and says what time it is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "requester/engine.h"
#include "xatomic/wire.h"

enum { US = 1000, MS = 1000 * US, TIMEOUT = 67108864, WR_ID = 1000, ORIGINAL = 5000 };

static struct xa_engine engine;
static uint64_t replies[1024];
static uint64_t now;
static uint64_t posted;

static const struct xa_engine_attr defaults = {
	.qp_num = 0x2f,
	.sq_psn = 3100,
	.max_send_wr = 64,
	.max_rd_atomic = 4,
	.timeout_ns = TIMEOUT,
	.retry_cnt = 2,
	.rnr_retry = 2,
};

static void open_engine(const struct xa_engine_attr *attr)
{
	now = 1000 * (uint64_t)MS;
	posted = 0;
	memset(replies, 0xee, sizeof(replies));
	assert_int_equal(xa_engine_init(&engine, attr), 0);
}

static int open_default(void **state)
{
	(void)state;
	open_engine(&defaults);
	return 0;
}

static int close_engine(void **state)
{
	(void)state;
	xa_engine_free(&engine);
	return 0;
}

/* Opens the engine again with other attributes. */
static void reopen(struct xa_engine_attr attr)
{
	xa_engine_free(&engine);
	open_engine(&attr);
}

static struct xatomic_wr make_wr(unsigned int flags)
{
	return (struct xatomic_wr){
		.wr_id = WR_ID + posted,
		.opcode = XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = flags,
		.remote_addr = 0x2000,
		.rkey = 0x1234,
		.compare_add = 1,
		.reply = &replies[posted],
	};
}

static int post_one(unsigned int flags)
{
	struct xatomic_wr wr = make_wr(flags);
	int error = xa_engine_post(&engine, &wr);

	if (!error)
		posted++;
	return error;
}

static void post(int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(post_one(XATOMIC_SEND_SIGNALED), 0);
	xa_engine_doorbell(&engine);
}

/* Exactly the packets with PSN from ... from + n - 1 are sent now, in this order. */
static void expect_sent(uint32_t from, int n)
{
	struct xa_request request;

	for (int i = 0; i < n; i++) {
		assert_true(xa_engine_next(&engine, now, &request));
		assert_int_equal(request.psn, xa_psn_add(from, i));
	}
	assert_false(xa_engine_next(&engine, now, &request));
}

static void expect_silence(void)
{
	expect_sent(0, 0);
}

static void respond(uint8_t opcode, uint8_t syndrome, uint32_t psn, uint64_t original)
{
	xa_engine_receive(
		&engine, now,
		&(struct xa_response){
			.opcode = opcode, .syndrome = syndrome, .psn = psn, .original = original});
}

static void ack(uint32_t psn)
{
	respond(XA_OP_ATOMIC_ACKNOWLEDGE, XA_SYN_ACK_UNLIMITED, psn, ORIGINAL + psn);
}

static void nak(uint8_t syndrome, uint32_t psn)
{
	respond(XA_OP_ACKNOWLEDGE, syndrome, psn, 0);
}

/* The next completion is that of the nth request posted, with this status. */
static void expect_completion(uint64_t nth, enum xatomic_wc_status status)
{
	struct xatomic_wc wc;

	assert_int_equal(xa_engine_poll(&engine, 1, &wc), 1);
	assert_string_equal(xatomic_wc_status_str(wc.status), xatomic_wc_status_str(status));
	assert_int_equal(wc.wr_id, WR_ID + nth);
	assert_int_equal(wc.psn, xa_engine_psn(&engine, nth));
	assert_int_equal(wc.qp_num, engine.attr.qp_num);
	assert_int_equal(wc.opcode, XATOMIC_WC_FETCH_ADD);
	if (status == XATOMIC_WC_SUCCESS)
		assert_int_equal(replies[nth], ORIGINAL + wc.psn);
	else
		assert_int_equal(replies[nth], 0xeeeeeeeeeeeeeeee);
}

static void expect_no_completion(void)
{
	struct xatomic_wc wc;

	assert_int_equal(xa_engine_poll(&engine, 1, &wc), 0);
}

/* The timer does nothing until just before `after` from now, and acts then. */
static void pass(uint64_t after)
{
	struct xa_request request;

	assert_int_equal(engine.deadline, now + after);
	now += after - 1;
	xa_engine_timer(&engine, now);
	assert_false(xa_engine_next(&engine, now, &request));
	now++;
	xa_engine_timer(&engine, now);
}

static void test_request_fields(void **state)
{
	struct xatomic_wr swap = make_wr(XATOMIC_SEND_SIGNALED), add = swap;
	struct xa_request request;

	(void)state;
	swap.opcode = XATOMIC_WR_ATOMIC_CMP_AND_SWP;
	swap.compare_add = 5;
	swap.swap = 9;
	add.swap = 77;
	assert_int_equal(xa_engine_post(&engine, &swap), 0);
	assert_int_equal(xa_engine_post(&engine, &add), 0);
	xa_engine_doorbell(&engine);
	assert_true(xa_engine_next(&engine, now, &request));
	assert_int_equal(request.opcode, XA_OP_CMP_SWAP);
	assert_int_equal(request.va, 0x2000);
	assert_int_equal(request.rkey, 0x1234);
	assert_int_equal(request.compare, 5);
	assert_int_equal(request.swap_add, 9);
	assert_true(xa_engine_next(&engine, now, &request));
	assert_int_equal(request.opcode, XA_OP_FETCH_ADD);
	assert_int_equal(request.compare, 0);
	assert_int_equal(request.swap_add, 1);
}

static void test_completion_names_the_operation(void **state)
{
	struct xatomic_wr swap = make_wr(XATOMIC_SEND_SIGNALED);
	struct xatomic_wc wc;

	(void)state;
	swap.opcode = XATOMIC_WR_ATOMIC_CMP_AND_SWP;
	swap.reply = NULL;
	assert_int_equal(xa_engine_post(&engine, &swap), 0);
	xa_engine_doorbell(&engine);
	expect_sent(3100, 1);
	ack(3100);
	assert_int_equal(xa_engine_poll(&engine, 1, &wc), 1);
	assert_int_equal(wc.opcode, XATOMIC_WC_COMP_SWAP);
	assert_int_equal(wc.status, XATOMIC_WC_SUCCESS);
	assert_int_equal(wc.vendor_err, 0);
}

static void test_nothing_leaves_before_the_doorbell(void **state)
{
	(void)state;
	assert_int_equal(post_one(XATOMIC_SEND_SIGNALED), 0);
	expect_silence();
	assert_int_equal(engine.deadline, XA_NEVER);
	xa_engine_doorbell(&engine);
	assert_int_equal(post_one(XATOMIC_SEND_SIGNALED), 0);
	expect_sent(3100, 1);
}

static void test_acknowledgements_in_order(void **state)
{
	(void)state;
	post(3);
	expect_sent(3100, 3);
	for (int i = 0; i < 3; i++) {
		expect_no_completion();
		ack(3100 + i);
		expect_completion(i, XATOMIC_WC_SUCCESS);
	}
	assert_int_equal(engine.deadline, XA_NEVER);
	assert_int_equal(engine.counters.acks, 3);
	expect_silence();
}

static void test_window_limits_what_is_in_flight(void **state)
{
	(void)state;
	post(10);
	expect_sent(3100, 4);
	ack(3100);
	expect_sent(3104, 1);
	ack(3101);
	ack(3102);
	expect_sent(3105, 2);
	ack(3103);
	ack(3104);
	ack(3105);
	ack(3106);
	expect_sent(3107, 3);
	assert_int_equal(engine.counters.requests, 10);
	assert_int_equal(engine.counters.resent, 0);
}

static void test_psn_wraps(void **state)
{
	struct xa_engine_attr attr = defaults;

	(void)state;
	attr.sq_psn = 0xfffffe;
	reopen(attr);
	post(6);
	expect_sent(0xfffffe, 4);
	ack(0xfffffe);
	ack(0xffffff);
	ack(0);
	expect_sent(2, 2);
	nak(XA_SYN_NAK_SEQUENCE, 1);
	expect_sent(1, 3);
	ack(1);
	ack(2);
	ack(3);
	for (int i = 0; i < 6; i++)
		expect_completion(i, XATOMIC_WC_SUCCESS);
	expect_no_completion();
}

static void test_rings_wrap_many_times(void **state)
{
	struct xa_engine_attr attr = defaults;

	(void)state;
	attr.max_send_wr = 3; /* becomes 4 */
	attr.sq_psn = 0xfffff0;
	reopen(attr);
	for (int i = 0; i < 1000; i++) {
		post(1);
		expect_sent(xa_psn_add(0xfffff0, i), 1);
		ack(xa_psn_add(0xfffff0, i));
		expect_completion(i, XATOMIC_WC_SUCCESS);
	}
}

/* The acknowledgement is lost: the same PSN again after exactly the timeout, and one completion. */
static void test_lost_acknowledgement(void **state)
{
	(void)state;
	post(1);
	expect_sent(3100, 1);
	pass(TIMEOUT);
	expect_sent(3100, 1);
	assert_int_equal(engine.deadline, now + TIMEOUT);
	ack(3100);
	expect_completion(0, XATOMIC_WC_SUCCESS);
	ack(3100);
	expect_no_completion();
	assert_int_equal(engine.counters.timeouts, 1);
	assert_int_equal(engine.counters.resent, 1);
	assert_int_equal(engine.counters.ignored, 1);
}

static void test_timeout_goes_back_to_the_oldest(void **state)
{
	(void)state;
	post(6);
	expect_sent(3100, 4);
	ack(3100);
	expect_sent(3104, 1);
	pass(TIMEOUT);
	expect_sent(3101, 4);
	for (int i = 1; i < 5; i++)
		ack(3100 + i);
	expect_sent(3105, 1);
}

static void test_timer_starts_again_upon_progress(void **state)
{
	(void)state;
	post(2);
	expect_sent(3100, 2);
	now += TIMEOUT - 1;
	ack(3100);
	assert_int_equal(engine.deadline, now + TIMEOUT);
	ack(3101);
	assert_int_equal(engine.deadline, XA_NEVER);
}

/* A later packet does not put the timer of the oldest one off. */
static void test_timer_belongs_to_the_oldest(void **state)
{
	uint64_t deadline;

	(void)state;
	post(1);
	expect_sent(3100, 1);
	deadline = engine.deadline;
	now += 10 * MS;
	post(1);
	expect_sent(3101, 1);
	assert_int_equal(engine.deadline, deadline);
}

static void test_timeout_zero_is_never(void **state)
{
	struct xa_engine_attr attr = defaults;

	(void)state;
	attr.timeout_ns = xa_timeout_ns(0);
	reopen(attr);
	post(1);
	expect_sent(3100, 1);
	assert_int_equal(engine.deadline, XA_NEVER);
	xa_engine_timer(&engine, now + 3600000ull * MS);
	expect_silence();
}

static void test_timeout_encoding(void **state)
{
	(void)state;
	assert_int_equal(xa_timeout_ns(0), 0);
	assert_int_equal(xa_timeout_ns(1), 8192);
	assert_int_equal(xa_timeout_ns(14), TIMEOUT);
	assert_int_equal(xa_timeout_ns(31), 8796093022208);
}

/* The acknowledgement of the resent packet was under way already: what is left is not sent again. */
static void test_late_acknowledgement_during_resend(void **state)
{
	struct xa_request request;

	(void)state;
	post(3);
	expect_sent(3100, 3);
	pass(TIMEOUT);
	assert_true(xa_engine_next(&engine, now, &request));
	assert_int_equal(request.psn, 3100);
	ack(3100);
	ack(3101);
	ack(3102);
	expect_silence();
	for (int i = 0; i < 3; i++)
		expect_completion(i, XATOMIC_WC_SUCCESS);
	assert_int_equal(engine.deadline, XA_NEVER);
}

static void test_retries_are_exhausted(void **state)
{
	(void)state;
	post(2);
	expect_sent(3100, 2);
	for (int i = 0; i < 2; i++) {
		pass(TIMEOUT);
		expect_sent(3100, 2);
	}
	pass(TIMEOUT);
	expect_silence();
	expect_completion(0, XATOMIC_WC_RETRY_EXC_ERR);
	expect_completion(1, XATOMIC_WC_WR_FLUSH_ERR);
	expect_no_completion();
	assert_int_equal(engine.state, XATOMIC_QPS_ERR);
	assert_int_equal(engine.deadline, XA_NEVER);
}

static void test_no_retry_at_all(void **state)
{
	struct xa_engine_attr attr = defaults;

	(void)state;
	attr.retry_cnt = 0;
	reopen(attr);
	post(1);
	expect_sent(3100, 1);
	pass(TIMEOUT);
	expect_completion(0, XATOMIC_WC_RETRY_EXC_ERR);
}

/* Seven is a number here, as IBA has it for this counter. */
static void test_seven_retries_are_seven(void **state)
{
	struct xa_engine_attr attr = defaults;

	(void)state;
	attr.retry_cnt = 7;
	reopen(attr);
	post(1);
	expect_sent(3100, 1);
	for (int i = 0; i < 7; i++) {
		pass(TIMEOUT);
		expect_sent(3100, 1);
	}
	pass(TIMEOUT);
	expect_completion(0, XATOMIC_WC_RETRY_EXC_ERR);
}

static void test_progress_gives_all_retries_back(void **state)
{
	(void)state;
	post(2);
	expect_sent(3100, 2);
	pass(TIMEOUT);
	expect_sent(3100, 2);
	pass(TIMEOUT);
	expect_sent(3100, 2);
	ack(3100);
	for (int i = 0; i < 2; i++) {
		pass(TIMEOUT);
		expect_sent(3101, 1);
	}
	pass(TIMEOUT);
	expect_completion(0, XATOMIC_WC_SUCCESS);
	expect_completion(1, XATOMIC_WC_RETRY_EXC_ERR);
}

/* Request 3101 is lost; the responder asks for it when it sees 3102. */
static void test_sequence_nak_resends_at_once(void **state)
{
	(void)state;
	post(4);
	expect_sent(3100, 4);
	ack(3100);
	now += 5 * US;
	nak(XA_SYN_NAK_SEQUENCE, 3101);
	expect_sent(3101, 3);
	assert_int_equal(engine.deadline, now + TIMEOUT);
	assert_int_equal(engine.counters.sequence_naks, 1);
	assert_int_equal(engine.counters.timeouts, 0);
	for (int i = 1; i < 4; i++)
		ack(3100 + i);
	for (int i = 0; i < 4; i++)
		expect_completion(i, XATOMIC_WC_SUCCESS);
}

/* The acknowledgements before it are lost as well: an atomic is never acknowledged by a NAK. */
static void test_sequence_nak_with_older_atomics_open(void **state)
{
	(void)state;
	post(4);
	expect_sent(3100, 4);
	nak(XA_SYN_NAK_SEQUENCE, 3102);
	expect_sent(3100, 4);
}

static void test_sequence_nak_out_of_window_is_ignored(void **state)
{
	(void)state;
	post(6);
	expect_sent(3100, 4);
	ack(3100);
	expect_sent(3104, 1);
	nak(XA_SYN_NAK_SEQUENCE, 3100);
	nak(XA_SYN_NAK_SEQUENCE, 3105);
	nak(XA_SYN_NAK_SEQUENCE, xa_psn_add(3101, XA_PSN_WINDOW));
	expect_silence();
	assert_int_equal(engine.counters.ignored, 3);
}

/* It tells what the responder expects, until an acknowledgement proves that it was an old one. */
static void test_psn_asked_for_is_remembered(void **state)
{
	(void)state;
	assert_int_equal(engine.asked_psn, XA_NO_PSN);
	post(2);
	expect_sent(3100, 2);
	ack(3099);
	assert_int_equal(engine.asked_psn, XA_NO_PSN);
	nak(XA_SYN_NAK_SEQUENCE, 3090);
	assert_int_equal(engine.asked_psn, 3090);
	ack(3100);
	assert_int_equal(engine.asked_psn, XA_NO_PSN);
}

/* What is resent after a sequence NAK is lost as well: the timer finds out. */
static void test_lost_again_after_sequence_nak(void **state)
{
	(void)state;
	post(2);
	expect_sent(3100, 2);
	nak(XA_SYN_NAK_SEQUENCE, 3100);
	expect_sent(3100, 2);
	nak(XA_SYN_NAK_SEQUENCE, 3100);
	expect_silence();
	pass(TIMEOUT);
	expect_sent(3100, 2);
	nak(XA_SYN_NAK_SEQUENCE, 3100);
	expect_silence();
	expect_completion(0, XATOMIC_WC_RETRY_EXC_ERR);
	expect_completion(1, XATOMIC_WC_WR_FLUSH_ERR);
}

static void test_duplicate_acknowledgements_are_ignored(void **state)
{
	(void)state;
	post(3);
	expect_sent(3100, 3);
	ack(3100);
	replies[0] = 1;
	ack(3100);
	ack(3099);
	assert_int_equal(replies[0], 1);
	expect_silence();
	assert_int_equal(engine.counters.ignored, 2);
	assert_int_equal(engine.counters.acks, 1);
}

static void test_acknowledgement_of_the_unsent_is_ignored(void **state)
{
	(void)state;
	ack(3100);
	post(5);
	expect_sent(3100, 4);
	ack(3104);
	ack(xa_psn_add(3100, XA_PSN_WINDOW - 1));
	ack(xa_psn_add(3100, XA_PSN_WINDOW));
	expect_no_completion();
	expect_silence();
	assert_int_equal(engine.counters.ignored, 4);
}

/* 3100's acknowledgement is lost. All later ones tell so; one restart is enough, and one retry. */
static void test_acknowledgement_beyond_the_oldest(void **state)
{
	(void)state;
	post(4);
	expect_sent(3100, 4);
	ack(3101);
	expect_no_completion();
	expect_sent(3100, 4);
	ack(3102);
	ack(3103);
	expect_silence();
	assert_int_equal(engine.counters.implied_naks, 1);
	assert_int_equal(engine.counters.ignored, 2);
	assert_int_equal(engine.retries, 1);
	for (int i = 0; i < 4; i++) {
		ack(3100 + i);
		expect_completion(i, XATOMIC_WC_SUCCESS);
	}
}

static void test_plain_acknowledgement_answers_no_atomic(void **state)
{
	(void)state;
	post(1);
	expect_sent(3100, 1);
	nak(XA_SYN_ACK_UNLIMITED, 3100);
	expect_no_completion();
	expect_sent(3100, 1);
	assert_int_equal(engine.counters.implied_naks, 1);
	ack(3100);
	expect_completion(0, XATOMIC_WC_SUCCESS);
}

static void test_any_credit_count_acknowledges(void **state)
{
	(void)state;
	post(1);
	expect_sent(3100, 1);
	respond(XA_OP_ATOMIC_ACKNOWLEDGE, 0x00, 3100, ORIGINAL + 3100);
	expect_completion(0, XATOMIC_WC_SUCCESS);
}

static void test_unsignaled_requests_complete_silently(void **state)
{
	(void)state;
	post_one(0);
	post_one(0);
	post_one(XATOMIC_SEND_SIGNALED);
	xa_engine_doorbell(&engine);
	expect_sent(3100, 3);
	ack(3100);
	ack(3101);
	expect_no_completion();
	assert_int_equal(replies[1], ORIGINAL + 3101);
	ack(3102);
	expect_completion(2, XATOMIC_WC_SUCCESS);
}

static void test_errors_complete_also_unsignaled(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		post_one(0);
	xa_engine_doorbell(&engine);
	expect_sent(3100, 3);
	ack(3100);
	nak(XA_SYN_NAK_REM_ACCESS, 3101);
	expect_completion(1, XATOMIC_WC_REM_ACCESS_ERR);
	expect_completion(2, XATOMIC_WC_WR_FLUSH_ERR);
	expect_no_completion();
}

/* In flight, behind the window, and behind the doorbell: all are flushed, in order. */
static void test_fatal_nak_flushes_in_order(void **state)
{
	(void)state;
	post(6);
	assert_int_equal(post_one(0), 0);
	expect_sent(3100, 4);
	ack(3100);
	nak(XA_SYN_NAK_REM_ACCESS, 3101);
	expect_completion(0, XATOMIC_WC_SUCCESS);
	expect_completion(1, XATOMIC_WC_REM_ACCESS_ERR);
	for (int i = 2; i < 7; i++)
		expect_completion(i, XATOMIC_WC_WR_FLUSH_ERR);
	expect_no_completion();
	expect_silence();
	assert_int_equal(engine.deadline, XA_NEVER);
}

static void test_nak_codes(void **state)
{
	static const struct {
		uint8_t opcode, syndrome;
		enum xatomic_wc_status status;
	} rows[] = {
		{XA_OP_ACKNOWLEDGE, XA_SYN_NAK_INV_REQ, XATOMIC_WC_REM_INV_REQ_ERR},
		{XA_OP_ACKNOWLEDGE, XA_SYN_NAK_REM_ACCESS, XATOMIC_WC_REM_ACCESS_ERR},
		{XA_OP_ACKNOWLEDGE, XA_SYN_NAK_REM_OP, XATOMIC_WC_REM_OP_ERR},
		{XA_OP_ACKNOWLEDGE, 0x64, XATOMIC_WC_REM_OP_ERR},
		{XA_OP_ACKNOWLEDGE, 0x7f, XATOMIC_WC_REM_OP_ERR},
		{XA_OP_ACKNOWLEDGE, 0x40, XATOMIC_WC_BAD_RESP_ERR},
		{XA_OP_ACKNOWLEDGE, 0x9f, XATOMIC_WC_BAD_RESP_ERR},
		{XA_OP_ACKNOWLEDGE, 0xe1, XATOMIC_WC_BAD_RESP_ERR},
		{XA_OP_ATOMIC_ACKNOWLEDGE, XA_SYN_NAK_INV_REQ, XATOMIC_WC_BAD_RESP_ERR},
		{XA_OP_ATOMIC_ACKNOWLEDGE, XA_SYN_RNR, XATOMIC_WC_BAD_RESP_ERR},
		{XA_OP_ATOMIC_ACKNOWLEDGE, 0x9f, XATOMIC_WC_BAD_RESP_ERR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct xatomic_wc wc;

		reopen(defaults);
		post(1);
		expect_sent(3100, 1);
		respond(rows[i].opcode, rows[i].syndrome, 3100, 1);
		assert_int_equal(xa_engine_poll(&engine, 1, &wc), 1);
		assert_int_equal(wc.status, rows[i].status);
		assert_int_equal(wc.vendor_err, rows[i].syndrome);
		assert_int_equal(engine.state, XATOMIC_QPS_ERR);
	}
}

/* It proves that the older ones were run, but their values are not known: they are asked for again. */
static void test_fatal_nak_beyond_the_oldest(void **state)
{
	(void)state;
	post(2);
	expect_sent(3100, 2);
	nak(XA_SYN_NAK_REM_ACCESS, 3101);
	expect_no_completion();
	expect_sent(3100, 2);
	ack(3100);
	nak(XA_SYN_NAK_REM_ACCESS, 3101);
	expect_completion(0, XATOMIC_WC_SUCCESS);
	expect_completion(1, XATOMIC_WC_REM_ACCESS_ERR);
}

static void test_error_state_takes_no_responses(void **state)
{
	(void)state;
	post(2);
	expect_sent(3100, 2);
	nak(XA_SYN_NAK_INV_REQ, 3100);
	expect_completion(0, XATOMIC_WC_REM_INV_REQ_ERR);
	expect_completion(1, XATOMIC_WC_WR_FLUSH_ERR);
	ack(3100);
	ack(3101);
	nak(XA_SYN_NAK_SEQUENCE, 3101);
	expect_no_completion();
	expect_silence();
}

static void test_error_state_flushes_what_is_posted(void **state)
{
	(void)state;
	post(1);
	expect_sent(3100, 1);
	nak(XA_SYN_NAK_INV_REQ, 3100);
	expect_completion(0, XATOMIC_WC_REM_INV_REQ_ERR);
	assert_int_equal(post_one(0), 0);
	expect_completion(1, XATOMIC_WC_WR_FLUSH_ERR);
	xa_engine_doorbell(&engine);
	expect_silence();
}

static void test_rnr_waits_and_resends(void **state)
{
	(void)state;
	post(3);
	expect_sent(3100, 3);
	nak(XA_SYN_RNR | 16, 3100); /* 2.56 ms */
	expect_silence();
	pass(2560 * US);
	expect_sent(3100, 3);
	assert_int_equal(engine.deadline, now + TIMEOUT);
	ack(3100);
	expect_completion(0, XATOMIC_WC_SUCCESS);
	assert_int_equal(engine.counters.rnr_naks, 1);
}

static void test_rnr_timer_codes(void **state)
{
	static const struct {
		uint8_t code;
		uint64_t us;
	} rows[] = {{0, 655360}, {1, 10},    {5, 60},      {8, 160},
		    {13, 960},   {14, 1280}, {28, 163840}, {31, 491520}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		reopen(defaults);
		post(1);
		expect_sent(3100, 1);
		nak(XA_SYN_RNR | rows[i].code, 3100);
		pass(rows[i].us * US);
		expect_sent(3100, 1);
	}
}

/* Behind the request that found no resources, everything is out of sequence. That cuts no wait short. */
static void test_rnr_wait_is_not_disturbed(void **state)
{
	(void)state;
	post(3);
	expect_sent(3100, 3);
	nak(XA_SYN_RNR | 16, 3100);
	nak(XA_SYN_NAK_SEQUENCE, 3100);
	nak(XA_SYN_RNR | 1, 3100);
	ack(3101);
	post(1);
	expect_silence();
	pass(2560 * US);
	expect_sent(3100, 4);
	assert_int_equal(engine.counters.rnr_naks, 1);
	assert_int_equal(engine.retries, defaults.retry_cnt);
}

static void test_acknowledgement_ends_rnr_wait(void **state)
{
	(void)state;
	post(2);
	expect_sent(3100, 2);
	nak(XA_SYN_RNR | 16, 3100);
	ack(3100);
	expect_completion(0, XATOMIC_WC_SUCCESS);
	expect_sent(3101, 1);
}

static void rnr_rounds(int n)
{
	for (int i = 0; i < n; i++) {
		nak(XA_SYN_RNR | 1, 3100);
		expect_no_completion();
		pass(10 * US);
		expect_sent(3100, 2);
	}
}

static void test_rnr_retries_are_exhausted(void **state)
{
	(void)state;
	post(2);
	expect_sent(3100, 2);
	rnr_rounds(2);
	nak(XA_SYN_RNR | 1, 3100);
	expect_completion(0, XATOMIC_WC_RNR_RETRY_EXC_ERR);
	expect_completion(1, XATOMIC_WC_WR_FLUSH_ERR);
}

static void test_rnr_retry_seven_is_endless(void **state)
{
	struct xa_engine_attr attr = defaults;

	(void)state;
	attr.rnr_retry = 7;
	reopen(attr);
	post(2);
	expect_sent(3100, 2);
	rnr_rounds(100);
	ack(3100);
	expect_completion(0, XATOMIC_WC_SUCCESS);
}

static void test_full_ring_refuses(void **state)
{
	struct xa_engine_attr attr = defaults;

	(void)state;
	attr.max_send_wr = 4;
	reopen(attr);
	post(4);
	assert_int_equal(post_one(0), -ENOMEM);
	expect_sent(3100, 4);
	ack(3100);
	/* The completion still holds the place. */
	assert_int_equal(post_one(0), -ENOMEM);
	expect_completion(0, XATOMIC_WC_SUCCESS);
	assert_int_equal(post_one(0), 0);
	assert_int_equal(post_one(0), -ENOMEM);
}

static void test_unsignaled_success_frees_its_place(void **state)
{
	struct xa_engine_attr attr = defaults;

	(void)state;
	attr.max_send_wr = 4;
	reopen(attr);
	for (int i = 0; i < 4; i++)
		assert_int_equal(post_one(0), 0);
	xa_engine_doorbell(&engine);
	expect_sent(3100, 4);
	ack(3100);
	assert_int_equal(post_one(0), 0);
}

static void test_bad_work_requests(void **state)
{
	struct xatomic_wr wr = make_wr(0);

	(void)state;
	wr.opcode = 0;
	assert_int_equal(xa_engine_post(&engine, &wr), -EINVAL);
	wr = make_wr(1);
	assert_int_equal(xa_engine_post(&engine, &wr), -EINVAL);
	xa_engine_doorbell(&engine);
	expect_silence();
}

static void test_poll_takes_no_more_than_asked(void **state)
{
	struct xatomic_wc wc[4];

	(void)state;
	post(3);
	expect_sent(3100, 3);
	for (int i = 0; i < 3; i++)
		ack(3100 + i);
	assert_int_equal(xa_engine_poll(&engine, 0, wc), 0);
	assert_int_equal(xa_engine_poll(&engine, 2, wc), 2);
	assert_int_equal(xa_engine_poll(&engine, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, WR_ID + 2);
}

static void test_status_names(void **state)
{
	static const struct {
		int number;
		const char *name;
	} rows[] = {
		{0, "IBV_WC_SUCCESS"},
		{5, "IBV_WC_WR_FLUSH_ERR"},
		{7, "IBV_WC_BAD_RESP_ERR"},
		{9, "IBV_WC_REM_INV_REQ_ERR"},
		{10, "IBV_WC_REM_ACCESS_ERR"},
		{11, "IBV_WC_REM_OP_ERR"},
		{12, "IBV_WC_RETRY_EXC_ERR"},
		{13, "IBV_WC_RNR_RETRY_EXC_ERR"},
		{99, "unknown"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(xatomic_wc_status_str(rows[i].number), rows[i].name);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_default, close_engine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_request_fields),
		TEST(test_completion_names_the_operation),
		TEST(test_nothing_leaves_before_the_doorbell),
		TEST(test_acknowledgements_in_order),
		TEST(test_window_limits_what_is_in_flight),
		TEST(test_psn_wraps),
		TEST(test_rings_wrap_many_times),
		TEST(test_lost_acknowledgement),
		TEST(test_timeout_goes_back_to_the_oldest),
		TEST(test_timer_starts_again_upon_progress),
		TEST(test_timer_belongs_to_the_oldest),
		TEST(test_timeout_zero_is_never),
		TEST(test_timeout_encoding),
		TEST(test_late_acknowledgement_during_resend),
		TEST(test_retries_are_exhausted),
		TEST(test_no_retry_at_all),
		TEST(test_seven_retries_are_seven),
		TEST(test_progress_gives_all_retries_back),
		TEST(test_sequence_nak_resends_at_once),
		TEST(test_sequence_nak_with_older_atomics_open),
		TEST(test_sequence_nak_out_of_window_is_ignored),
		TEST(test_psn_asked_for_is_remembered),
		TEST(test_lost_again_after_sequence_nak),
		TEST(test_duplicate_acknowledgements_are_ignored),
		TEST(test_acknowledgement_of_the_unsent_is_ignored),
		TEST(test_acknowledgement_beyond_the_oldest),
		TEST(test_plain_acknowledgement_answers_no_atomic),
		TEST(test_any_credit_count_acknowledges),
		TEST(test_unsignaled_requests_complete_silently),
		TEST(test_errors_complete_also_unsignaled),
		TEST(test_fatal_nak_flushes_in_order),
		TEST(test_nak_codes),
		TEST(test_fatal_nak_beyond_the_oldest),
		TEST(test_error_state_takes_no_responses),
		TEST(test_error_state_flushes_what_is_posted),
		TEST(test_rnr_waits_and_resends),
		TEST(test_rnr_timer_codes),
		TEST(test_rnr_wait_is_not_disturbed),
		TEST(test_acknowledgement_ends_rnr_wait),
		TEST(test_rnr_retries_are_exhausted),
		TEST(test_rnr_retry_seven_is_endless),
		TEST(test_full_ring_refuses),
		TEST(test_unsignaled_success_frees_its_place),
		TEST(test_bad_work_requests),
		TEST(test_poll_takes_no_more_than_asked),
		TEST(test_status_names),
	};

	return cmocka_run_group_tests_name("requester engine", tests, NULL, NULL);
}
