/* SPDX-License-Identifier: BSD-2-Clause */
#include "icrc.h"

#include <arpa/inet.h>
#include <string.h>
#include <zlib.h>

#include "xatomic/wire.h"

enum { IPV4_LEN = 20, IPV6_LEN = 40, UDP_LEN = 8, BTH_LEN = sizeof(struct xa_bth) };
enum { BTH_RESERVED = 4 }; /* FECN, BECN and the reserved bits */

static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* Replaces by ones what routers may change. Returns the length of IP and UDP together. */
static size_t mask_l3(uint8_t *l3)
{
	if (l3[0] >> 4 == 4) {
		l3[1] = l3[8] = l3[10] = l3[11] = 0xff;
		memset(l3 + IPV4_LEN + 6, 0xff, 2);
		return IPV4_LEN + UDP_LEN;
	}
	l3[0] |= 0x0f;
	l3[1] = l3[2] = l3[3] = l3[7] = 0xff;
	memset(l3 + IPV6_LEN + 6, 0xff, 2);
	return IPV6_LEN + UDP_LEN;
}

size_t xa_icrc_mask(const void *l3, const void *roce, uint8_t *masked)
{
	size_t l3_len = (*(const uint8_t *)l3 >> 4 == 4 ? IPV4_LEN : IPV6_LEN) + UDP_LEN;

	memcpy(masked, l3, l3_len);
	mask_l3(masked);
	memcpy(masked + l3_len, roce, BTH_LEN);
	masked[l3_len + BTH_RESERVED] = 0xff;
	return l3_len + BTH_LEN;
}

uint32_t xa_icrc(const void *l3, const void *roce, size_t roce_len)
{
	uint8_t head[XA_ICRC_MASKED_MAX];
	size_t head_len = xa_icrc_mask(l3, roce, head);
	uLong crc;

	crc = crc32(0, ones, sizeof(ones));
	crc = crc32(crc, head, head_len);
	return crc32(crc, (const uint8_t *)roce + BTH_LEN, roce_len - BTH_LEN);
}

static size_t put_l3(uint8_t *l3, const struct xa_qp *qp, int is_reply, uint16_t udp_len)
{
	const uint8_t *src = is_reply ? qp->local : qp->peer,
		      *dst = is_reply ? qp->peer : qp->local;
	__be16 len_be = htons(udp_len), total_be = htons(IPV4_LEN + udp_len);
	__be16 port_be = htons(XA_ROCE_PORT);
	uint8_t *udp;

	if (qp->family == XA_IPV4) {
		l3[0] = 0x45;
		memcpy(l3 + 2, &total_be, 2);
		l3[9] = IPPROTO_UDP;
		memcpy(l3 + 12, &src[XA_GID_V4_BYTE], 4);
		memcpy(l3 + 16, &dst[XA_GID_V4_BYTE], 4);
		udp = l3 + IPV4_LEN;
	} else {
		l3[0] = 0x60;
		memcpy(l3 + 4, &len_be, 2);
		l3[6] = IPPROTO_UDP;
		memcpy(l3 + 8, src, 16);
		memcpy(l3 + 24, dst, 16);
		udp = l3 + IPV6_LEN;
	}
	memcpy(udp + 2, &port_be, 2);
	memcpy(udp + 4, &len_be, 2);
	return mask_l3(l3);
}

static uint32_t prefix(const struct xa_qp *qp, int is_reply, uint8_t opcode, size_t roce_len)
{
	uint8_t l3[IPV6_LEN + UDP_LEN] = {0}, bth[BTH_LEN - 4] = {0};
	size_t l3_len = put_l3(l3, qp, is_reply, UDP_LEN + roce_len);
	uint32_t qpn = is_reply ? qp->rqpn : qp->qpn;
	uLong crc;

	bth[0] = opcode;
	bth[2] = is_reply ? 0xff : 0;
	bth[3] = bth[4] = 0xff;
	bth[5] = qpn >> 16;
	bth[6] = qpn >> 8;
	bth[7] = qpn;
	crc = crc32(0, ones, sizeof(ones));
	crc = crc32(crc, l3, l3_len);
	crc = crc32(crc, bth, sizeof(bth));
	return ~(uint32_t)crc;
}

void xa_icrc_prefixes(struct xa_qp *qp)
{
	qp->request_crc = prefix(qp, 0, 0, XA_ATOMIC_LEN);
	qp->ack_crc = prefix(qp, 1, XA_OP_ATOMIC_ACKNOWLEDGE, XA_ATOMIC_ACK_LEN);
	qp->nak_crc = prefix(qp, 1, XA_OP_ACKNOWLEDGE, XA_NAK_LEN);
}
