/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * request.bpf.h - writes requests into live frames.
 *
 * Live frames of BPF_PROG_TEST_RUN come back from the page pool as the last user left them, so a whole
 * frame is written each time: a template is copied, then QPN, PSN, IP identification and what depends on
 * them are filled in, and the ICRC is added up from tables that user space made (a CRC is linear, so each
 * byte that varies has a contribution of its own).
 */
#ifndef XATOMIC_BENCH_REQUEST_BPF_H
#define XATOMIC_BENCH_REQUEST_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/traffic.h"
#include "xatomic/wire.h"

const volatile struct request_config request = {.frame_len = 86, .bth_off = 42};

#define IPV4_DF 0x4000 /* as make_frame() has it */

/* Offsets from the BTH. */
enum {
	OFF_QPN = 4,
	OFF_PSN = 8,
	OFF_VA = 12,
	OFF_RKEY = 20,
	OFF_SWAP = 24,
	OFF_COMPARE = 32,
	OFF_ICRC = XA_ATOMIC_LEN - XA_ICRC_LEN
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOWS_MAX);
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

/* Bytes of the template from `at` up to `end`, which is 4 or 8 more than a multiple of 8 away. */
static __always_inline void copy(void *data, int at, int end)
{
	const volatile void *from = request.template;

#pragma unroll
	for (; at + 8 <= end; at += 8)
		*(__u64 *)(data + at) = *(const volatile __u64 *)(from + at);
	if (at < end)
		*(__u32 *)(data + at) = *(const volatile __u32 *)(from + at);
}

/*
 * No field is written in two pieces: a processor makes a load that spans two recent stores wait for both,
 * which would be charged to the program under test, and a frame that a NIC wrote does not know that.
 */
static __always_inline void copy_template(void *data, int l3, int bth)
{
	copy(data, 0, 8);
	copy(data, 6, 14);
	copy(data, 14, l3);
	copy(data, l3, bth + OFF_QPN);
	copy(data, bth + OFF_QPN, bth + OFF_VA);
	copy(data, bth + OFF_VA, bth + OFF_RKEY);
	copy(data, bth + OFF_RKEY, bth + OFF_SWAP);
	copy(data, bth + OFF_SWAP, bth + OFF_ICRC);
}

/* The lengths that user space makes: IPv4, IPv4 with a tag, IPv6. */
static __always_inline bool fill(void *data, void *data_end)
{
	if (data + request.frame_len > data_end)
		return false;
	switch (request.frame_len) {
	case 86:
		copy_template(data, 14, 42);
		return true;
	case 90:
		copy_template(data, 18, 46);
		return true;
	case 106:
		copy_template(data, 14, 62);
		return true;
	default:
		return false;
	}
}

static __always_inline __u64 xorshift(__u64 *state)
{
	__u64 x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

/* Returns the ICRC contribution of a word's address, which is 0 in the template. */
static __always_inline __u32 set_va(void *bth, __u64 random)
{
	__u32 va = random >> RANDOM_VA_BIT & request.va_mask & ~7ull;

	*(__be64 *)(bth + OFF_VA) = bpf_cpu_to_be64(va);
	return request.va_crc[0][va & 0xff] ^ request.va_crc[1][va >> 8 & 0xff] ^
	       request.va_crc[2][va >> 16 & 0xff] ^ request.va_crc[3][va >> 24];
}

/* Likewise of an MR's index, of which the template's rkey has 0. */
static __always_inline __u32 set_mr(void *bth, __u64 random)
{
	__u32 index = random >> RANDOM_MR_BIT & request.mr_mask;

	*(__be32 *)(bth + OFF_RKEY) = bpf_htonl(request.rkey | index << 8);
	return request.mr_crc[0][index & 0xff] ^ request.mr_crc[1][index >> 8 & 0xff];
}

static __always_inline __u32 set_random(void *bth, __u64 *state)
{
	__u64 random = xorshift(state);
	__u32 crc = 0;

	if (request.va_mask)
		crc ^= set_va(bth, random);
	if (request.mr_mask)
		crc ^= set_mr(bth, random);
	return crc;
}

static __always_inline void set_ipv4_id(void *l3, __u32 psn)
{
	__u32 id = psn & 0xffff, sum = request.ip_sum + id;

	sum = (sum & 0xffff) + (sum >> 16);
	*(__be32 *)(l3 + 4) = bpf_htonl(id << 16 | IPV4_DF);
	*(__be16 *)(l3 + 10) = bpf_htons(~sum);
}

/* Writes the request with this PSN of the flow over the whole frame. False: no room. */
static __always_inline bool write_request(struct xdp_md *ctx, const struct flow *flow, __u32 psn,
					  __u64 *random)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	void *bth = data + request.bth_off;
	__u32 crc;

	if (!fill(data, data_end))
		return false;
	*(__be32 *)(bth + OFF_QPN) = flow->qpn;
	*(__be32 *)(bth + OFF_PSN) = bpf_htonl(XA_BTH_ACKREQ | psn);
	if (!request.ipv6)
		set_ipv4_id(data + request.l3_off, psn);
	if (request.swap_by_parity) {
		*(__be64 *)(bth + OFF_SWAP) = bpf_cpu_to_be64(~psn & 1);
		*(__be64 *)(bth + OFF_COMPARE) = bpf_cpu_to_be64(psn & 1);
	}
	crc = flow->crc ^ request.psn_crc[0][psn & 0xff] ^ request.psn_crc[1][psn >> 8 & 0xff] ^
	      request.psn_crc[2][psn >> 16 & 0xff];
	if (request.va_mask || request.mr_mask)
		crc ^= set_random(bth, random);
	*(__u32 *)(bth + OFF_ICRC) = crc;
	return true;
}

#endif
