/* SPDX-License-Identifier: BSD-2-Clause */
#include "packet.h"

#include <netinet/in.h>
#include <string.h>
#include <zlib.h>

enum { IPV4_LEN = 20, IPV6_LEN = 40, BTH_LEN = 12, AETH_LEN = 4, EXT_LEN = 8, ICRC_LEN = 4 };
enum { ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_IPV6 = 0x86dd, TPID_C = 0x8100, TPID_S = 0x88a8 };

static uint8_t *put(uint8_t *to, uint64_t value, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--)
		*to++ = value >> 8 * i;
	return to;
}

static uint64_t get(const uint8_t *from, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value = value << 8 | from[i];
	return value;
}

static void put_icrc(uint8_t *to, uint32_t icrc)
{
	for (int i = 0; i < ICRC_LEN; i++)
		to[i] = icrc >> 8 * i;
}

void packet_init(struct packet *p, enum xa_family family)
{
	static const struct packet init = {
		.dmac = {0x02, 0x10, 0x20, 0x30, 0x40, 0x50},
		.smac = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55},
		.tpid = {TPID_C, TPID_C, TPID_C},
		.tci = {0x6123, 0x0456, 0xe789},
		.ihl = 5,
		.ttl = 63,
		.protocol = IPPROTO_UDP,
		.id = 0x1c46,
		.frag = 0x4000,
		.sport = 0xc123,
		.dport = XA_ROCE_PORT,
		.opcode = XA_OP_FETCH_ADD,
		.pkey = XA_PKEY_DEFAULT,
		.ackreq = 0x80,
		.body_len = sizeof(struct xa_atmeth),
	};

	*p = init;
	p->family = family;
}

static size_t ip_len(const struct packet *p)
{
	if (p->family == XA_IPV4)
		return p->ihl > 5 ? 4 * p->ihl : IPV4_LEN;
	return IPV6_LEN + (p->has_ext ? EXT_LEN : 0);
}

static uint8_t *put_eth(const struct packet *p, uint8_t *to)
{
	uint16_t type = p->family == XA_IPV4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6;

	memcpy(to, p->dmac, 6);
	memcpy(to + 6, p->smac, 6);
	to += 12;
	for (int i = 0; i < p->vlans; i++)
		to = put(put(to, p->tpid[i], 2), p->tci[i], 2);
	return put(to, p->ethertype ? p->ethertype : type, 2);
}

static uint16_t ip_checksum(const uint8_t *header, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += get(header + i, 2);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static uint8_t *put_ipv4(const struct packet *p, uint8_t *to, uint16_t payload)
{
	size_t len = ip_len(p);

	to[0] = (p->version ? p->version : 4) << 4 | p->ihl;
	to[1] = p->tos;
	put(to + 2, len + payload + p->ip_len_add, 2);
	put(to + 4, p->id, 2);
	put(to + 6, p->frag, 2);
	to[8] = p->ttl;
	to[9] = p->protocol;
	put(to + 10, 0, 2);
	memcpy(to + 12, p->src + 12, 4);
	memcpy(to + 16, p->dst + 12, 4);
	memset(to + IPV4_LEN, 1, len - IPV4_LEN);
	put(to + 10, ip_checksum(to, len) ^ p->ip_csum_xor, 2);
	return to + len;
}

static uint8_t *put_ipv6(const struct packet *p, uint8_t *to, uint16_t payload)
{
	uint32_t version = p->version ? p->version : 6;

	put(to, version << 28 | (uint32_t)p->tos << 20 | p->flow, 4);
	put(to + 4, ip_len(p) - IPV6_LEN + payload + p->ip_len_add, 2);
	to[6] = p->protocol;
	to[7] = p->ttl;
	memcpy(to + 8, p->src, 16);
	memcpy(to + 24, p->dst, 16);
	if (!p->has_ext)
		return to + IPV6_LEN;
	return put(to + IPV6_LEN, (uint64_t)IPPROTO_UDP << 56, EXT_LEN);
}

static uint8_t *put_udp(const struct packet *p, uint8_t *to, uint16_t len)
{
	to = put(to, p->sport, 2);
	to = put(to, p->dport, 2);
	to = put(to, len + p->udp_len_add, 2);
	return put(to, p->udp_csum, 2);
}

/* BTH, then AtomicETH cut to body_len or continued with a pattern. */
static uint8_t *put_roce(const struct packet *p, uint8_t *to)
{
	uint8_t *body = to + BTH_LEN, *end;

	put(to, (uint64_t)p->opcode << 24 | p->flags << 16 | p->pkey, 4);
	put(to + 4, (uint64_t)p->resv8 << 24 | (p->qpn & XA_QPN_MASK), 4);
	put(to + 8, (uint64_t)p->ackreq << 24 | (p->psn & XA_PSN_MASK), 4);
	end = put(body, p->va, 8);
	end = put(end, p->rkey, 4);
	end = put(end, p->swap_add, 8);
	end = put(end, p->compare, 8);
	for (; end < body + p->body_len; end++)
		*end = 0xa0 + (end - body);
	return body + p->body_len;
}

size_t packet_build(const struct packet *p, uint8_t *frame)
{
	uint16_t udp_len = PACKET_UDP_LEN + BTH_LEN + p->body_len + ICRC_LEN;
	uint8_t *l3 = put_eth(p, frame), *end;

	if (p->family == XA_IPV4)
		end = put_ipv4(p, l3, udp_len);
	else
		end = put_ipv6(p, l3, udp_len);
	end = put_roce(p, put_udp(p, end, udp_len));
	put_icrc(end, packet_icrc(l3, end - l3) ^ p->icrc_xor);
	end += ICRC_LEN;
	memset(end, 0x7e, p->trailer);
	return end + p->trailer - frame;
}

size_t packet_l3_offset(const uint8_t *frame)
{
	size_t type = PACKET_ETH_LEN - 2;

	for (int tags = 0; tags < 3; tags++, type += PACKET_VLAN_LEN)
		if (get(frame + type, 2) != TPID_C && get(frame + type, 2) != TPID_S)
			break;
	return type + 2;
}

uint32_t packet_icrc(const uint8_t *l3, size_t len)
{
	uint8_t copy[8 + PACKET_MAX], *ip = copy + 8, *udp;

	memset(copy, 0xff, 8);
	memcpy(ip, l3, len);
	if (l3[0] >> 4 == 4) {
		ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
		udp = ip + IPV4_LEN;
	} else {
		ip[0] |= 0x0f;
		ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
		udp = ip + IPV6_LEN;
	}
	udp[6] = udp[7] = 0xff;
	udp[PACKET_UDP_LEN + 4] = 0xff;
	return crc32(0, copy, 8 + len);
}

/* A congestion mark says something about the way here, not about the way back. */
static uint8_t reply_tos(uint8_t tos)
{
	return (tos & 3) == 3 ? tos & ~3 : tos;
}

static void reply_ipv4(uint8_t *ip, uint16_t udp_len)
{
	uint8_t address[4];

	ip[1] = reply_tos(ip[1]);
	put(ip + 2, IPV4_LEN + udp_len, 2);
	ip[8] = 64;
	memcpy(address, ip + 12, 4);
	memcpy(ip + 12, ip + 16, 4);
	memcpy(ip + 16, address, 4);
	put(ip + 10, 0, 2);
	put(ip + 10, ip_checksum(ip, IPV4_LEN), 2);
}

static void reply_ipv6(uint8_t *ip, uint16_t udp_len)
{
	uint32_t word = get(ip, 4);
	uint8_t address[16], tos = reply_tos(word >> 20);

	put(ip, (word & ~(0xffu << 20)) | (uint32_t)tos << 20, 4);
	put(ip + 4, udp_len, 2);
	ip[7] = 64;
	memcpy(address, ip + 8, 16);
	memcpy(ip + 8, ip + 24, 16);
	memcpy(ip + 24, address, 16);
}

size_t answer_build(const struct answer *a, const uint8_t *request, uint8_t *frame)
{
	size_t l3 = packet_l3_offset(request);
	int is_v4 = request[l3] >> 4 == 4, is_atomic = a->opcode == XA_OP_ATOMIC_ACKNOWLEDGE;
	size_t l3_len = is_v4 ? IPV4_LEN : IPV6_LEN;
	uint8_t *udp = frame + l3 + l3_len, *bth = udp + PACKET_UDP_LEN, *end;
	uint16_t udp_len = PACKET_UDP_LEN + BTH_LEN + AETH_LEN + (is_atomic ? 8 : 0) + ICRC_LEN;

	memcpy(frame, request, l3 + l3_len + PACKET_UDP_LEN + BTH_LEN);
	memcpy(frame, request + 6, 6);
	memcpy(frame + 6, request, 6);
	if (is_v4)
		reply_ipv4(frame + l3, udp_len);
	else
		reply_ipv6(frame + l3, udp_len);
	put(udp + 2, XA_ROCE_PORT, 2);
	put(udp + 4, udp_len, 2);
	put(udp + 6, 0, 2);
	bth[0] = a->opcode;
	bth[1] &= XA_BTH_MIGREQ;
	put(bth + 2, XA_PKEY_DEFAULT, 2);
	put(bth + 4, a->qpn & XA_QPN_MASK, 4);
	put(bth + 8, a->psn & XA_PSN_MASK, 4);
	end = put(bth + 12, (uint32_t)a->syndrome << 24 | (a->msn & XA_PSN_MASK), 4);
	if (is_atomic)
		end = put(end, a->original, 8);
	put_icrc(end, packet_icrc(frame + l3, end - (frame + l3)));
	return end + ICRC_LEN - frame;
}

void answer_parse(const uint8_t *frame, struct answer *a)
{
	const uint8_t *l3 = frame + packet_l3_offset(frame);
	const uint8_t *bth = l3 + (l3[0] >> 4 == 4 ? IPV4_LEN : IPV6_LEN) + PACKET_UDP_LEN;

	a->opcode = bth[0];
	a->qpn = get(bth + 5, 3);
	a->psn = get(bth + 9, 3);
	a->syndrome = bth[12];
	a->msn = get(bth + 13, 3);
	a->original = a->opcode == XA_OP_ATOMIC_ACKNOWLEDGE ? get(bth + 16, 8) : 0;
}
