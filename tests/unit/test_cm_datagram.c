/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CM datagrams: what soft-RoCE sends is read and means what it should, what we send is the same to the byte when
 * it says the same, and nothing but a whole and right one is taken.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cm/datagram.h"
#include "cm_vectors.h"
#include "lib/icrc.h"

enum { FRAME_LEN = 14 + 20 + 8 + 280, L3 = 14, BTH = L3 + 28, MAD = BTH + 20 };

static size_t read_hex(const char *hex, uint8_t *frame)
{
	size_t len = strlen(hex) / 2;
	unsigned int byte;

	for (size_t i = 0; i < len; i++) {
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		frame[i] = byte;
	}
	return len;
}

static void parse(const char *hex, struct cm_way *way, struct cm_mad *mad)
{
	uint8_t frame[XA_GSI_FRAME_MAX];
	size_t len = read_hex(hex, frame);

	memset(way, 0, sizeof(*way));
	assert_int_equal(len, FRAME_LEN);
	assert_true(cm_datagram_parse(frame, len, way, mad));
}

static void test_captured_req(void **state)
{
	struct cm_way way;
	struct cm_mad mad;
	struct xa_ip client, server;

	(void)state;
	parse(cm_req, &way, &mad);
	assert_true(xa_ip_parse(&client, "10.77.0.2"));
	assert_true(xa_ip_parse(&server, "10.77.0.3"));
	assert_true(xa_ip_equal(&way.path.peer, &client));
	assert_true(xa_ip_equal(&way.path.local, &server));
	assert_int_equal(cm_mad_attribute(&mad), CM_REQ);
	assert_int_equal(cm_mad_tid(&mad), 0x240c29137);
	assert_int_equal(cm_mad_local_id(&mad), 0x3791c240);
	assert_int_equal(be64toh(mad.req.service_id), CM_SERVICE(0x4856));
	assert_int_equal(CM_HIGH24(ntohl(mad.req.qpn_resources)), 0x28);
	assert_int_equal(CM_TRANSPORT(ntohl(mad.req.eecn_timeout)), 0);
	assert_int_equal(CM_TIMEOUT(ntohl(mad.req.psn_timeout)), 20);
	assert_int_equal(CM_RETRIES(mad.req.retries_srq), 15);
	assert_int_equal(CM_MTU(mad.req.mtu_rnr), 3);
	assert_memory_equal(mad.req.local_gid, client.gid, 16);
	assert_memory_equal(mad.req.remote_gid, server.gid, 16);
	assert_int_equal(CM_IP_VERSION(mad.req.ip.ip_version), 4);
	assert_memory_equal(&mad.req.ip.source[3], &client.gid[3], 4);
	assert_memory_equal(&mad.req.ip.destination[3], &server.gid[3], 4);
}

static void test_captured_answers(void **state)
{
	struct cm_way way;
	struct cm_mad mad;

	(void)state;
	parse(cm_rep, &way, &mad);
	assert_int_equal(cm_mad_attribute(&mad), CM_REP);
	assert_int_equal(cm_mad_tid(&mad), 0x240c29137);
	assert_int_equal(cm_mad_local_id(&mad), 0x2c6e0cbe);
	assert_int_equal(cm_mad_remote_id(&mad), 0x3791c240);
	assert_int_equal(CM_HIGH24(ntohl(mad.rep.qpn_vendor)), 0x28);
	parse(cm_rtu, &way, &mad);
	assert_int_equal(cm_mad_attribute(&mad), CM_RTU);
	assert_int_equal(cm_mad_remote_id(&mad), 0x2c6e0cbe);
	parse(cm_dreq, &way, &mad);
	assert_int_equal(cm_mad_attribute(&mad), CM_DREQ);
	assert_int_equal(CM_HIGH24(ntohl(mad.dreq.qpn)), 0x28);
	parse(cm_drep, &way, &mad);
	assert_int_equal(cm_mad_attribute(&mad), CM_DREP);
	assert_int_equal(cm_mad_local_id(&mad), 0x2c6e0cbe);
}

/* Everything that the two sides are free to choose apart: BTH's flags and PSN, UDP's port, IPv4's id. */
static void test_built_as_captured(void **state)
{
	static const char *const all[] = {cm_req, cm_rep, cm_rtu, cm_dreq, cm_drep};
	uint8_t theirs[XA_GSI_FRAME_MAX], ours[XA_GSI_FRAME_MAX];
	struct cm_way way, back;
	struct cm_mad mad, again;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		parse(all[i], &way, &mad);
		read_hex(all[i], theirs);
		assert_int_equal(cm_datagram_build(&way, &mad, ours), FRAME_LEN);
		/* It goes back where it came from. */
		assert_memory_equal(ours, theirs + 6, 6);
		assert_memory_equal(ours + L3 + 12, theirs + L3 + 16, 4);
		assert_memory_equal(ours + BTH, theirs + BTH, 1);
		assert_memory_equal(ours + BTH + 2, theirs + BTH + 2, 6);
		assert_memory_equal(ours + BTH + 12, theirs + BTH + 12, 8 + 256);
		assert_true(cm_datagram_parse(ours, FRAME_LEN, &back, &again));
		assert_memory_equal(&again, &mad, sizeof(mad));
		assert_true(xa_ip_equal(&back.path.peer, &way.path.local));
	}
}

static void make_way(struct cm_way *way, const char *local, const char *peer, unsigned int vlans)
{
	memset(way, 0, sizeof(*way));
	memcpy(way->path.smac, "\2\0\0\0\0\1", 6);
	memcpy(way->path.dmac, "\2\0\0\0\0\2", 6);
	way->path.vlans = vlans;
	way->path.vlan_tpid[0] = vlans == 2 ? 0x88a8 : 0x8100;
	way->path.vlan_tpid[1] = 0x8100;
	way->path.vlan_tci[0] = 0x6005;
	way->path.vlan_tci[1] = 7;
	assert_true(xa_ip_parse(&way->path.local, local));
	assert_true(xa_ip_parse(&way->path.peer, peer));
	cm_way_init(way);
}

/* There and back, over both families and 0-2 tags; the longest one is as long as a record can be. */
static void test_round_trip(void **state)
{
	static const char *const ips[][2] = {{"10.0.0.1", "10.0.0.2"}, {"fd00::1", "fd00::2"}};
	uint8_t frame[XA_GSI_FRAME_MAX];
	struct cm_way way, back;
	struct cm_mad mad, again;
	size_t len = 0;

	(void)state;
	cm_mad_init(&mad, CM_RTU, 77);
	for (unsigned int i = 0; i < 6; i++) {
		make_way(&way, ips[i % 2][0], ips[i % 2][1], i / 2);
		memset(&back, 0, sizeof(back));
		len = cm_datagram_build(&way, &mad, frame);
		assert_true(len <= XA_GSI_FRAME_MAX);
		assert_true(cm_datagram_parse(frame, len, &back, &again));
		assert_memory_equal(&again, &mad, sizeof(mad));
		assert_memory_equal(back.path.smac, way.path.dmac, 6);
		assert_memory_equal(back.path.dmac, way.path.smac, 6);
		assert_true(xa_ip_equal(&back.path.local, &way.path.peer));
		assert_int_equal(back.path.vlans, way.path.vlans);
		assert_memory_equal(back.path.vlan_tci, way.path.vlan_tci, 2 * back.path.vlans);
		assert_memory_equal(back.path.vlan_tpid, way.path.vlan_tpid, 2 * back.path.vlans);
	}
	assert_int_equal(len, 350);
}

/* The ICRC finds it, or another check does. */
static void test_every_bit_counts(void **state)
{
	uint8_t frame[XA_GSI_FRAME_MAX];
	struct cm_way way = {0};
	struct cm_mad mad;
	size_t len = read_hex(cm_req, frame);

	(void)state;
	for (size_t bit = 8 * (BTH + 8); bit < 8 * len; bit++) {
		frame[bit / 8] ^= 1 << bit % 8;
		assert_false(cm_datagram_parse(frame, len, &way, &mad));
		frame[bit / 8] ^= 1 << bit % 8;
	}
	assert_true(cm_datagram_parse(frame, len, &way, &mad));
}

static void test_every_length_counts(void **state)
{
	uint8_t frame[XA_GSI_FRAME_MAX];
	struct cm_way way = {0};
	struct cm_mad mad;
	size_t len = read_hex(cm_req, frame);

	(void)state;
	while (len--)
		assert_false(cm_datagram_parse(frame, len, &way, &mad));
}

static void fix_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = ip[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = sum >> 8;
	ip[11] = sum;
}

static void fix_icrc(uint8_t *frame)
{
	uint32_t icrc = xa_icrc(frame + L3, frame + BTH, 276);

	for (int i = 0; i < 4; i++)
		frame[BTH + 276 + i] = icrc >> 8 * i;
}

/* With the rest made right, so that the field itself must be looked at. */
static void test_fields_that_must_be_right(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} wrong[] = {
		{L3, 0x46},      {L3 + 3, 0},     {L3 + 9, 6},  {L3 + 12, 0}, {L3 + 12, 224},
		{L3 + 22, 0},    {L3 + 25, 0},    {BTH, 0x65},  {BTH, 0x04},  {BTH + 1, 0x10},
		{BTH + 1, 0x01}, {BTH + 2, 0x12}, {BTH + 7, 2}, {BTH + 5, 1}, {BTH + 12, 0},
		{BTH + 19, 2},   {MAD, 2},        {MAD + 1, 3}, {MAD + 2, 1}, {MAD + 3, 0x81},
	};
	uint8_t frame[XA_GSI_FRAME_MAX];
	struct cm_way way = {0};
	struct cm_mad mad;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		len = read_hex(cm_req, frame);
		frame[wrong[i].at] = wrong[i].value;
		fix_checksum(frame + L3);
		fix_icrc(frame);
		assert_false(cm_datagram_parse(frame, len, &way, &mad));
	}
	read_hex(cm_req, frame);
	frame[L3 + 10] ^= 1;
	assert_false(cm_datagram_parse(frame, len, &way, &mad));
	fix_checksum(frame + L3);
	frame[L3 + 8] = 1;
	fix_checksum(frame + L3);
	fix_icrc(frame);
	assert_true(cm_datagram_parse(frame, len, &way, &mad));
}

static void test_private_data(void **state)
{
	struct cm_wish wish;
	char text[sizeof(wish.name) + 1];

	(void)state;
	cm_data_init(&wish.header, CM_DATA_WISH, sizeof(wish));
	memset(wish.name, 'a', sizeof(wish.name));
	assert_memory_equal(&wish, "XATO\1\1\0\x38", 8);
	assert_true(cm_data_is(&wish.header, CM_DATA_WISH, sizeof(wish)));
	assert_false(cm_data_is(&wish.header, CM_DATA_OFFER, sizeof(wish)));
	assert_false(cm_data_is(&wish.header, CM_DATA_WISH, sizeof(wish) + 1));
	cm_data_text(text, wish.name, sizeof(wish.name));
	assert_int_equal(strlen(text), sizeof(wish.name));
	wish.name[1] = '\n';
	wish.name[2] = '\0';
	cm_data_text(text, wish.name, sizeof(wish.name));
	assert_string_equal(text, "a?");
	wish.header.version = 2;
	assert_false(cm_data_is(&wish.header, CM_DATA_WISH, sizeof(wish)));
	wish.header.version = 1;
	wish.header.magic++;
	assert_false(cm_data_is(&wish.header, CM_DATA_WISH, sizeof(wish)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captured_req),
		cmocka_unit_test(test_captured_answers),
		cmocka_unit_test(test_built_as_captured),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_bit_counts),
		cmocka_unit_test(test_every_length_counts),
		cmocka_unit_test(test_fields_that_must_be_right),
		cmocka_unit_test(test_private_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
