/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference model itself: published packets for its ICRC, computed vectors for requests and replies,
 * and the scenes that everybody tells of atomics.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../lib/packet.h"
#include "../model/model.h"

enum { CAS = 0x13, FADD = 0x14, SLOT = 0, SERVER_QPN = 0x11, CLIENT_QPN = 0x2f };

static const uint8_t client[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
static const uint8_t server[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
static const uint8_t client6[16] = {0xfd, [15] = 1};
static const uint8_t server6[16] = {0xfd, [15] = 2};

static struct model model;
static struct model_result result;

static void new_model(bool ipv6, uint32_t psn)
{
	struct model_qp_attr qp = {
		.ipv6 = ipv6,
		.qpn = SERVER_QPN,
		.rqpn = CLIENT_QPN,
		.psn = psn,
		.access = XA_ACCESS_ATOMIC,
		.depth = 4,
	};
	struct model_mr_attr mr = {
		.rkey = 0x1234ab,
		.access = XA_ACCESS_ATOMIC,
		.iova = 0x100000000,
		.length = 64,
	};

	memset(&model, 0, sizeof(model));
	memcpy(qp.peer, ipv6 ? client6 : client, 16);
	memcpy(qp.local, ipv6 ? server6 : server, 16);
	model_qp_add(&model, SLOT, &qp);
	model_mr_add(&model, SLOT, &mr);
}

static struct packet request(bool ipv6, uint8_t opcode, uint32_t psn, unsigned word,
			     uint64_t swap_add, uint64_t compare)
{
	struct packet p;

	packet_init(&p, ipv6 ? XA_IPV6 : XA_IPV4);
	memcpy(p.src, ipv6 ? client6 : client, 16);
	memcpy(p.dst, ipv6 ? server6 : server, 16);
	p.ttl = 64;
	p.opcode = opcode;
	p.qpn = SERVER_QPN;
	p.psn = psn;
	p.va = 0x100000000 + 8 * word;
	p.rkey = 0x1234ab;
	p.swap_add = swap_add;
	p.compare = compare;
	return p;
}

static void receive(const struct packet *p)
{
	uint8_t frame[PACKET_MAX];

	model_receive(&model, frame, packet_build(p, frame), &result);
}

static void send_atomic(uint8_t opcode, uint32_t psn, unsigned word, uint64_t swap_add,
			uint64_t compare)
{
	struct packet p = request(false, opcode, psn, word, swap_add, compare);

	receive(&p);
}

static uint64_t original(void)
{
	struct answer answer;

	answer_parse(result.reply, &answer);
	assert_int_equal(answer.opcode, 0x12);
	return answer.original;
}

static void expect_ip_bytes(const uint8_t *frame, size_t len, const char *hex)
{
	char text[2 * PACKET_MAX + 1];

	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", frame[i]);
	assert_string_equal(text + 2 * PACKET_ETH_LEN, hex);
}

/* A CNP as a ConnectX-4 Lx sent it (scapy's test data). */
static void icrc_of_captured_cnp(void **state)
{
	static const uint8_t cnp[] = {
		0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00,
		0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
		0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};

	(void)state;
	assert_int_equal(model_icrc(cnp, false, sizeof(cnp) - 28, MODEL_FAULT_none), 0x2a00fd82);
}

static void fetch_add_vector(void **state)
{
	struct packet p = request(false, FADD, 0xfe, 1, 5, 0);
	uint8_t frame[PACKET_MAX];
	size_t len = packet_build(&p, frame);

	(void)state;
	new_model(false, 0xfe);
	model.mrs[SLOT].words[1] = 0x29;
	expect_ip_bytes(frame, len,
			"450000481c46400040110a5d0a0000010a000002c12312b7003400001400ffff00000011"
			"800000fe0000000100000008001234ab00000000000000050000000000000000be630bbd");
	receive(&p);
	assert_int_equal(result.verdict, MODEL_TX);
	expect_ip_bytes(result.reply, result.reply_len,
			"450000381c46400040110a6d0a0000020a000001c12312b7002400001200ffff0000002f"
			"000000fe1f0000010000000000000029fc8da472");
	assert_int_equal(model.mrs[SLOT].words[1], 0x2e);
}

static void cmp_swap_vector(void **state)
{
	struct packet p = request(false, CAS, 0xffffff, 2, 0x1122334455667788, 0);
	uint8_t frame[PACKET_MAX];
	size_t len = packet_build(&p, frame);

	(void)state;
	new_model(false, 0xffffff);
	expect_ip_bytes(frame, len,
			"450000481c46400040110a5d0a0000010a000002c12312b7003400001300ffff00000011"
			"80ffffff0000000100000010001234ab11223344556677880000000000000000f70dee85");
	receive(&p);
	assert_int_equal(result.reason, XA_REASON_executed);
	assert_int_equal(model.mrs[SLOT].words[2], 0x1122334455667788);
	assert_int_equal(model.qps[SLOT].epsn, 0);
}

static void nak_vectors(void **state)
{
	struct packet p = request(false, FADD, 0xfe, 1, 5, 0);

	(void)state;
	new_model(false, 0xfd);
	receive(&p);
	assert_int_equal(result.reason, XA_REASON_sequence);
	expect_ip_bytes(result.reply, result.reply_len,
			"450000301c46400040110a750a0000020a000001c12312b7001c00001100ffff0000002f"
			"000000fd60000000ebcc1aab");
	new_model(false, 0xfe);
	p.va += 64;
	receive(&p);
	assert_int_equal(result.reason, XA_REASON_bounds);
	expect_ip_bytes(result.reply, result.reply_len,
			"450000301c46400040110a750a0000020a000001c12312b7001c00001100ffff0000002f"
			"000000fe62000000b07eb346");
}

static void expect_icrc(const uint8_t *end, uint32_t icrc)
{
	assert_int_equal((uint32_t)end[-4] << 24 | end[-3] << 16 | end[-2] << 8 | end[-1], icrc);
}

static void ipv6_vectors(void **state)
{
	struct packet p = request(true, FADD, 0xfe, 1, 5, 0);
	uint8_t frame[PACKET_MAX];
	size_t len = packet_build(&p, frame);

	(void)state;
	new_model(true, 0xfe);
	model.mrs[SLOT].words[1] = 0x29;
	expect_icrc(frame + len, 0xcbb59b3f);
	receive(&p);
	assert_int_equal(result.reason, XA_REASON_executed);
	expect_icrc(result.reply + result.reply_len, 0x29fdab56);
	new_model(true, 0xfd);
	receive(&p);
	expect_icrc(result.reply + result.reply_len, 0x2397b8a6);
	new_model(true, 0xfe);
	p.rkey ^= 1;
	receive(&p);
	assert_int_equal(result.reason, XA_REASON_rkey);
	expect_icrc(result.reply + result.reply_len, 0x7825114b);
}

/* A word holds 5: compare 5, swap 9. The second time it holds something else. */
static void compare_and_swap(void **state)
{
	(void)state;
	new_model(false, 7);
	model.mrs[SLOT].words[0] = 5;
	send_atomic(CAS, 7, 0, 9, 5);
	assert_int_equal(original(), 5);
	assert_int_equal(model.mrs[SLOT].words[0], 9);
	model.mrs[SLOT].words[0] = 7;
	send_atomic(CAS, 8, 0, 9, 5);
	assert_int_equal(original(), 7);
	assert_int_equal(model.mrs[SLOT].words[0], 7);
}

/* A counter holds 41: the acknowledgement of an add at PSN 3100 is lost, the duplicate gets 41 again. */
static void duplicate_fetch_add(void **state)
{
	(void)state;
	new_model(false, 3100);
	model.mrs[SLOT].words[0] = 41;
	send_atomic(FADD, 3100, 0, 1, 0);
	assert_int_equal(original(), 41);
	for (int i = 0; i < 3; i++) {
		send_atomic(FADD, 3100, 0, 1, i);
		assert_int_equal(result.reason, XA_REASON_replayed);
		assert_int_equal(original(), 41);
		assert_int_equal(model.mrs[SLOT].words[0], 42);
		assert_int_equal(model.qps[SLOT].epsn, 3101);
	}
	send_atomic(FADD, 3100, 0, 2, 0);
	assert_int_equal(result.reason, XA_REASON_duplicate_differs);
	assert_int_equal(result.verdict, MODEL_DROP);
	assert_int_equal(model.mrs[SLOT].words[0], 42);
}

/* The window holds 4; older ones are dropped in silence, the replayed answer has the current MSN. */
static void window(void **state)
{
	struct answer answer;

	(void)state;
	new_model(false, 0xfffffe);
	for (uint32_t i = 0; i < 5; i++)
		send_atomic(FADD, (0xfffffe + i) & 0xffffff, 0, 1, 0);
	send_atomic(FADD, 0xffffff, 0, 1, 0);
	answer_parse(result.reply, &answer);
	assert_int_equal(answer.original, 1);
	assert_int_equal(answer.msn, 5);
	send_atomic(FADD, 0xfffffe, 0, 1, 0);
	assert_int_equal(result.reason, XA_REASON_duplicate_lost);
	model_qp_reset(&model, SLOT, 3);
	send_atomic(FADD, 2, 0, 1, 0);
	assert_int_equal(result.reason, XA_REASON_duplicate_lost);
	assert_int_equal(model.mrs[SLOT].words[0], 5);
}

static void naks(void **state)
{
	(void)state;
	new_model(false, 10);
	send_atomic(FADD, 11, 0, 1, 0);
	assert_int_equal(result.reason, XA_REASON_sequence);
	send_atomic(FADD, 12, 0, 1, 0);
	assert_int_equal(result.reason, XA_REASON_ahead);
	send_atomic(FADD, 10, 0, 1, 0);
	assert_int_equal(result.reason, XA_REASON_executed);
	send_atomic(FADD, 12, 0, 1, 0);
	assert_int_equal(result.reason, XA_REASON_sequence);
	send_atomic(FADD, 11, 8, 1, 0);
	assert_int_equal(result.reason, XA_REASON_bounds);
	assert_true(result.fatal);
	send_atomic(FADD, 11, 0, 1, 0);
	assert_int_equal(result.reason, XA_REASON_qp_state);
	model_qp_reset(&model, SLOT, 11);
	send_atomic(FADD, 11, 0, 1, 0);
	assert_int_equal(result.reason, XA_REASON_executed);
	assert_int_equal(model.qps[SLOT].msn, 1);
	assert_int_equal(model.mrs[SLOT].words[0], 2);
}

/* Each fault is only a fault when the model with it does something else: see test_differential. */
static void faults_have_names(void **state)
{
	(void)state;
	for (int fault = 0; fault < MODEL_FAULT_COUNT; fault++)
		for (int other = 0; other < fault; other++)
			assert_string_not_equal(model_fault_name(fault), model_fault_name(other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(icrc_of_captured_cnp),
		cmocka_unit_test(fetch_add_vector),
		cmocka_unit_test(cmp_swap_vector),
		cmocka_unit_test(nak_vectors),
		cmocka_unit_test(ipv6_vectors),
		cmocka_unit_test(compare_and_swap),
		cmocka_unit_test(duplicate_fetch_add),
		cmocka_unit_test(window),
		cmocka_unit_test(naks),
		cmocka_unit_test(faults_have_names),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
