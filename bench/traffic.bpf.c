// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * traffic.bpf.c - the open loop's generator, the echo it is compared with, and the sink.
 *
 * Live frames of BPF_PROG_TEST_RUN come back from the page pool as the last user left them, so each run
 * must write a whole frame anew: `generate` copies a template, fills in QPN, PSN, IP identification and
 * what depends on them, and adds up the ICRC from tables that user space made (a CRC is linear, so each
 * byte that varies has a contribution of its own). Then it tail-calls the program under test.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/traffic.h"
#include "xatomic/wire.h"

/* All set before the program is loaded: the verifier removes what a kind of frame does not need. */
const volatile __u64 template[FRAME_MAX / 8];
const volatile __u32 frame_len = 86;
const volatile __u32 l3_off = 14;
const volatile __u32 bth_off = 42;
const volatile bool ipv6;
const volatile bool swap_by_parity; /* COMPARE_SWAP between 0 and 1, so that each succeeds */
const volatile __u32 ip_sum;        /* of the IPv4 header with identification 0, host order */
const volatile enum traffic_kind kind = TRAFFIC_FRESH;
const volatile __u64 va_mask; /* words are taken at random below it; 0: the template's word */
const volatile __u32 psn_crc[3][256]; /* [0]: what hangs on the lowest byte of the PSN */
const volatile __u32 va_crc[4][256];

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOWS_MAX);
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

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

static __always_inline void copy_template(void *data, int len)
{
	const volatile __u8 *from = (const volatile __u8 *)template;

#pragma unroll
	for (int i = 0; i + 8 <= len; i += 8)
		*(__u64 *)(data + i) = *(const volatile __u64 *)(from + i);
	*(__u64 *)(data + len - 8) = *(const volatile __u64 *)(from + len - 8);
}

/* The lengths that user space makes: IPv4, one tag, two tags or IPv6, IPv6 with one tag. */
static __always_inline bool fill(void *data, void *data_end)
{
	if (data + frame_len > data_end)
		return false;
	switch (frame_len) {
	case 86:
		copy_template(data, 86);
		return true;
	case 90:
		copy_template(data, 90);
		return true;
	case 106:
		copy_template(data, 106);
		return true;
	default:
		return false;
	}
}

static __always_inline __u32 next_psn(struct flow *flow)
{
	__u32 turn = flow->turn++;

	if (kind == TRAFFIC_DUPLICATE)
		return xa_psn_add(flow->psn, turn % DUPLICATES);
	if (kind == TRAFFIC_GAP && turn % 2 == 0)
		return xa_psn_add(flow->psn, 1);
	flow->psn = xa_psn_add(flow->psn, 1);
	return xa_psn_add(flow->psn, -1);
}

static __always_inline __u64 xorshift(__u64 *state)
{
	__u64 x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

/* Returns the ICRC contribution of a word's address, which starts at 0 in the template. */
static __always_inline __u32 set_va(void *bth, struct stream *stream)
{
	__u32 va = (xorshift(&stream->random) >> 16) & va_mask & ~7ull;

	*(__be32 *)(bth + sizeof(struct xa_bth) + 4) = bpf_htonl(va);
	return va_crc[0][va & 0xff] ^ va_crc[1][va >> 8 & 0xff] ^ va_crc[2][va >> 16 & 0xff] ^
	       va_crc[3][va >> 24];
}

static __always_inline void set_ipv4_id(void *l3, __u32 psn)
{
	__u32 id = psn & 0xffff, sum = ip_sum + id;

	sum = (sum & 0xffff) + (sum >> 16);
	*(__be16 *)(l3 + 4) = bpf_htons(id);
	*(__be16 *)(l3 + 10) = bpf_htons(~sum);
}

static __always_inline void refresh(void *data, struct flow *flow, struct stream *stream)
{
	void *bth = data + bth_off;
	__u32 psn = next_psn(flow), crc;

	*(__be32 *)(bth + 4) = flow->qpn;
	*(__be32 *)(bth + 8) = bpf_htonl(XA_BTH_ACKREQ | psn);
	if (!ipv6)
		set_ipv4_id(data + l3_off, psn);
	if (swap_by_parity) {
		*(__u8 *)(bth + 31) = ~psn & 1;
		*(__u8 *)(bth + 39) = psn & 1;
	}
	crc = flow->crc ^ psn_crc[0][psn & 0xff] ^ psn_crc[1][psn >> 8 & 0xff] ^
	      psn_crc[2][psn >> 16 & 0xff];
	if (va_mask)
		crc ^= set_va(bth, stream);
	*(__u32 *)(bth + XA_ATOMIC_LEN - XA_ICRC_LEN) = crc;
}

static __always_inline bool write_request(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	__u32 zero = 0, index;
	struct stream *stream = bpf_map_lookup_elem(&streams, &zero);
	struct flow *flow;

	if (!stream)
		return false;
	index = stream->first + (stream->turn++ & stream->mask);
	flow = bpf_map_lookup_elem(&flows, &index);
	if (!flow || !fill(data, data_end))
		return false;
	refresh(data, flow, stream);
	return true;
}

/* On the responder's interface: writes a request and hands it to the program under test. */
SEC("xdp")
int generate(struct xdp_md *ctx)
{
	if (write_request(ctx))
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
	if (bpf_xdp_adjust_tail(ctx, SEND_GROWS) || !write_request(ctx))
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

	if (data + frame_len > data_end || frame_len < 86)
		return XDP_DROP;
	swap(data, data + 6, 1);
	t = *(__u16 *)(data + 4);
	*(__u16 *)(data + 4) = *(__u16 *)(data + 10);
	*(__u16 *)(data + 10) = t;
	if (ipv6)
		swap(data + l3_off + 8, data + l3_off + 24, 4);
	else
		swap(data + l3_off + 12, data + l3_off + 16, 1);
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

	if (data + bth_off + sizeof(struct xa_bth) + sizeof(struct xa_aeth) > data_end)
		return XDP_DROP;
	opcode = *(__u8 *)(data + bth_off);
	if (opcode == XA_OP_ATOMIC_ACKNOWLEDGE &&
	    *(__u8 *)(data + bth_off + sizeof(struct xa_bth)) != XA_SYN_ACK_UNLIMITED)
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
