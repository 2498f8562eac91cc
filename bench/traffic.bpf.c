// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * traffic.bpf.c - the open loop's generator, the echo that the responder is compared with, and the sink.
 */
#include "bench/request.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stream);
} streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sink_counts);
} sink_counts SEC(".maps");

/* Records are struct inspected_frame. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21);
} inspected SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} under_test SEC(".maps");

static __always_inline __u32 next_psn(struct flow *flow)
{
	__u32 turn = flow->turn++;

	if (request.kind == TRAFFIC_DUPLICATE)
		return xa_psn_add(flow->psn, turn % DUPLICATES);
	if (request.kind == TRAFFIC_GAP && turn % 2 == 0)
		return xa_psn_add(flow->psn, 1);
	flow->psn = xa_psn_add(flow->psn, 1);
	return xa_psn_add(flow->psn, -1);
}

static __always_inline bool write_next(struct xdp_md *ctx)
{
	__u32 zero = 0, index;
	struct stream *stream = bpf_map_lookup_elem(&streams, &zero);
	struct flow *flow;

	if (!stream)
		return false;
	index = stream->first + (stream->turn++ & stream->mask);
	flow = bpf_map_lookup_elem(&flows, &index);
	return flow && write_request(ctx, flow, next_psn(flow), &stream->random);
}

/* On the responder's interface: writes a request and hands it to the program under test. */
SEC("xdp")
int generate(struct xdp_md *ctx)
{
	if (write_next(ctx))
		bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

/*
 * On the node's interface: writes a request and sends it. The kernel resets the length of a frame that has
 * come back shorter only when the program changes it, so live frames are given some bytes too short.
 */
SEC("xdp")
int send_request(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_tail(ctx, SEND_GROWS) || !write_next(ctx))
		return XDP_ABORTED;
	return XDP_TX;
}

/* What a frame costs without any program to speak of. */
SEC("xdp")
int transmit(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_TX;
}

static __always_inline void swap(void *a, void *b, int words)
{
#pragma unroll
	for (int i = 0; i < words; i++) {
		__u32 t = ((__u32 *)a)[i];

		((__u32 *)a)[i] = ((__u32 *)b)[i];
		((__u32 *)b)[i] = t;
	}
}

/* The least that can be called an answer: MAC and IP addresses swapped, at offsets known beforehand. */
SEC("xdp")
int echo(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	__u16 t;

	if (data + request.frame_len > data_end || request.frame_len < 86)
		return XDP_DROP;
	swap(data, data + 6, 1);
	t = *(__u16 *)(data + 4);
	*(__u16 *)(data + 4) = *(__u16 *)(data + 10);
	*(__u16 *)(data + 10) = t;
	if (request.ipv6)
		swap(data + request.l3_off + 8, data + request.l3_off + 24, 4);
	else
		swap(data + request.l3_off + 12, data + request.l3_off + 16, 1);
	return XDP_TX;
}

/* The node's end: counts what arrives by opcode. */
SEC("xdp")
int sink(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	struct sink_counts *counts;
	__u32 zero = 0;
	__u8 opcode;

	if (data + request.bth_off + sizeof(struct xa_bth) + sizeof(struct xa_aeth) > data_end)
		return XDP_DROP;
	opcode = *(__u8 *)(data + request.bth_off);
	if (opcode == XA_OP_ATOMIC_ACKNOWLEDGE &&
	    *(__u8 *)(data + request.bth_off + sizeof(struct xa_bth)) != XA_SYN_ACK_UNLIMITED)
		opcode = SINK_BAD_ACK;
	counts = bpf_map_lookup_elem(&sink_counts, &zero);
	if (counts)
		counts->by_opcode[opcode]++;
	return XDP_DROP;
}

/* The node's end while answers are validated: hands every frame to user space whole. */
SEC("xdp")
int inspect(struct xdp_md *ctx)
{
	__u64 length = (void *)(long)ctx->data_end - (void *)(long)ctx->data;
	struct inspected_frame *frame = bpf_ringbuf_reserve(&inspected, sizeof(*frame), 0);

	if (!frame)
		return XDP_DROP;
	frame->length = length;
	barrier_var(
		length); /* or both bounds become one test, which the verifier does not follow */
	if (length == 0)
		length = 1;
	barrier_var(length);
	if (length > sizeof(frame->bytes) || bpf_xdp_load_bytes(ctx, 0, frame->bytes, length)) {
		bpf_ringbuf_discard(frame, 0);
		return XDP_DROP;
	}
	bpf_ringbuf_submit(frame, 0);
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
