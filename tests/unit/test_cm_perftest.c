/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exchange with perftest's clients, as those of Debian 12 make it, byte by byte or in one piece.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cm/perftest.h"

static struct cm_perftest exchange;
static unsigned int connected;
static uint32_t revoked; /* the last one, 0: none */
static bool used, used_first, fails;
static struct cm_pt_key last_client;
static uint32_t last_cycle;

static bool connect_qp(void *data, const struct cm_pt_key *client, uint32_t cycle,
		       struct cm_pt_key *ours, char why[CM_PT_WHY_LEN])
{
	assert_ptr_equal(data, &exchange);
	last_client = *client;
	last_cycle = cycle;
	if (fails) {
		snprintf(why, CM_PT_WHY_LEN, "no more");
		return false;
	}
	*ours = (struct cm_pt_key){
		.out_reads = 16,
		.qpn = 0xabc000 + connected++,
		.psn = 0x123456,
		.rkey = 0x2a671,
		.va = 0x7000 + 0x1000 * connected,
	};
	assert_true(xa_ip_parse(&ours->ip, "10.77.0.1"));
	return true;
}

static bool is_used(void *data, uint32_t qpn)
{
	assert_ptr_equal(data, &exchange);
	return qpn ? used_first : used;
}

static void revoke_qp(void *data, uint32_t qpn)
{
	assert_ptr_equal(data, &exchange);
	assert_int_equal(revoked, 0);
	revoked = qpn;
}

static const struct cm_pt_ops ops = {connect_qp, is_used, revoke_qp};

static int set_up(void **state)
{
	(void)state;
	connected = 0;
	revoked = 0;
	used = used_first = fails = false;
	cm_perftest_init(&exchange, &ops, &exchange);
	return 0;
}

/* The client's bytes in pieces of `piece` at most; the verdict on the last one. */
static enum cm_pt_verdict say(const void *bytes, size_t len, size_t piece)
{
	enum cm_pt_verdict verdict = CM_PT_MORE;
	const uint8_t *from = bytes;
	uint8_t *at;

	while (len) {
		size_t n = cm_perftest_room(&exchange, &at);

		assert_int_equal(verdict, CM_PT_MORE);
		n = n < len ? n : len;
		n = n < piece ? n : piece;
		memcpy(at, from, n);
		from += n;
		len -= n;
		verdict = cm_perftest_take(&exchange, n);
	}
	return verdict;
}

static void echoed(const void *bytes, size_t len)
{
	assert_int_equal(say(bytes, len, 999), CM_PT_ANSWER);
	assert_int_equal(exchange.out_len, len);
	assert_memory_equal(exchange.out, bytes, len);
}

static void say_version(const char *version)
{
	char item[16] = "";

	strcpy(item, version);
	assert_int_equal(say(item, sizeof(item), 999), CM_PT_ANSWER);
	assert_memory_equal(exchange.out, "6.06\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(exchange.out_len, 16);
}

static void say_hello(void)
{
	say_version("6.06");
	echoed("\0\0\x10\0", 4);
	echoed("\0\0\0\x40", 4);
	echoed("3", 2);
}

static void key_of(uint32_t qpn, char text[CM_PT_KEY_LEN])
{
	sprintf(text,
		"0000:0080:%06x:699688:0000025c:000055a31842f000:"
		"00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:02:00000000:",
		qpn);
}

static enum cm_pt_verdict say_key(uint32_t qpn)
{
	char key[CM_PT_KEY_LEN];

	key_of(qpn, key);
	return say(key, sizeof(key), 999);
}

static void answered_by(uint32_t client_qpn, uint32_t qpn)
{
	struct cm_pt_key ours;

	assert_int_equal(say_key(client_qpn), CM_PT_ANSWER);
	assert_int_equal(exchange.out_len, CM_PT_KEY_LEN);
	assert_true(cm_pt_key_parse(&ours, (const char *)exchange.out));
	assert_int_equal(ours.qpn, qpn);
}

static void say_report(void)
{
	static const uint8_t figures[5][8] = {{0, 0, 0, 0, 0, 0, 0, 8},
					      {0, 0, 0, 0, 0, 0, 3, 0xe8},
					      {0x3f, 0xb9, 1},
					      {0x40, 0x59, 2},
					      {0x30, 0x64, 3}};

	for (int i = 0; i < 5; i++)
		echoed(figures[i], 8);
}

static void test_key_text(void **state)
{
	char text[CM_PT_KEY_LEN], again[CM_PT_KEY_LEN];
	struct cm_pt_key key;
	struct xa_ip ip;

	(void)state;
	key_of(0x11, text);
	assert_int_equal(strlen(text), CM_PT_KEY_LEN - 1);
	assert_true(cm_pt_key_parse(&key, text));
	assert_true(xa_ip_parse(&ip, "10.77.0.2"));
	assert_int_equal(key.out_reads, 0x80);
	assert_int_equal(key.qpn, 0x11);
	assert_int_equal(key.psn, 0x699688);
	assert_int_equal(key.rkey, 0x25c);
	assert_int_equal(key.va, 0x55a31842f000);
	assert_true(xa_ip_equal(&key.ip, &ip));
	cm_pt_key_print(&key, again);
	assert_memory_equal(again, text, sizeof(text));
}

static void test_key_garbage(void **state)
{
	char text[CM_PT_KEY_LEN];
	struct cm_pt_key key;

	(void)state;
	for (size_t i = 0; i < CM_PT_KEY_LEN; i++) {
		key_of(0x11, text);
		text[i] = text[i] == ':' ? '0' : 'G';
		assert_false(cm_pt_key_parse(&key, text));
		text[i] = '\0';
		assert_int_equal(cm_pt_key_parse(&key, text), i == CM_PT_KEY_LEN - 1);
	}
}

static void test_latency(void **state)
{
	(void)state;
	say_hello();
	answered_by(0x11, 0xabc000);
	answered_by(0x11, 0xabc001); /* behind which it connects */
	answered_by(0x11, 0xabc001);
	assert_int_equal(revoked, 0);
	answered_by(0x11, 0xabc001);
	assert_int_equal(revoked, 0xabc000);
	assert_true(cm_perftest_is_running(&exchange));
	used = true;
	answered_by(0x11, 0xabc001);
	assert_int_equal(say("done", 5, 999), CM_PT_CLOSE);
	assert_memory_equal(exchange.out, "done", 5);
	assert_int_equal(connected, 2);
	assert_int_equal(last_cycle, 4096);
	assert_int_equal(last_client.psn, 0x699688);
	assert_null(cm_perftest_hung_up(&exchange));
}

static void end_of_bandwidth(uint32_t qpn)
{
	assert_true(cm_perftest_is_running(&exchange));
	used = true;
	answered_by(0x11, qpn);
	say_report();
	answered_by(0x11, qpn);
	assert_int_equal(say("done", 5, 999), CM_PT_CLOSE);
	assert_int_equal(revoked, 0);
	assert_null(cm_perftest_hung_up(&exchange));
}

static void bandwidth(unsigned int qps)
{
	set_up(NULL);
	say_hello();
	for (int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < qps; i++)
			answered_by(0x11 + i, 0xabc000 + i);
	answered_by(0x11, 0xabc000);
	end_of_bandwidth(0xabc000);
	assert_int_equal(connected, qps);
}

/* Behind its first key it connects, so the queue pair of the answer to that must stay. */
static void test_bandwidth_with_one(void **state)
{
	(void)state;
	say_hello();
	answered_by(0x11, 0xabc000);
	answered_by(0x11, 0xabc001);
	answered_by(0x11, 0xabc001);
	end_of_bandwidth(0xabc001);
}

static void test_bandwidth(void **state)
{
	(void)state;
	bandwidth(2);
	bandwidth(8);
	bandwidth(CM_PT_MAX_QPS);
}

static void test_byte_by_byte(void **state)
{
	char key[CM_PT_KEY_LEN];

	(void)state;
	say_hello();
	key_of(0x11, key);
	assert_int_equal(say(key, sizeof(key), 1), CM_PT_ANSWER);
	assert_int_equal(say("done", 5, 1), CM_PT_CLOSE);
}

/* Whoever wants atomics of us too sends a key before the run, where others send it behind. */
static void test_bidirectional(void **state)
{
	(void)state;
	say_hello();
	answered_by(0x11, 0xabc000); /* behind which it connects */
	for (int i = 0; i < 3; i++)
		answered_by(0x11, 0xabc001);
	assert_int_equal(revoked, 0xabc000);
	assert_null(cm_perftest_hung_up(&exchange));
	used_first = true;
	assert_non_null(strstr(cm_perftest_hung_up(&exchange), "-b"));
	assert_int_equal(say("\0", 1, 999), CM_PT_REFUSED);
	assert_non_null(strstr(exchange.why, "-b"));
}

/* Where only one queue pair is to be had, it is found out later. */
static void test_bidirectional_without_twin(void **state)
{
	(void)state;
	say_hello();
	answered_by(0x11, 0xabc000);
	fails = true;
	for (int i = 0; i < 3; i++)
		answered_by(0x11, 0xabc000);
	used = true;
	assert_int_equal(revoked, 0);
	assert_null(cm_perftest_hung_up(&exchange));
	assert_int_equal(say("\0", 1, 999), CM_PT_REFUSED);
	assert_non_null(strstr(exchange.why, "-b"));
}

static void test_bidirectional_with_many(void **state)
{
	(void)state;
	say_hello();
	for (int i = 0; i < 4; i++)
		answered_by(0x11 + i % 2, 0xabc000 + i % 2);
	answered_by(0x11, 0xabc000);
	assert_int_equal(say_key(0x11), CM_PT_REFUSED);
	assert_non_null(strstr(exchange.why, "-b"));
}

/* From 6.28 on clients would exchange more, if we said that we are as new. */
static void test_versions(void **state)
{
	char old[16] = "5.33", none[16] = "GET / HTTP/1.1";

	(void)state;
	say_version("5.70");
	set_up(NULL);
	say_version("6.28");
	set_up(NULL);
	assert_int_equal(say(old, sizeof(old), 999), CM_PT_REFUSED);
	set_up(NULL);
	assert_int_equal(say(none, sizeof(none), 999), CM_PT_REFUSED);
}

static void test_nonsense(void **state)
{
	char key[CM_PT_KEY_LEN] = "0";

	(void)state;
	say_version("6.06");
	assert_int_equal(say("\0\0\0\0", 4, 999), CM_PT_REFUSED);
	set_up(NULL);
	say_version("6.06");
	assert_int_equal(say("\xff\xff\xff\xff", 4, 999), CM_PT_REFUSED);
	set_up(NULL);
	say_version("6.06");
	echoed("\0\0\x10\0", 4);
	echoed("\0\0\0\x40", 4);
	assert_int_equal(say("9", 2, 999), CM_PT_REFUSED);
	set_up(NULL);
	say_hello();
	assert_int_equal(say("x", 1, 999), CM_PT_REFUSED);
	set_up(NULL);
	say_hello();
	assert_int_equal(say("dead!", 5, 999), CM_PT_REFUSED);
	set_up(NULL);
	say_hello();
	assert_int_equal(say(key, sizeof(key), 999), CM_PT_REFUSED);
	assert_int_equal(connected, 0);
}

static void test_no_queue_pair(void **state)
{
	(void)state;
	say_hello();
	fails = true;
	assert_int_equal(say_key(0x11), CM_PT_REFUSED);
	assert_string_equal(exchange.why, "no more");
	set_up(NULL);
	say_hello();
	for (int i = 0; i < CM_PT_MAX_QPS; i++)
		assert_int_equal(say_key(0x1000 + i), CM_PT_ANSWER);
	assert_int_equal(say_key(0x99), CM_PT_REFUSED);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_key_text),
		TEST(test_key_garbage),
		TEST(test_latency),
		TEST(test_bandwidth),
		TEST(test_byte_by_byte),
		TEST(test_bandwidth_with_one),
		TEST(test_bidirectional),
		TEST(test_bidirectional_without_twin),
		TEST(test_bidirectional_with_many),
		TEST(test_versions),
		TEST(test_nonsense),
		TEST(test_no_queue_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
