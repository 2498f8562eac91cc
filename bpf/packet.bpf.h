/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * packet.bpf.h - what the stages know of the packet at hand, and how they read it.
 *
 * A stage is an inline function that returns GO_ON, or the reason why the packet goes no further.
 */
#ifndef XATOMIC_BPF_PACKET_H
#define XATOMIC_BPF_PACKET_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "xatomic/abi.h"
#include "xatomic/wire.h"

#define GO_ON XA_REASON_COUNT

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the ICRC tables are walked in little-endian words; port icrc.bpf.h first"
#endif

struct packet {
	void *data_end;
	void *l3;
	struct udphdr *udp;
	struct xa_bth *bth;
	struct xa_qp *qp;
	__u64 ctl;         /* control word as seen before the lock, then as it shall be after it */
	__u32 l2_len;      /* Ethernet and VLAN tags, bytes */
	__u32 roce_len;    /* BTH to ICRC, bytes, as the UDP header has it */
	__u32 varying_crc; /* ICRC of what differs from the QP's prefix, same in the reply */
	__u32 psn;
	enum xa_family family;
	enum xa_class class;
	__u8 opcode;
	__u8 bth_flags;
	bool is_atomic; /* told once: the verifier must see the same answer everywhere */
};

/* What the reply says; filled by the stage that decides it. */
struct answer {
	__u64 original;
	__u32 psn;
	__u32 msn;
	__u8 syndrome;
};

static __always_inline enum xa_syndrome nak_syndrome(enum xa_reason reason)
{
	switch (reason) {
	case XA_REASON_sequence:
		return XA_SYN_NAK_SEQUENCE;
	case XA_REASON_opcode:
	case XA_REASON_qp_access:
	case XA_REASON_alignment:
		return XA_SYN_NAK_INV_REQ;
	default:
		return XA_SYN_NAK_REM_ACCESS;
	}
}

/* Packet fields are not aligned and packed structs would be read byte by byte. */
static __always_inline __u16 load_be16(const void *p)
{
	return bpf_ntohs(*(const __u16 *)p);
}

static __always_inline __u32 load_be32(const void *p)
{
	return bpf_ntohl(*(const __u32 *)p);
}

static __always_inline __u64 load_be64(const void *p)
{
	return bpf_be64_to_cpu(*(const __u64 *)p);
}

/* Only of an atomic whose length has been checked. */
static __always_inline const struct xa_atmeth *atmeth(const struct packet *p)
{
	return (const void *)(p->bth + 1);
}

#endif
