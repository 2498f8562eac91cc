// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * wiretap.bpf.c - shows what crosses a requester's end of a veth, and loses packets on purpose.
 *
 * For tests and the demo. Replies are made by XDP_TX, so no packet socket at the responder sees them, and
 * one at the requester sees only what its XDP program lets through: a reply that is lost on the way can be
 * shown only by the program that loses it. Requests are taken at the egress hook of the same interface,
 * before the veth has them, so the one ring buffer holds both ways in the order of cause and effect.
 * In native mode this program stands in for pass.bpf.c.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "wiretap.h"
#include "xatomic/wire.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
} packets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRETAP_PLANS);
	__type(key, __u32);
	__type(value, struct wiretap_plan);
} plan SEC(".maps");

const volatile __u32 tap;
__u64 missed; /* packets that found no room in the ring */

static __always_inline long load(void *ctx, enum wiretap_way way, __u32 at, void *to, __u32 length)
{
	return way == WIRETAP_IN ? bpf_xdp_load_bytes(ctx, at, to, length)
				 : bpf_skb_load_bytes(ctx, at, to, length);
}

/* Offset of the layer 3 header; its EtherType is left in *type. */
static __always_inline __u32 skip_ethernet(void *ctx, enum wiretap_way way, __u16 *type)
{
	__u32 at = 2 * ETH_ALEN;

	for (int tags = 0; tags < 3; tags++, at += 4) {
		__be16 raw = 0;

		load(ctx, way, at, &raw, sizeof(raw));
		*type = bpf_ntohs(raw);
		if (*type != ETH_P_8021Q && *type != ETH_P_8021AD)
			break;
	}
	return at + 2;
}

/* Offset of the UDP header behind the layer 3 header at `at`, 0 when there is none. */
static __always_inline __u32 skip_ip(void *ctx, enum wiretap_way way, __u16 type, __u32 at)
{
	struct iphdr v4 = {};
	struct ipv6hdr v6 = {};

	if (type == ETH_P_IP && !load(ctx, way, at, &v4, sizeof(v4)))
		return v4.ihl == 5 && v4.protocol == IPPROTO_UDP ? at + sizeof(v4) : 0;
	if (type == ETH_P_IPV6 && !load(ctx, way, at, &v6, sizeof(v6)))
		return v6.nexthdr == IPPROTO_UDP ? at + sizeof(v6) : 0;
	return 0;
}

/* Of a MAD behind BTH and DETH. */
#define ATTRIBUTE_AT (sizeof(struct xa_bth) + sizeof(struct xa_deth) + 16)

static __always_inline bool find_bth(void *ctx, enum wiretap_way way, struct xa_bth *bth,
				     __u32 *number)
{
	struct udphdr udp;
	__be16 attribute = 0;
	__u16 type = 0;
	__u32 at = skip_ethernet(ctx, way, &type);

	at = skip_ip(ctx, way, type, at);
	if (!at || load(ctx, way, at, &udp, sizeof(udp)) || udp.dest != bpf_htons(XA_ROCE_PORT))
		return false;
	at += sizeof(udp);
	if (load(ctx, way, at, bth, sizeof(*bth)))
		return false;
	*number = bpf_ntohl(bth->apsn) & XA_PSN_MASK;
	if (bth->opcode == XA_OP_UD_SEND_ONLY &&
	    !load(ctx, way, at + ATTRIBUTE_AT, &attribute, sizeof(attribute)))
		*number = bpf_ntohs(attribute);
	return true;
}

static __always_inline bool planned(const struct xa_bth *bth, __u32 number)
{
	for (__u32 i = 0; i < WIRETAP_PLANS; i++) {
		__u32 key = i;
		struct wiretap_plan *p = bpf_map_lookup_elem(&plan, &key);

		if (p && p->times && p->opcode == bth->opcode && p->psn == number)
			return __sync_fetch_and_add(&p->hits, 1) < p->times;
	}
	return false;
}

static __always_inline void record(void *ctx, enum wiretap_way way, __u32 length, bool lost)
{
	struct wiretap_record *r = bpf_ringbuf_reserve(&packets, sizeof(*r), 0);
	__u32 kept = length > WIRETAP_SNAP ? WIRETAP_SNAP : length;

	if (!r) {
		__sync_fetch_and_add(&missed, 1);
		return;
	}
	r->time_ns = bpf_ktime_get_ns();
	r->tap = tap;
	r->way = way;
	r->length = length;
	r->lost = lost;
	/*
	 * The verifier must see both bounds on the very register that is passed, and that of 6.1 learns no lower
	 * one from a comparison with 0.
	 */
	asm volatile("" : "+r"(kept));
	kept = ((kept - 1) & (WIRETAP_SNAP - 1)) + 1;
	load(ctx, way, 0, r->frame, kept);
	bpf_ringbuf_submit(r, 0);
}

/* True when the packet is to be lost. */
static __always_inline bool inspect(void *ctx, enum wiretap_way way, __u32 length)
{
	struct xa_bth bth;
	__u32 number = 0;
	bool lost;

	if (!find_bth(ctx, way, &bth, &number))
		return false;
	lost = planned(&bth, number);
	record(ctx, way, length, lost);
	return lost;
}

SEC("xdp")
int wiretap_in(struct xdp_md *ctx)
{
	return inspect(ctx, WIRETAP_IN, bpf_xdp_get_buff_len(ctx)) ? XDP_DROP : XDP_PASS;
}

/* STOLEN and not SHOT: the sender must not learn of the loss by an error of its system call. */
SEC("tc")
int wiretap_out(struct __sk_buff *skb)
{
	return inspect(skb, WIRETAP_OUT, skb->len) ? TC_ACT_STOLEN : TC_ACT_OK;
}

char _license[] SEC("license") = "Dual BSD/GPL";
