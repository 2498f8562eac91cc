/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shapes of JSON objects, key by key and in order, and how --local is chosen.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/cli.h"
#include "common/output.h"
#include "lib/words.h"
#include "xatomic/mr.h"
#include "capture.h"

static void assert_json(struct json_object *object, const char *wanted)
{
	assert_string_equal(
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							       JSON_C_TO_STRING_NOSLASHESCAPE),
		wanted);
	json_object_put(object);
}

static void test_mr(void **state)
{
	const struct xa_instance instance = {.name = "default", .dir = "/b/xatomic/default"};
	const struct xa_mr mr = {
		.iova = 0xfffffffffffff000,
		.length = 64,
		.rkey = 0x1234ab,
		.pdn = 3,
		.state = XA_MR_VALID,
		.access = XA_ACCESS_WRITE | XA_ACCESS_ATOMIC,
		.name = "locks",
	};

	(void)state;
	assert_json(cli_mr_json(&instance, &mr),
		    "{\"name\":\"locks\",\"rkey\":1193131,\"iova\":18446744073709547520,\"length\":"
		    "64,\"pdn\":3,"
		    "\"access\":\"atomic,write\",\"map\":\"/b/xatomic/default/mr/locks\"}");
}

static struct xa_qp some_qp(void)
{
	struct xa_qp qp = {
		.ctl = {.epsn = 3101, .state = XA_QP_RTR},
		.qpn = 0x11,
		.rqpn = 0x2f,
		.msn = 7,
		.pdn = 1,
		.access = XA_ACCESS_ATOMIC,
		.family = XA_IPV4,
		.depth = 16,
		.requests = 9,
		.replayed = 1,
		.duplicates_dropped = 2,
	};
	struct xa_ip peer, local;

	assert_true(xa_ip_parse(&peer, "10.0.0.1") && xa_ip_parse(&local, "10.0.0.2"));
	memcpy(qp.peer, peer.gid, sizeof(qp.peer));
	memcpy(qp.local, local.gid, sizeof(qp.local));
	return qp;
}

#define QP_JSON                                                                                    \
	"{\"lqpn\":17,\"rqpn\":47,\"pdn\":1,\"state\":\"RTR\",\"rq-psn\":3101,\"peer\":\"10.0.0."  \
	"1\","                                                                                     \
	"\"local\":\"10.0.0.2\",\"depth\":16,\"msn\":7,\"access\":\"atomic\""

static void test_qp(void **state)
{
	struct xa_qp qp = some_qp();

	(void)state;
	assert_json(cli_qp_json(&qp, false), QP_JSON "}");
	assert_json(cli_qp_json(&qp, true), QP_JSON
		    ",\"requests\":9,\"replayed\":1,\"duplicates_dropped\":2,\"sequence_naks\":0,"
		    "\"fatal_naks\":0,\"last_nak\":null}");
}

static void test_qp_after_nak(void **state)
{
	struct xa_qp qp = some_qp();
	struct json_object *object, *nak;

	(void)state;
	qp.ctl.state = XA_QP_ERR;
	qp.fatal_naks = 1;
	qp.last_nak = (struct xa_nak){.va = 0x100000008,
				      .rkey = 0x1234ab,
				      .psn = 3101,
				      .reason = XA_REASON_bounds,
				      .opcode = 0x14};
	object = cli_qp_json(&qp, true);
	assert_string_equal(json_object_get_string(json_object_object_get(object, "state")), "ERR");
	assert_true(json_object_object_get_ex(object, "last_nak", &nak));
	assert_json(json_object_get(nak),
		    "{\"reason\":\"bounds\",\"psn\":3101,\"rkey\":1193131,\"va\":4294967304}");
	json_object_put(object);
}

static void test_counts(void **state)
{
	__u64 counts[XA_CLASS_COUNT][XA_REASON_COUNT] = {0};
	struct json_object *object, *class;

	(void)state;
	counts[XA_CLASS_FETCH_ADD][XA_REASON_executed] = UINT64_MAX;
	object = cli_counts_json(counts);
	assert_int_equal(json_object_object_length(object), XA_CLASS_COUNT);
	assert_true(json_object_object_get_ex(object, "cmp_swap", &class));
	assert_int_equal(json_object_object_length(class), XA_REASON_COUNT);
	assert_true(json_object_object_get_ex(object, "other", &class));
	assert_int_equal(json_object_object_length(class), XA_REASON_COUNT);
	assert_true(json_object_object_get_ex(object, "fetch_add", &class));
	assert_true(json_object_get_uint64(json_object_object_get(class, "executed")) ==
		    UINT64_MAX);
	assert_true(json_object_object_get_ex(class, "duplicate_differs", NULL));
	json_object_put(object);
}

static void test_event(void **state)
{
	const struct xa_event event = {
		.time_ns = 2000001000,
		.type = XA_EVENT_QP_ACCESS_ERR,
		.reason = XA_REASON_rkey,
		.lqpn = 17,
		.psn = 5,
		.va = 8,
		.rkey = 9,
		.opcode = 0x13,
	};

	(void)state;
	assert_json(
		cli_event_json(&event, 1600000000000000000),
		"{\"time\":\"2020-09-13T12:26:42.000001Z\",\"event\":\"QP_ACCESS_ERR\",\"lqpn\":17,"
		"\"reason\":\"rkey\",\"psn\":5,\"rkey\":9,\"va\":8,\"opcode\":19}");
}

static void print_captured(const struct xa_globals *globals, struct json_object *object)
{
	struct capture capture;

	begin_capture(&capture, stdout, STDOUT_FILENO);
	assert_int_equal(xa_print(globals, object), 0);
	end_capture(&capture, stdout, captured_out, sizeof(captured_out));
}

/* Text is the same object: one line, keys and values, hexadecimal where people read that. */
static void test_text(void **state)
{
	const struct xa_globals text = {0}, json = {.json = true};
	struct json_object *array = json_object_new_array(), *object = json_object_new_object();
	struct xa_qp qp = some_qp();

	(void)state;
	xa_put_text(object, "name", "locks");
	xa_put_number(object, "rkey", 0x1234ab);
	xa_put_number(object, "length", 64);
	json_object_object_add(object, "nothing", NULL);
	print_captured(&text, object);
	assert_string_equal(captured_out, "name locks rkey 0x1234ab length 64\n");
	qp.sequence_naks = 1;
	json_object_array_add(array, cli_qp_json(&qp, false));
	json_object_array_add(array, cli_qp_json(&qp, true));
	print_captured(&text, json_object_get(array));
	assert_int_equal(lines_of(captured_out), 2);
	assert_non_null(strstr(captured_out, "last_nak (reason executed psn 0 rkey 0x0 va 0x0)\n"));
	print_captured(&json, array);
	assert_int_equal(lines_of(captured_out), 1);
	print_captured(&text, json_object_new_array());
	assert_string_equal(captured_out, "");
	print_captured(&json, json_object_new_array());
	assert_string_equal(captured_out, "[]\n");
}

static void test_words(void **state)
{
	char text[XA_ACCESS_TEXT_LEN];

	(void)state;
	assert_string_equal(xa_reason_word(XA_REASON_busy), "busy");
	assert_string_equal(xa_reason_word(XA_REASON_COUNT), "unknown");
	assert_string_equal(xa_reason_verdict(XA_REASON_replayed), "tx");
	assert_string_equal(xa_reason_verdict(XA_REASON_alignment), "nak");
	assert_string_equal(xa_reason_verdict(XA_REASON_foreign), "pass");
	assert_string_equal(xa_reason_verdict(XA_REASON_icrc), "drop");
	assert_string_equal(xa_access_text(14, text), "atomic,read,write");
	assert_string_equal(xa_access_text(4, text), "read");
	assert_string_equal(xa_access_text(0, text), "");
}

static struct xa_ip ips[4];

static int choose(const char *peer_text, struct xa_ip *local, int count, ...)
{
	struct xa_interface list[2] = {{.ips = ips}, {.ips = ips + 1}};
	struct xa_interfaces interfaces = {.list = list, .count = count ? 2 : 0};
	struct xa_ip peer;
	va_list args;

	va_start(args, count);
	for (int i = 0; i < count; i++)
		assert_true(xa_ip_parse(&ips[i], va_arg(args, const char *)));
	va_end(args);
	list[0].ip_count = 1;
	list[1].ip_count = count > 1 ? count - 1 : 0;
	assert_true(xa_ip_parse(&peer, peer_text));
	return cli_choose_local(&interfaces, &peer, local);
}

static void assert_chosen(const struct xa_ip *local, const char *wanted)
{
	char text[INET6_ADDRSTRLEN];

	assert_string_equal(xa_ip_text(local, text), wanted);
}

static void test_choose_local(void **state)
{
	struct xa_ip local;

	(void)state;
	assert_int_equal(choose("10.0.0.9", &local, 2, "10.0.0.1", "fe80::1"), 0);
	assert_chosen(&local, "10.0.0.1");
	assert_int_equal(choose("10.0.0.9", &local, 3, "10.0.0.1", "10.0.0.1", "fd00::1"), 0);
	assert_chosen(&local, "10.0.0.1");
	assert_int_equal(choose("fd00::9", &local, 3, "10.0.0.1", "fe80::1", "fd00::1"), 0);
	assert_chosen(&local, "fd00::1");
	assert_int_equal(choose("fe80::9", &local, 3, "10.0.0.1", "fe80::1", "fd00::1"), 0);
	assert_chosen(&local, "fe80::1");
	assert_int_equal(choose("fd00::9", &local, 2, "10.0.0.1", "fe80::1"), 0);
	assert_chosen(&local, "fe80::1");
	assert_int_equal(choose("10.0.0.9", &local, 2, "10.0.0.1", "10.0.0.2"), -1);
	assert_non_null(strstr(xatomic_error(), "more than one IPv4 address"));
	assert_int_equal(choose("fd00::9", &local, 1, "10.0.0.1"), -1);
	assert_non_null(strstr(xatomic_error(), "no IPv6 address"));
	assert_int_equal(choose("10.0.0.9", &local, 0), -1);
	assert_non_null(strstr(xatomic_error(), "no IPv4 address"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mr),           cmocka_unit_test(test_qp),
		cmocka_unit_test(test_qp_after_nak), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_event),        cmocka_unit_test(test_text),
		cmocka_unit_test(test_words),        cmocka_unit_test(test_choose_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
