/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * parse.bpf.h - stage 1: is this a RoCEv2 packet, and do its lengths hold?
 *
 * Lengths come from the UDP header, never from the frame: padding or a trailer may follow.
 */
#ifndef XATOMIC_BPF_PARSE_H
#define XATOMIC_BPF_PARSE_H

#include "packet.bpf.h"

#define VLAN_TAGS_MAX   2
#define VLAN_LEN        4
#define IPV4_NO_OPTIONS 0x45
#define IPV4_FRAGMENTED 0x3fff /* more-fragments bit and offset */
#define IPV6_VERSION    0x60

static __always_inline bool is_vlan(__be16 proto)
{
	return proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD);
}

/* Sets l3 and l2_len; returns the EtherType in `proto`. */
static __always_inline enum xa_reason parse_ethernet(struct packet *p, void *data, __be16 *proto)
{
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > p->data_end)
		return XA_REASON_not_roce;
	/* A reply from a group address would be nonsense, and no requester sends to one. */
	if (eth->h_dest[0] & 1)
		return XA_REASON_not_roce;
	*proto = *(__be16 *)(data + offsetof(struct ethhdr, h_proto));
	p->l2_len = ETH_HLEN;
#pragma unroll
	for (int i = 0; i < VLAN_TAGS_MAX; i++) {
		void *tag = data + p->l2_len;

		if (!is_vlan(*proto))
			break;
		if (tag + VLAN_LEN > p->data_end)
			return XA_REASON_not_roce;
		*proto = *(__be16 *)(tag + 2);
		p->l2_len += VLAN_LEN;
	}
	p->l3 = data + p->l2_len;
	return GO_ON;
}

/* `l4_len` is the UDP length that the IP header tells; it wraps when that header lies. */
static __always_inline enum xa_reason parse_ipv4(struct packet *p, __u32 *l4_len)
{
	struct iphdr *ip = p->l3;

	p->udp = (void *)(ip + 1);
	if ((void *)(p->udp + 1) > p->data_end)
		return XA_REASON_not_roce;
	if (*(__u8 *)ip != IPV4_NO_OPTIONS || ip->protocol != IPPROTO_UDP)
		return XA_REASON_not_roce;
	if (ip->frag_off & bpf_htons(IPV4_FRAGMENTED))
		return XA_REASON_not_roce;
	p->family = XA_IPV4;
	*l4_len = (__u32)load_be16(&ip->tot_len) - sizeof(*ip);
	return GO_ON;
}

static __always_inline enum xa_reason parse_ipv6(struct packet *p, __u32 *l4_len)
{
	struct ipv6hdr *ip = p->l3;

	p->udp = (void *)(ip + 1);
	if ((void *)(p->udp + 1) > p->data_end)
		return XA_REASON_not_roce;
	if ((*(__u8 *)ip & 0xf0) != IPV6_VERSION || ip->nexthdr != IPPROTO_UDP)
		return XA_REASON_not_roce;
	p->family = XA_IPV6;
	*l4_len = load_be16(&ip->payload_len);
	return GO_ON;
}

static __always_inline enum xa_reason parse_ip(struct packet *p, __be16 proto, __u32 *l4_len)
{
	if (proto == bpf_htons(ETH_P_IP))
		return parse_ipv4(p, l4_len);
	if (proto == bpf_htons(ETH_P_IPV6))
		return parse_ipv6(p, l4_len);
	return XA_REASON_not_roce;
}

static __always_inline enum xa_reason parse_roce(struct packet *p, __u32 l4_len)
{
	__u32 udp_len = load_be16(&p->udp->len);

	if (p->udp->dest != bpf_htons(XA_ROCE_PORT))
		return XA_REASON_not_roce;
	if (udp_len < sizeof(struct udphdr) + XA_MIN_LEN || udp_len != l4_len)
		return XA_REASON_malformed;
	p->bth = (void *)(p->udp + 1);
	p->roce_len = udp_len - sizeof(struct udphdr);
	/* The constant is what the verifier can use; said first, or clang finds it implied and drops it. */
	if ((void *)p->bth + XA_MIN_LEN > p->data_end || (void *)p->bth + p->roce_len > p->data_end)
		return XA_REASON_malformed;
	if (p->bth->flags & XA_BTH_TVER)
		return XA_REASON_version;
	p->opcode = p->bth->opcode;
	p->bth_flags = p->bth->flags;
	p->psn = load_be32(&p->bth->apsn) & XA_PSN_MASK;
	return GO_ON;
}

static __always_inline enum xa_reason parse(struct packet *p, void *data)
{
	enum xa_reason reason;
	__be16 proto;
	__u32 l4_len;

	reason = parse_ethernet(p, data, &proto);
	if (reason != GO_ON)
		return reason;
	reason = parse_ip(p, proto, &l4_len);
	if (reason != GO_ON)
		return reason;
	return parse_roce(p, l4_len);
}

#endif
