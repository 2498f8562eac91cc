/* SPDX-License-Identifier: BSD-2-Clause */
#include "datagram.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <endian.h>
#include <linux/if_ether.h>
#include <string.h>

#include "lib/icrc.h"

enum { IPV4_LEN = 20, IPV6_LEN = 40, UDP_LEN = 8, ETH_TYPE = 12, VLAN_LEN = 4 };

static uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

void cm_way_init(struct cm_way *way)
{
	way->path.lqpn = way->path.rqpn = XA_QPN_GSI;
	way->path.pkey = XA_PKEY_DEFAULT;
}

/* The ICRC is the one little-endian field. */
static void put_icrc(uint8_t *p, uint32_t icrc)
{
	for (int i = 0; i < XA_ICRC_LEN; i++)
		p[i] = icrc >> 8 * i;
}

static bool has_icrc(const uint8_t *p, uint32_t icrc)
{
	uint8_t bytes[XA_ICRC_LEN];

	put_icrc(bytes, icrc);
	return !memcmp(p, bytes, sizeof(bytes));
}

size_t cm_datagram_build(const struct cm_way *way, const struct cm_mad *mad, uint8_t *frame)
{
	const struct xa_deth deth = {.qkey = htonl(CM_QKEY), .sqp = htonl(XA_QPN_GSI)};
	size_t l3, at;
	uint8_t *bth, *body;

	memset(frame, 0, XA_GSI_FRAME_MAX);
	at = xa_frame_headers(frame, &way->path, XA_GSI_LEN, &l3);
	bth = frame + at;
	bth[0] = XA_OP_UD_SEND_ONLY;
	body = bth + sizeof(struct xa_bth);
	memcpy(body, &deth, sizeof(deth));
	memcpy(body + sizeof(deth), mad, sizeof(*mad));
	put_icrc(bth + XA_GSI_LEN - XA_ICRC_LEN,
		 xa_icrc(frame + l3, bth, XA_GSI_LEN - XA_ICRC_LEN));
	return at + XA_GSI_LEN;
}

static bool checksum_ok(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < IPV4_LEN; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/* What is the destination there is the source of an answer. Returns the header's length, or 0. */
static size_t read_ipv4(const uint8_t *ip, size_t len, struct xa_path *path)
{
	struct in_addr from, to;

	if (len < IPV4_LEN + UDP_LEN + XA_GSI_LEN || ip[0] != 0x45 || ip[9] != IPPROTO_UDP ||
	    get16(ip + 2) != IPV4_LEN + UDP_LEN + XA_GSI_LEN || !checksum_ok(ip))
		return 0;
	memcpy(&from, ip + 12, sizeof(from));
	memcpy(&to, ip + 16, sizeof(to));
	xa_ip_from_v4(&path->peer, &from);
	xa_ip_from_v4(&path->local, &to);
	return IPV4_LEN;
}

static size_t read_ipv6(const uint8_t *ip, size_t len, struct xa_path *path)
{
	struct in6_addr from, to;

	if (len < IPV6_LEN + UDP_LEN + XA_GSI_LEN || ip[0] >> 4 != 6 || ip[6] != IPPROTO_UDP ||
	    get16(ip + 4) != UDP_LEN + XA_GSI_LEN)
		return 0;
	memcpy(&from, ip + 8, sizeof(from));
	memcpy(&to, ip + 24, sizeof(to));
	xa_ip_from_v6(&path->peer, &from);
	xa_ip_from_v6(&path->local, &to);
	/* An IPv4 address cannot come by IPv6. */
	return path->peer.family == XA_IPV6 && path->local.family == XA_IPV6 ? IPV6_LEN : 0;
}

static void read_ethernet(const uint8_t *frame, size_t l3, struct xa_path *path)
{
	memcpy(path->smac, frame, XA_MAC_LEN);
	memcpy(path->dmac, frame + XA_MAC_LEN, XA_MAC_LEN);
	path->vlans = (l3 - ETH_TYPE - 2) / VLAN_LEN;
	for (unsigned int i = 0; i < path->vlans; i++) {
		path->vlan_tpid[i] = get16(frame + ETH_TYPE + VLAN_LEN * i);
		path->vlan_tci[i] = get16(frame + ETH_TYPE + VLAN_LEN * i + 2);
	}
}

static bool check_roce(const uint8_t *ip, const uint8_t *bth)
{
	struct xa_deth deth;

	memcpy(&deth, bth + sizeof(struct xa_bth), sizeof(deth));
	return bth[0] == XA_OP_UD_SEND_ONLY && !(bth[1] & (XA_BTH_PAD_MASK | XA_BTH_TVER)) &&
	       (get16(bth + 2) & XA_PKEY_BASE_MASK) == (XA_PKEY_DEFAULT & XA_PKEY_BASE_MASK) &&
	       !bth[5] && get16(bth + 6) == XA_QPN_GSI && deth.qkey == htonl(CM_QKEY) &&
	       (ntohl(deth.sqp) & XA_QPN_MASK) == XA_QPN_GSI &&
	       has_icrc(bth + XA_GSI_LEN - XA_ICRC_LEN, xa_icrc(ip, bth, XA_GSI_LEN - XA_ICRC_LEN));
}

static bool check_mad(const struct cm_mad_header *header)
{
	return header->base_version == CM_BASE_VERSION && header->class == CM_CLASS &&
	       header->class_version == CM_VERSION && header->method == CM_METHOD_SEND;
}

bool cm_datagram_parse(const uint8_t *frame, size_t len, struct cm_way *way, struct cm_mad *mad)
{
	uint16_t type;
	size_t l3 = xa_frame_l3(frame, len, &type), l3_len = 0;
	const uint8_t *udp, *bth;

	if (l3 && type == ETH_P_IP)
		l3_len = read_ipv4(frame + l3, len - l3, &way->path);
	else if (l3 && type == ETH_P_IPV6)
		l3_len = read_ipv6(frame + l3, len - l3, &way->path);
	if (!l3_len)
		return false;
	udp = frame + l3 + l3_len;
	bth = udp + UDP_LEN;
	if (get16(udp + 2) != XA_ROCE_PORT || get16(udp + 4) != UDP_LEN + XA_GSI_LEN ||
	    !check_roce(frame + l3, bth))
		return false;
	read_ethernet(frame, l3, &way->path);
	cm_way_init(way);
	memcpy(mad, bth + sizeof(struct xa_bth) + sizeof(struct xa_deth), sizeof(*mad));
	return check_mad(&mad->header) && xa_ip_is_host(&way->path.peer);
}

void cm_mad_init(struct cm_mad *mad, enum cm_attribute attribute, uint64_t tid)
{
	memset(mad, 0, sizeof(*mad));
	mad->header = (struct cm_mad_header){
		.base_version = CM_BASE_VERSION,
		.class = CM_CLASS,
		.class_version = CM_VERSION,
		.method = CM_METHOD_SEND,
		.tid = htobe64(tid),
		.attribute = htons(attribute),
	};
}

enum cm_attribute cm_mad_attribute(const struct cm_mad *mad)
{
	return ntohs(mad->header.attribute);
}

uint32_t cm_mad_local_id(const struct cm_mad *mad)
{
	return ntohl(mad->ids.local_comm_id);
}

/* A REQ has none. */
uint32_t cm_mad_remote_id(const struct cm_mad *mad)
{
	return ntohl(mad->ids.remote_comm_id);
}

uint64_t cm_mad_tid(const struct cm_mad *mad)
{
	return be64toh(mad->header.tid);
}

void cm_data_init(struct cm_data_header *header, enum cm_data_kind kind, size_t len)
{
	memset(header, 0, len);
	header->magic = htonl(CM_MAGIC);
	header->version = CM_DATA_VERSION;
	header->kind = kind;
	header->length = htons(len);
}

/* A longer one is a later version's, whose front is the same. */
bool cm_data_is(const struct cm_data_header *header, enum cm_data_kind kind, size_t len)
{
	return header->magic == htonl(CM_MAGIC) && header->version == CM_DATA_VERSION &&
	       header->kind == kind && ntohs(header->length) >= len;
}

void cm_data_text(char *text, const char *data, size_t len)
{
	size_t i;

	for (i = 0; i < len && data[i]; i++)
		text[i] = isprint((unsigned char)data[i]) ? data[i] : '?';
	text[i] = '\0';
}
