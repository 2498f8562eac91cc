/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reply.bpf.h - stage 9: the request becomes the reply, in place. Everything that the ICRC protects is
 * final before it is computed.
 */
#ifndef XATOMIC_BPF_REPLY_H
#define XATOMIC_BPF_REPLY_H

#include "ctl.bpf.h"
#include "icrc.bpf.h"
#include "packet.bpf.h"

#define REPLY_TTL   64 /* fresh: the request's was counted down on its way */
#define L2_LEN_MASK 31 /* says nothing new but to the verifier */
#define ECN_MASK    0x03
#define ECN_CE      0x03

/* Congestion was met by the request, not by the reply. */
static __always_inline __u8 clear_ce(__u8 tos)
{
	return (tos & ECN_MASK) == ECN_CE ? tos & ~ECN_MASK : tos;
}

static __always_inline void swap_macs(void *data)
{
	__u32 *word = data;
	__u16 *half = data;
	__u32 dst_high = word[0];
	__u16 dst_low = half[2];

	/* Source starts at byte 6, so it is read as a half and a word. */
	word[0] = *(__u32 *)(data + ETH_ALEN);
	half[2] = half[5];
	*(__u32 *)(data + ETH_ALEN) = dst_high;
	half[5] = dst_low;
}

/* RFC 1071, for a sum of five words: the last fold cannot carry any more. */
static __always_inline __u16 fold_checksum(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/*
 * Identification and DF stay as they came: the ICRC covers them and any value is good. Whole words are
 * stored, never read back: a load that overlaps a narrower store waits for it.
 */
static __always_inline void reply_ipv4(struct iphdr *ip, __u32 udp_len)
{
	__u32 *word = (void *)ip;
	__u32 source = word[4], destination = word[3];
	__u32 first = *(__u8 *)ip | clear_ce(ip->tos) << 8 |
		      (__u32)bpf_htons(sizeof(*ip) + udp_len) << 16;
	__u32 third = REPLY_TTL | IPPROTO_UDP << 8;
	__u64 sum = (__u64)first + word[1] + third + source + destination;

	word[0] = first;
	word[2] = third | (__u32)fold_checksum(sum) << 16;
	word[3] = source;
	word[4] = destination;
}

/* The ECN bits are bits 5..4 of the second byte. */
static __always_inline void reply_ipv6(struct ipv6hdr *ip, __u32 udp_len)
{
	struct in6_addr requester = ip->saddr;
	__u8 *bytes = (void *)ip;

	if ((bytes[1] >> 4 & ECN_MASK) == ECN_CE)
		bytes[1] &= ~(ECN_MASK << 4);
	ip->payload_len = bpf_htons(udp_len);
	ip->hop_limit = REPLY_TTL;
	ip->saddr = ip->daddr;
	ip->daddr = requester;
}

/* Ports stay: 4791 is the destination both ways, and one source port is good for ECMP and RSS. */
static __always_inline void reply_udp(struct udphdr *udp, __u32 udp_len)
{
	udp->len = bpf_htons(udp_len);
	udp->check = 0; /* as every RoCEv2 sender does */
}

/* Whole words, as the fields are not aligned. */
static __always_inline void reply_roce(const struct packet *p, const struct answer *a,
				       struct xa_bth *bth, bool ack)
{
	__u32 *word = (void *)bth;
	__u8 opcode = ack ? XA_OP_ATOMIC_ACKNOWLEDGE : XA_OP_ACKNOWLEDGE;
	__u8 flags = p->bth_flags & XA_BTH_MIGREQ;

	word[0] = bpf_htonl((__u32)opcode << 24 | (__u32)flags << 16 | XA_PKEY_DEFAULT);
	word[1] = bpf_htonl(p->qp->rqpn);
	word[2] = bpf_htonl(a->psn);
	word[3] = bpf_htonl((__u32)a->syndrome << 24 | a->msn);
	if (!ack) {
		word[4] = reply_icrc(p, bth, ICRC_CHUNK / 2);
		return;
	}
	*(__u64 *)(word + 4) = bpf_cpu_to_be64(a->original);
	word[6] = reply_icrc(p, bth, ICRC_CHUNK);
}

/* Cuts the frame to the reply's size; a NAK of a very short request is a few bytes longer. */
static __always_inline bool resize(struct xdp_md *ctx, const struct packet *p, __u32 ip_len,
				   __u32 roce_len)
{
	long size = p->l2_len + ip_len + sizeof(struct udphdr) + roce_len;
	long have = (void *)(long)ctx->data_end - (void *)(long)ctx->data;

	/* Keeps clang from subtracting in 32 bits, which the verifier forbids for pointers. */
	barrier_var(have);
	return bpf_xdp_adjust_tail(ctx, size - have) == 0;
}

static __always_inline int reply_as(struct xdp_md *ctx, const struct packet *p,
				    const struct answer *a, __u32 ip_len, bool ack)
{
	__u32 roce_len = ack ? XA_ATOMIC_ACK_LEN : XA_NAK_LEN;
	__u32 udp_len = sizeof(struct udphdr) + roce_len;
	void *data, *l3;

	/* A frame that cannot be resized is a lost reply: the requester asks again. */
	if (!resize(ctx, p, ip_len, roce_len))
		return XDP_ABORTED;
	data = (void *)(long)ctx->data;
	l3 = data + (p->l2_len & L2_LEN_MASK);
	if (data + ETH_HLEN > (void *)(long)ctx->data_end ||
	    l3 + ip_len + udp_len > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	swap_macs(data);
	if (ip_len == sizeof(struct iphdr))
		reply_ipv4(l3, udp_len);
	else
		reply_ipv6(l3, udp_len);
	reply_udp(l3 + ip_len, udp_len);
	reply_roce(p, a, l3 + ip_len + sizeof(struct udphdr), ack);
	return XDP_TX;
}

static __always_inline int reply(struct xdp_md *ctx, const struct packet *p, const struct answer *a,
				 bool ack)
{
	if (p->family == XA_IPV4)
		return reply_as(ctx, p, a, sizeof(struct iphdr), ack);
	return reply_as(ctx, p, a, sizeof(struct ipv6hdr), ack);
}

/* Of an atomic, executed now or before. */
static __always_inline int reply_ack(struct xdp_md *ctx, const struct packet *p, struct answer *a)
{
	a->psn = p->psn;
	a->syndrome = XA_SYN_ACK_UNLIMITED;
	return reply(ctx, p, a, true);
}

/* A sequence NAK asks for the expected PSN; any other is the answer to the packet's own. */
static __always_inline int reply_nak(struct xdp_md *ctx, const struct packet *p, struct answer *a,
				     enum xa_reason reason)
{
	a->psn = reason == XA_REASON_sequence ? expected_psn(p->ctl) : p->psn;
	a->syndrome = nak_syndrome(reason);
	return reply(ctx, p, a, false);
}

#endif
