/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gsi.bpf.h - packets for QP 1: datagrams of the connection manager, which lives in user space.
 *
 * As long as it does, nothing but datagrams that are whole and right gets to it; without it the host's stack
 * has these packets, as if we were not there.
 */
#ifndef XATOMIC_BPF_GSI_H
#define XATOMIC_BPF_GSI_H

#include "icrc.bpf.h"
#include "maps.bpf.h"
#include "packet.bpf.h"

/* The register after the eight bytes of ones that stand for the LRH. */
#define ICRC_START 0xdebb20e3

enum {
	V4_HEAD = sizeof(struct iphdr) + sizeof(struct udphdr),
	V6_HEAD = sizeof(struct ipv6hdr) + sizeof(struct udphdr),
	HEAD_MAX = V6_HEAD + sizeof(struct xa_bth),
};

static __always_inline bool has_agent(void)
{
	__u32 first = 0;
	const struct xa_agent *manager = bpf_map_lookup_elem(&agent, &first);

	return manager && bpf_ktime_get_ns() < *(const volatile __u64 *)&manager->alive_until_ns;
}

/* Replaces by ones what the ICRC leaves out. `head` is IP, UDP and BTH. */
static __always_inline void mask_head(__u8 *head, bool v4)
{
	if (v4) {
		head[1] = head[8] = head[10] = head[11] = 0xff;
		head[V4_HEAD - 2] = head[V4_HEAD - 1] = head[V4_HEAD + 4] = 0xff;
	} else {
		head[0] |= 0x0f;
		head[1] = head[2] = head[3] = head[7] = 0xff;
		head[V6_HEAD - 2] = head[V6_HEAD - 1] = head[V6_HEAD + 4] = 0xff;
	}
}

/* No QP has a prefix for these, so every byte is walked. */
static __always_inline enum xa_reason check_gsi_icrc(struct xdp_md *ctx, __u32 l2_len, bool v4,
						     __u8 *head)
{
	__u32 len = (v4 ? V4_HEAD : V6_HEAD) + sizeof(struct xa_bth), crc = ICRC_START;

	mask_head(head, v4);
	for (__u32 i = 0; i < HEAD_MAX && i < len; i++)
		crc = crc_byte(crc, head[i]);
	return walked_icrc_ok(ctx, l2_len + len, XA_GSI_LEN - sizeof(struct xa_bth) - XA_ICRC_LEN,
			      crc)
		       ? GO_ON
		       : XA_REASON_icrc;
}

static __always_inline enum xa_reason check_gsi(const struct xa_bth *bth, __u32 roce_len)
{
	if (bth->opcode != XA_OP_UD_SEND_ONLY)
		return XA_REASON_transport;
	if ((bpf_ntohs(bth->pkey) & XA_PKEY_BASE_MASK) != (XA_PKEY_DEFAULT & XA_PKEY_BASE_MASK))
		return XA_REASON_pkey;
	return roce_len != XA_GSI_LEN || bth->flags & XA_BTH_PAD_MASK ? XA_REASON_length : GO_ON;
}

static __always_inline enum xa_reason deliver(struct xdp_md *ctx, __u32 len)
{
	struct xa_gsi_packet *record;

	/* Holds always; the verifier has to be told. */
	barrier_var(len);
	if (len < ETH_HLEN || len > XA_GSI_FRAME_MAX)
		return XA_REASON_malformed;
	record = bpf_ringbuf_reserve(&gsi, sizeof(*record), 0);
	if (!record)
		return XA_REASON_gsi_full;
	record->time_ns = bpf_ktime_get_ns();
	record->ifindex = ctx->ingress_ifindex;
	record->length = len;
	if (bpf_xdp_load_bytes(ctx, 0, record->frame, len)) {
		bpf_ringbuf_discard(record, 0);
		return XA_REASON_malformed;
	}
	bpf_ringbuf_submit(record, 0);
	return XA_REASON_gsi_agent;
}

/* Out of line: the fast path shall not pay for it. The lengths have been checked by parse(). */
static __noinline enum xa_reason take_gsi(struct xdp_md *ctx, __u32 l2_len, enum xa_family family,
					  __u32 roce_len)
{
	__u8 head[HEAD_MAX] = {};
	bool v4 = family == XA_IPV4;
	enum xa_reason reason;

	if (!has_agent())
		return XA_REASON_gsi;
	if (bpf_xdp_load_bytes(ctx, l2_len, head, (v4 ? V4_HEAD : V6_HEAD) + sizeof(struct xa_bth)))
		return XA_REASON_malformed;
	reason = check_gsi((void *)(head + (v4 ? V4_HEAD : V6_HEAD)), roce_len);
	if (reason == GO_ON)
		reason = check_gsi_icrc(ctx, l2_len, v4, head);
	if (reason == GO_ON)
		reason = deliver(ctx, l2_len + (v4 ? V4_HEAD : V6_HEAD) + XA_GSI_LEN);
	return reason;
}

#endif
