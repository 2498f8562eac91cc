// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * closedloop.bpf.c - a requester in XDP: each answer that comes in goes out again as the next request, so
 * that a fixed number is always in flight and no process is woken up.
 */
#include "bench/request.bpf.h"

const volatile __u32 qpn_mask; /* index of a flow in its QPN */
const volatile bool echoed;    /* the other end is the echo: requests come back as they went */
const volatile bool
	timed; /* reads the clock for each answer, which costs a throughput run too much */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct loop);
} loop SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOWS_MAX);
	__type(key, __u32);
	__type(value, struct loop_slots);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LATENCY_BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} latency SEC(".maps");

static __always_inline void record(__u64 ns)
{
	__u32 bucket =
		ns / LATENCY_STEP < LATENCY_BUCKETS ? ns / LATENCY_STEP : LATENCY_BUCKETS - 1;
	__u64 *count = bpf_map_lookup_elem(&latency, &bucket);

	if (count)
		(*count)++;
}

/* Turns the frame into the next request. */
static __always_inline int send_next(struct xdp_md *ctx, struct loop *l, __u64 now)
{
	__u32 index = l->turn++ & l->flow_mask, psn;
	__u64 random = 0;
	struct flow *flow = bpf_map_lookup_elem(&flows, &index);
	struct loop_slots *s = bpf_map_lookup_elem(&slots, &index);

	if (!flow || !s)
		return XDP_ABORTED;
	psn = flow->psn;
	if (!write_request(ctx, flow, psn, &random))
		return XDP_ABORTED;
	flow->psn = xa_psn_add(psn, 1);
	s->sent_ns[psn % LOOP_SLOTS] = now;
	l->to_send--;
	return XDP_TX;
}

/* The first requests come from live frames, which are that much too short (see send_request). */
SEC("xdp")
int start(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct loop *l = bpf_map_lookup_elem(&loop, &zero);
	__u64 now = bpf_ktime_get_ns();

	if (!l || bpf_xdp_adjust_tail(ctx, SEND_GROWS))
		return XDP_ABORTED;
	if (!l->begin_ns)
		l->begin_ns = now;
	return send_next(ctx, l, now);
}

/* In order, acknowledged, and with the value that follows the one before. */
static __always_inline bool is_right(const void *bth, struct loop *l, __u32 expected_psn, __u32 psn)
{
	const void *aeth = bth + sizeof(struct xa_bth);

	if (psn != expected_psn)
		return false;
	if (echoed)
		return *(const __u8 *)bth == XA_OP_FETCH_ADD;
	if (*(const __u8 *)bth != XA_OP_ATOMIC_ACKNOWLEDGE ||
	    *(const __u8 *)aeth != XA_SYN_ACK_UNLIMITED)
		return false;
	return bpf_be64_to_cpu(*(const __be64 *)(aeth + sizeof(struct xa_aeth))) == l->original++;
}

/* A short answer grows to a request's length; an echo has it. */
static __always_inline int go_on(struct xdp_md *ctx, struct loop *l, __u64 now)
{
	if (!l->to_send) {
		l->end_ns = bpf_ktime_get_ns();
		return XDP_DROP;
	}
	if (!echoed && bpf_xdp_adjust_tail(ctx, SEND_GROWS))
		return XDP_ABORTED;
	return send_next(ctx, l, now);
}

SEC("xdp")
int requester(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	void *bth = data + request.bth_off;
	__u64 now = timed ? bpf_ktime_get_ns() : 0;
	__u32 zero = 0, index, psn;
	struct loop *l = bpf_map_lookup_elem(&loop, &zero);
	struct loop_slots *s;

	if (!l || bth + XA_ATOMIC_ACK_LEN > data_end)
		return XDP_DROP;
	index = bpf_ntohl(*(__be32 *)(bth + OFF_QPN)) & qpn_mask;
	psn = bpf_ntohl(*(__be32 *)(bth + OFF_PSN)) & XA_PSN_MASK;
	s = bpf_map_lookup_elem(&slots, &index);
	if (!s)
		return XDP_DROP;
	if (!is_right(bth, l, s->psn, psn))
		l->wrong++;
	s->psn = xa_psn_add(psn, 1);
	l->answered++;
	if (timed)
		record(now - s->sent_ns[psn % LOOP_SLOTS]);
	return go_on(ctx, l, now);
}

char _license[] SEC("license") = "Dual BSD/GPL";
