/* SPDX-License-Identifier: BSD-2-Clause */
#include "frame.h"

#include <linux/if_ether.h>
#include <stddef.h>
#include <string.h>

#include "lib/crc.h"
#include "lib/icrc.h"
#include "xatomic/wire.h"

enum {
	ETH_TYPE = 12,
	VLAN_LEN = 4,
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	BTH_LEN = sizeof(struct xa_bth),
	IPV4_DF = 0x4000,
	IPV4_FRAGMENT = 0x3fff, /* MF and offset */
	TTL = 64,
};

static uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static void put16(uint8_t *p, uint16_t value)
{
	p[0] = value >> 8;
	p[1] = value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value);
}

static void put64(uint8_t *p, uint64_t value)
{
	put32(p, value >> 32);
	put32(p + 4, value);
}

/* The ICRC is the one little-endian field (IBA annex A17; rxe_icrc.c). */
static void put_icrc(uint8_t *p, uint32_t icrc)
{
	for (int i = 0; i < XA_ICRC_LEN; i++)
		p[i] = icrc >> 8 * i;
}

static uint32_t get_icrc(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | p[1] << 8 | p[0];
}

static uint32_t sum16(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += get16(p + i);
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

static bool is_ipv4(const struct xa_path *path)
{
	return path->peer.family == XA_IPV4;
}

uint16_t xa_udp_sport(uint32_t lqpn, uint32_t rqpn)
{
	uint64_t hash = (uint64_t)lqpn * rqpn;
	uint32_t label;

	hash ^= hash >> 20;
	hash ^= hash >> 40;
	label = hash & 0xfffff;
	return 0xc000 | ((label & 0x3fff) ^ label >> 14);
}

static size_t put_ethernet(uint8_t *frame, const struct xa_path *path)
{
	size_t at = ETH_TYPE;

	memcpy(frame, path->dmac, XA_MAC_LEN);
	memcpy(frame + XA_MAC_LEN, path->smac, XA_MAC_LEN);
	for (unsigned int i = 0; i < path->vlans; i++, at += VLAN_LEN) {
		put16(frame + at, path->vlan_tpid[i]);
		put16(frame + at + 2, path->vlan_tci[i]);
	}
	put16(frame + at, is_ipv4(path) ? ETH_P_IP : ETH_P_IPV6);
	return at + 2;
}

static size_t put_ip(uint8_t *ip, const struct xa_path *path, uint16_t udp_len)
{
	if (is_ipv4(path)) {
		ip[0] = 0x45;
		put16(ip + 2, IPV4_LEN + udp_len);
		put16(ip + 6, IPV4_DF);
		ip[8] = TTL;
		ip[9] = IPPROTO_UDP;
		memcpy(ip + 12, &path->local.gid[XA_GID_V4_WORD], 4);
		memcpy(ip + 16, &path->peer.gid[XA_GID_V4_WORD], 4);
		put16(ip + 10, ~fold(sum16(ip, IPV4_LEN)));
		return IPV4_LEN;
	}
	ip[0] = 0x60;
	put16(ip + 4, udp_len);
	ip[6] = IPPROTO_UDP;
	ip[7] = TTL;
	memcpy(ip + 8, path->local.gid, 16);
	memcpy(ip + 24, path->peer.gid, 16);
	return IPV6_LEN;
}

/* The CRC register after all that is the same in every request of this opcode. */
static uint32_t prefix_crc(const struct xa_template *template, uint8_t opcode)
{
	const uint8_t *ip = template->bytes + template->l3, *bth = template->bytes + template->roce;
	uint8_t masked[XA_ICRC_MASKED_MAX];
	size_t len = xa_icrc_mask(ip, bth, masked);

	masked[len - BTH_LEN] = opcode;
	return xa_crc(XA_CRC_ONES, masked, len - sizeof(__be32));
}

size_t xa_frame_headers(uint8_t *frame, const struct xa_path *path, size_t roce_len, size_t *l3)
{
	uint16_t udp_len = UDP_LEN + roce_len;
	uint8_t *ip, *udp, *bth;

	*l3 = put_ethernet(frame, path);
	ip = frame + *l3;
	udp = ip + put_ip(ip, path, udp_len);
	put16(udp, xa_udp_sport(path->lqpn, path->rqpn));
	put16(udp + 2, XA_ROCE_PORT);
	put16(udp + 4, udp_len);
	bth = udp + UDP_LEN;
	put16(bth + offsetof(struct xa_bth, pkey), path->pkey);
	put32(bth + offsetof(struct xa_bth, qpn), path->rqpn);
	return bth - frame;
}

void xa_template_init(struct xa_template *template, const struct xa_path *path)
{
	size_t l3;

	memset(template, 0, sizeof(*template));
	template->roce = xa_frame_headers(template->bytes, path, XA_ATOMIC_LEN, &l3);
	template->l3 = l3;
	template->len = template->roce + XA_ATOMIC_LEN;
	template->swap_crc = prefix_crc(template, XA_OP_CMP_SWAP);
	template->add_crc = prefix_crc(template, XA_OP_FETCH_ADD);
}

void xa_frame_build(const struct xa_template *template, const struct xa_request *request,
		    uint8_t *frame)
{
	uint8_t *bth = frame + template->roce, *eth = bth + BTH_LEN;
	uint8_t *apsn = bth + offsetof(struct xa_bth, apsn), *icrc = eth + sizeof(struct xa_atmeth);
	bool is_swap = request->opcode == XA_OP_CMP_SWAP;

	memcpy(frame, template->bytes, template->len);
	bth[offsetof(struct xa_bth, opcode)] = request->opcode;
	put32(apsn, XA_BTH_ACKREQ | request->psn);
	put64(eth + offsetof(struct xa_atmeth, va), request->va);
	put32(eth + offsetof(struct xa_atmeth, rkey), request->rkey);
	put64(eth + offsetof(struct xa_atmeth, swap_add), request->swap_add);
	put64(eth + offsetof(struct xa_atmeth, compare), request->compare);
	put_icrc(icrc,
		 ~xa_crc(is_swap ? template->swap_crc : template->add_crc, apsn, icrc - apsn));
}

size_t xa_frame_l3(const uint8_t *frame, size_t len, uint16_t *type)
{
	size_t at = ETH_TYPE;

	for (int tags = 0; at + 2 <= len; tags++, at += VLAN_LEN) {
		*type = get16(frame + at);
		if (*type != ETH_P_8021Q && *type != ETH_P_8021AD)
			return at + 2;
		if (tags == XA_MAX_VLANS)
			break;
	}
	return 0;
}

bool xa_frame_qpn(const uint8_t *frame, size_t len, uint32_t *qpn)
{
	uint16_t type;
	size_t l3 = xa_frame_l3(frame, len, &type);
	size_t udp = l3 + (type == ETH_P_IP ? IPV4_LEN : IPV6_LEN);

	if (!l3 || (type != ETH_P_IP && type != ETH_P_IPV6) || udp + UDP_LEN + BTH_LEN > len ||
	    get16(frame + udp + 2) != XA_ROCE_PORT)
		return false;
	*qpn = get32(frame + udp + UDP_LEN + offsetof(struct xa_bth, qpn)) & XA_QPN_MASK;
	return true;
}

/* Length of an IPv4 header that belongs to the path backwards and leaves room for UDP, else 0. */
static size_t check_ipv4(const struct xa_path *path, const uint8_t *ip, size_t len)
{
	if (len < IPV4_LEN + UDP_LEN || ip[0] != 0x45 || ip[9] != IPPROTO_UDP ||
	    get16(ip + 6) & IPV4_FRAGMENT || fold(sum16(ip, IPV4_LEN)) != 0xffff)
		return 0;
	if (memcmp(ip + 12, &path->peer.gid[XA_GID_V4_WORD], 4) ||
	    memcmp(ip + 16, &path->local.gid[XA_GID_V4_WORD], 4))
		return 0;
	return get16(ip + 2) == IPV4_LEN + get16(ip + IPV4_LEN + 4) ? IPV4_LEN : 0;
}

static size_t check_ipv6(const struct xa_path *path, const uint8_t *ip, size_t len)
{
	if (len < IPV6_LEN + UDP_LEN || ip[0] >> 4 != 6 || ip[6] != IPPROTO_UDP)
		return 0;
	if (memcmp(ip + 8, path->peer.gid, 16) || memcmp(ip + 24, path->local.gid, 16))
		return 0;
	return get16(ip + 4) == get16(ip + IPV6_LEN + 4) ? IPV6_LEN : 0;
}

static bool check_pkey(uint16_t ours, uint16_t theirs)
{
	/* Equal partitions, and one of the two a full member (IBA 10.9.1.1; rxe pkey_match). */
	return (ours & XA_PKEY_BASE_MASK) == (theirs & XA_PKEY_BASE_MASK) &&
	       (ours | theirs) & ~XA_PKEY_BASE_MASK;
}

static bool check_bth(const struct xa_path *path, const uint8_t *bth, size_t len)
{
	uint8_t opcode = bth[offsetof(struct xa_bth, opcode)];
	size_t expected = opcode == XA_OP_ATOMIC_ACKNOWLEDGE ? XA_ATOMIC_ACK_LEN : XA_NAK_LEN;

	if (opcode != XA_OP_ATOMIC_ACKNOWLEDGE && opcode != XA_OP_ACKNOWLEDGE)
		return false;
	if (len != expected ||
	    bth[offsetof(struct xa_bth, flags)] & (XA_BTH_PAD_MASK | XA_BTH_TVER))
		return false;
	return (get32(bth + offsetof(struct xa_bth, qpn)) & XA_QPN_MASK) == path->lqpn &&
	       check_pkey(path->pkey, get16(bth + offsetof(struct xa_bth, pkey)));
}

static bool check_icrc(const uint8_t *ip, const uint8_t *bth, size_t len)
{
	const uint8_t *icrc = bth + len - XA_ICRC_LEN, *rest = bth + BTH_LEN;
	uint8_t masked[XA_ICRC_MASKED_MAX];
	uint32_t crc = xa_crc(XA_CRC_ONES, masked, xa_icrc_mask(ip, bth, masked));

	return get_icrc(icrc) == (uint32_t)~xa_crc(crc, rest, icrc - rest);
}

static void read_response(const uint8_t *bth, struct xa_response *response)
{
	const uint8_t *aeth = bth + BTH_LEN;

	response->opcode = bth[offsetof(struct xa_bth, opcode)];
	response->psn = get32(bth + offsetof(struct xa_bth, apsn)) & XA_PSN_MASK;
	response->syndrome = aeth[0];
	response->original = response->opcode == XA_OP_ATOMIC_ACKNOWLEDGE
				     ? get64(aeth + sizeof(struct xa_aeth))
				     : 0;
}

bool xa_frame_parse(const struct xa_path *path, const uint8_t *frame, size_t len,
		    struct xa_response *response)
{
	uint16_t type;
	size_t l3 = xa_frame_l3(frame, len, &type), l3_len, roce_len;
	const uint8_t *ip = frame + l3, *udp, *bth;

	if (!l3 || type != (is_ipv4(path) ? ETH_P_IP : ETH_P_IPV6) ||
	    memcmp(frame, path->smac, XA_MAC_LEN))
		return false;
	l3_len = is_ipv4(path) ? check_ipv4(path, ip, len - l3) : check_ipv6(path, ip, len - l3);
	if (!l3_len)
		return false;
	udp = ip + l3_len;
	bth = udp + UDP_LEN;
	if (get16(udp + 2) != XA_ROCE_PORT || get16(udp + 4) < UDP_LEN + XA_MIN_LEN ||
	    get16(udp + 4) > len - l3 - l3_len)
		return false;
	roce_len = get16(udp + 4) - UDP_LEN;
	if (!check_bth(path, bth, roce_len) || !check_icrc(ip, bth, roce_len))
		return false;
	read_response(bth, response);
	return true;
}
