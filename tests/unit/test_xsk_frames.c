/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames through the rings of an AF_XDP socket, in memory that the test plays the kernel on.
 */
#include <linux/if_xdp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "requester/xsk.h"

enum { HEADROOM = 256, ROUNDS = 5000 };

/* What both sides share. */
static struct shared {
	uint32_t producer, consumer;
	union {
		uint64_t offsets[XA_XSK_RX_FRAMES];
		struct xdp_desc descs[XA_XSK_RX_FRAMES];
	};
} fill, rx, tx, completion;

static uint8_t memory[XA_XSK_MEMORY];
static struct xa_xsk xsk;
static struct xa_frame frames[XA_BATCH];
static uint32_t fill_seen, tx_seen; /* the kernel's indices */

static struct xa_ring ring(struct shared *shared, uint32_t size)
{
	return (struct xa_ring){
		.producer = &shared->producer,
		.consumer = &shared->consumer,
		.entries = shared->offsets,
		.mask = size - 1,
	};
}

static int set_up(void **state)
{
	(void)state;
	memset(&fill, 0, sizeof(fill));
	memset(&rx, 0, sizeof(rx));
	memset(&tx, 0, sizeof(tx));
	memset(&completion, 0, sizeof(completion));
	xsk = (struct xa_xsk){
		.memory = {.base = memory, .size = sizeof(memory)},
		.fill = ring(&fill, XA_XSK_RX_FRAMES),
		.rx = ring(&rx, XA_XSK_RX_FRAMES),
		.tx = ring(&tx, XA_XSK_TX_FRAMES),
		.completion = ring(&completion, XA_XSK_TX_FRAMES),
	};
	fill_seen = tx_seen = 0;
	xa_xsk_fill(&xsk);
	return 0;
}

static uint64_t take_fill(void)
{
	assert_true(fill_seen != fill.producer);
	return fill.offsets[fill_seen++ % XA_XSK_RX_FRAMES];
}

/* The kernel receives a frame of `len` bytes of the value `byte`. */
static void deliver(uint8_t byte, uint32_t len)
{
	uint64_t offset = take_fill() + HEADROOM;

	fill.consumer = fill_seen;
	memset(memory + offset, byte, len);
	rx.descs[rx.producer % XA_XSK_RX_FRAMES] = (struct xdp_desc){.addr = offset, .len = len};
	rx.producer++;
}

/* The kernel sends a frame, and is done with it. Returns its first byte. */
static uint8_t send_one(uint32_t len)
{
	struct xdp_desc *desc = &tx.descs[tx_seen++ % XA_XSK_TX_FRAMES];

	assert_true(tx_seen <= tx.producer);
	tx.consumer = tx_seen;
	assert_int_equal(desc->len, len);
	assert_int_equal(desc->options, 0);
	assert_in_range(desc->addr, XA_XSK_RX_FRAMES * XA_XSK_CHUNK, XA_XSK_MEMORY - len);
	completion.offsets[completion.producer++ % XA_XSK_TX_FRAMES] = desc->addr;
	return memory[desc->addr];
}

static void test_every_frame_is_given_once(void **state)
{
	static bool seen[XA_XSK_RX_FRAMES];

	(void)state;
	assert_int_equal(fill.producer, XA_XSK_RX_FRAMES);
	for (int i = 0; i < XA_XSK_RX_FRAMES; i++) {
		uint64_t offset = take_fill();

		assert_int_equal(offset % XA_XSK_CHUNK, 0);
		assert_in_range(offset / XA_XSK_CHUNK, 0, XA_XSK_RX_FRAMES - 1);
		assert_false(seen[offset / XA_XSK_CHUNK]);
		seen[offset / XA_XSK_CHUNK] = true;
	}
	assert_int_equal(xsk.spares, XA_XSK_TX_FRAMES);
}

static void test_nothing_has_arrived(void **state)
{
	(void)state;
	assert_int_equal(xa_xsk_take(&xsk, frames, XA_BATCH), 0);
	assert_int_equal(fill.producer, XA_XSK_RX_FRAMES);
}

static void test_receiving_goes_round(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned int n = 1 + round % XA_BATCH;

		for (unsigned int i = 0; i < n; i++)
			deliver(round + i, 70);
		assert_int_equal(xa_xsk_take(&xsk, frames, XA_BATCH), n);
		for (unsigned int i = 0; i < n; i++) {
			assert_int_equal(frames[i].len, 70);
			assert_int_equal(frames[i].bytes[0], (uint8_t)(round + i));
			assert_int_equal(frames[i].bytes[69], (uint8_t)(round + i));
		}
		assert_int_equal(rx.consumer, rx.producer);
		assert_int_equal(fill.producer - fill_seen, XA_XSK_RX_FRAMES);
	}
}

static void test_a_batch_at_a_time(void **state)
{
	(void)state;
	for (int i = 0; i < XA_XSK_RX_FRAMES; i++)
		deliver(i, 62);
	for (int at = 0; at < XA_XSK_RX_FRAMES; at += XA_BATCH) {
		assert_int_equal(xa_xsk_take(&xsk, frames, XA_BATCH), XA_BATCH);
		assert_int_equal(frames[0].bytes[0], (uint8_t)at);
	}
	assert_int_equal(xa_xsk_take(&xsk, frames, XA_BATCH), 0);
}

static void test_long_frames_arrive_cut(void **state)
{
	(void)state;
	deliver(7, 1500);
	assert_int_equal(xa_xsk_take(&xsk, frames, XA_BATCH), 1);
	assert_int_equal(frames[0].len, XA_FRAME_MAX);
}

static void test_sending_goes_round(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned int n = 1 + round % XA_BATCH;

		for (unsigned int i = 0; i < n; i++) {
			frames[i].len = 86;
			memset(frames[i].bytes, round + i, 86);
		}
		assert_int_equal(xa_xsk_put(&xsk, frames, n), n);
		assert_true(xa_xsk_is_sending(&xsk));
		for (unsigned int i = 0; i < n; i++)
			assert_int_equal(send_one(86), (uint8_t)(round + i));
		assert_false(xa_xsk_is_sending(&xsk));
	}
}

static void test_a_full_ring_takes_no_more(void **state)
{
	unsigned int sent = 0, n;

	(void)state;
	frames[0].len = 86;
	while ((n = xa_xsk_put(&xsk, frames, XA_BATCH)))
		sent += n;
	assert_int_equal(sent, XA_XSK_TX_FRAMES);
	/* Taken out of the ring, but not sent yet: there is still no memory to fill. */
	tx.consumer += 10;
	assert_int_equal(xa_xsk_put(&xsk, frames, XA_BATCH), 0);
	tx_seen = 0;
	for (int i = 0; i < 10; i++)
		send_one(tx.descs[i].len);
	assert_int_equal(xa_xsk_put(&xsk, frames, XA_BATCH), 10);
}

static void test_indices_wrap(void **state)
{
	const uint32_t start = UINT32_MAX - 20; /* after a day at full speed */

	(void)state;
	tx.producer = tx.consumer = xsk.tx.own = start;
	completion.producer = completion.consumer = xsk.completion.own = start;
	frames[0].len = 86;
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t offset;

		assert_int_equal(xa_xsk_put(&xsk, frames, 1), 1);
		assert_int_equal(tx.producer, start + i + 1);
		offset = tx.descs[(start + i) % XA_XSK_TX_FRAMES].addr;
		tx.consumer++;
		completion.offsets[completion.producer++ % XA_XSK_TX_FRAMES] = offset;
		assert_false(xa_xsk_is_sending(&xsk));
	}
	assert_int_equal(xsk.spares, XA_XSK_TX_FRAMES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_every_frame_is_given_once, set_up),
		cmocka_unit_test_setup(test_nothing_has_arrived, set_up),
		cmocka_unit_test_setup(test_receiving_goes_round, set_up),
		cmocka_unit_test_setup(test_a_batch_at_a_time, set_up),
		cmocka_unit_test_setup(test_long_frames_arrive_cut, set_up),
		cmocka_unit_test_setup(test_sending_goes_round, set_up),
		cmocka_unit_test_setup(test_a_full_ring_takes_no_more, set_up),
		cmocka_unit_test_setup(test_indices_wrap, set_up),
	};

	return cmocka_run_group_tests_name("AF_XDP rings", tests, NULL, NULL);
}
