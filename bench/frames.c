/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/frames.h"

#include "bench/bytes.h"
#include "lib/icrc.h"

static const uint8_t node_mac[6] = {2, 0, 0, 0, 1, 2}, responder_mac[6] = {2, 0, 0, 0, 1, 1};

enum { SOURCE_PORT = 0xc123, TTL = 64, TAG = 0x0064, ETHERTYPE_VLAN = 0x8100 };

size_t frame_l3_off(const struct frame_kind *kind)
{
	return ETH_LEN + kind->tags * TAG_LEN;
}

static size_t ip_len(const struct frame_kind *kind)
{
	return kind->family == XA_IPV4 ? IPV4_LEN : IPV6_LEN;
}

size_t frame_bth_off(const struct frame_kind *kind)
{
	return frame_l3_off(kind) + ip_len(kind) + UDP_LEN;
}

size_t frame_length(const struct frame_kind *kind)
{
	return frame_bth_off(kind) + XA_ATOMIC_LEN;
}

void frame_gid(enum xa_family family, int is_node, __u8 gid[16])
{
	static const __u8 v4[16] = {[10] = 0xff, 0xff, 10, 77, 1}, v6[16] = {0xfd, 0, 0, 0x77};

	memcpy(gid, family == XA_IPV4 ? v4 : v6, 16);
	gid[15] = is_node ? 2 : 1;
}

static void put_ethernet(const struct frame_kind *kind, uint8_t *frame)
{
	memcpy(frame, responder_mac, 6);
	memcpy(frame + 6, node_mac, 6);
	if (kind->tags) {
		put16(frame + 12, ETHERTYPE_VLAN);
		put16(frame + 14, TAG);
	}
	put16(frame + frame_l3_off(kind) - 2, kind->family == XA_IPV4 ? 0x0800 : 0x86dd);
}

static uint32_t sum_words(const uint8_t *bytes, size_t length)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < length; i += 2)
		sum += bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void put_ipv4(uint8_t *ip, uint16_t id)
{
	__u8 src[16], dst[16];

	frame_gid(XA_IPV4, 1, src);
	frame_gid(XA_IPV4, 0, dst);
	ip[0] = 0x45;
	put16(ip + 2, IPV4_LEN + UDP_LEN + XA_ATOMIC_LEN);
	put16(ip + 4, id);
	ip[6] = 0x40; /* DF */
	ip[8] = TTL;
	ip[9] = IPPROTO_UDP;
	memcpy(ip + 12, &src[XA_GID_V4_BYTE], 4);
	memcpy(ip + 16, &dst[XA_GID_V4_BYTE], 4);
	put16(ip + 10, ~sum_words(ip, IPV4_LEN));
}

static void put_ipv6(uint8_t *ip)
{
	__u8 src[16], dst[16];

	frame_gid(XA_IPV6, 1, src);
	frame_gid(XA_IPV6, 0, dst);
	ip[0] = 0x60;
	put16(ip + 4, UDP_LEN + XA_ATOMIC_LEN);
	ip[6] = IPPROTO_UDP;
	ip[7] = TTL;
	memcpy(ip + 8, src, 16);
	memcpy(ip + 24, dst, 16);
}

static void put_atomic(const struct frame_kind *kind, uint8_t *bth, uint32_t qpn, uint32_t psn,
		       uint64_t va)
{
	bth[0] = kind->opcode;
	put16(bth + 2, XA_PKEY_DEFAULT);
	put32(bth + 4, qpn);
	put32(bth + 8, XA_BTH_ACKREQ | psn);
	put64(bth + 12, va);
	put32(bth + 20, kind->rkey);
	put64(bth + 24, kind->opcode == XA_OP_FETCH_ADD ? kind->add : ~psn & 1);
	put64(bth + 32, kind->opcode == XA_OP_FETCH_ADD ? 0 : psn & 1);
}

void make_frame(const struct frame_kind *kind, uint32_t qpn, uint32_t psn, uint64_t va,
		uint8_t *frame)
{
	uint8_t *l3 = frame + frame_l3_off(kind), *bth = frame + frame_bth_off(kind);
	uint8_t *udp = bth - UDP_LEN;
	uint32_t crc;

	memset(frame, 0, frame_length(kind));
	put_ethernet(kind, frame);
	if (kind->family == XA_IPV4)
		put_ipv4(l3, psn);
	else
		put_ipv6(l3);
	put16(udp, SOURCE_PORT);
	put16(udp + 2, XA_ROCE_PORT);
	put16(udp + 4, UDP_LEN + XA_ATOMIC_LEN);
	put_atomic(kind, bth, qpn, psn, va);
	crc = htole32(xa_icrc(l3, bth, XA_ATOMIC_LEN - XA_ICRC_LEN));
	memcpy(bth + XA_ATOMIC_LEN - XA_ICRC_LEN, &crc, sizeof(crc));
}

uint32_t frame_crc(const struct frame_kind *kind, uint32_t qpn, uint32_t psn, uint64_t va)
{
	uint8_t frame[FRAME_MAX];
	uint32_t crc;

	make_frame(kind, qpn, psn, va, frame);
	memcpy(&crc, frame + frame_length(kind) - XA_ICRC_LEN, sizeof(crc));
	return crc;
}

/* ICRC of the request on QP 0 that differs in one number only. */
static uint32_t crc_of_mr(const struct frame_kind *kind, uint32_t index)
{
	struct frame_kind other = *kind;

	other.rkey |= index << 8;
	return frame_crc(&other, 0, 0, 0);
}

static uint32_t lookup(uint32_t table[][256], int bytes, uint32_t value)
{
	uint32_t crc = 0;

	for (int byte = 0; byte < bytes; byte++)
		crc ^= table[byte][value >> (8 * byte) & 0xff];
	return crc;
}

static int tables_hold(const struct frame_kind *kind, struct request_config *c)
{
	static const uint32_t psns[] = {0, 1, 0xfffffe, 0x123456, 0xabcdef};
	static const uint32_t vas[] = {0, 8, 0xfffffff8, 0x12345678, 0x3ffffff8};
	static const uint32_t mrs[] = {0, 1, 0xffff, 0x1234, 0xfedc};
	uint32_t qpn = 0x654321, base = frame_crc(kind, qpn, 0, 0);

	for (int i = 0; i < 5; i++) {
		uint32_t crc = base ^ lookup(c->psn_crc, 3, psns[i]) ^ lookup(c->va_crc, 4, vas[i]);
		struct frame_kind other = *kind;

		crc ^= lookup(c->mr_crc, 2, mrs[i]);
		other.rkey |= mrs[i] << 8;
		if (crc != frame_crc(&other, qpn, psns[i], vas[i]))
			return 0;
	}
	return 1;
}

static void fill_tables(const struct frame_kind *kind, struct request_config *c)
{
	uint32_t base = frame_crc(kind, 0, 0, 0);

	for (uint32_t value = 0; value < 256; value++) {
		for (int byte = 0; byte < 3; byte++)
			c->psn_crc[byte][value] = base ^ frame_crc(kind, 0, value << (8 * byte), 0);
		for (int byte = 0; byte < 4; byte++)
			c->va_crc[byte][value] = base ^ frame_crc(kind, 0, 0, value << (8 * byte));
		for (int byte = 0; byte < 2; byte++)
			c->mr_crc[byte][value] = base ^ crc_of_mr(kind, value << (8 * byte));
	}
}

/* Of the IPv4 header with identification and checksum 0, folded to 16 bits. */
static uint32_t ip_sum(const struct frame_kind *kind)
{
	uint8_t frame[FRAME_MAX], *ip = frame + frame_l3_off(kind);

	make_frame(kind, 0, 0, 0, frame);
	put16(ip + 10, 0);
	return sum_words(ip, IPV4_LEN);
}

int frame_config(const struct frame_kind *kind, struct request_config *c)
{
	struct frame_kind zero = *kind;

	make_frame(kind, 0, 0, 0, (uint8_t *)c->template);
	c->rkey = kind->rkey;
	c->frame_len = frame_length(kind);
	c->l3_off = frame_l3_off(kind);
	c->bth_off = frame_bth_off(kind);
	c->ipv6 = kind->family == XA_IPV6;
	c->swap_by_parity = kind->opcode == XA_OP_CMP_SWAP;
	c->ip_sum = kind->family == XA_IPV4 ? ip_sum(kind) : 0;
	zero.rkey &= 0xff;
	fill_tables(&zero, c);
	return tables_hold(&zero, c) ? 0 : -1;
}
