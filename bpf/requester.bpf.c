// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * requester.bpf.c - hands the responses for a requester's queue pairs to its AF_XDP socket, and lets
 * everything else through to the kernel's stack.
 *
 * On a veth it also stands in for pass.bpf.c, as any XDP program does.
 */
#include "parse.bpf.h"
#include "requester.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1); /* the device's one receive queue */
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTER_MAX_QPS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct requester_key);
	__type(value, __u8);
} queue_pairs SEC(".maps");

static __always_inline void fill_key(const struct packet *p, struct requester_key *key)
{
	if (p->family == XA_IPV4) {
		const struct iphdr *ip = p->l3;

		key->local[2] = bpf_htonl(0xffff);
		key->local[XA_GID_V4_WORD] = ip->daddr;
	} else {
		const struct ipv6hdr *ip = p->l3;

		__builtin_memcpy(key->local, &ip->daddr, sizeof(key->local));
	}
	key->lqpn = load_be32(&p->bth->qpn) & XA_QPN_MASK;
}

SEC("xdp")
int xatomic_requester(struct xdp_md *ctx)
{
	struct packet p = {.data_end = (void *)(long)ctx->data_end};
	struct requester_key key = {};

	if (parse(&p, (void *)(long)ctx->data) != GO_ON)
		return XDP_PASS;
	fill_key(&p, &key);
	if (!bpf_map_lookup_elem(&queue_pairs, &key))
		return XDP_PASS;
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
