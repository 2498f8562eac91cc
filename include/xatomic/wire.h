/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wire.h - RoCEv2 packets as they lie on the wire (IBA volume 1 chapter 9, annexes A17 and A19).
 *
 * Shared by the BPF program and user space. Every multi-byte field is big endian but the ICRC, which
 * is stored least significant byte first. A packet is Ethernet, 0-2 VLAN tags, IPv4 (20 bytes) or
 * IPv6 (40), UDP, then the structures below, then 4 bytes of ICRC.
 */
#ifndef XATOMIC_WIRE_H
#define XATOMIC_WIRE_H

#include <linux/types.h>

#include "xatomic/static_assert.h"

#define XA_ROCE_PORT 4791 /* UDP destination port, both directions */

#define XA_PSN_MASK   0xffffffu /* PSN, QPN and MSN are 24 bits wide */
#define XA_QPN_MASK   0xffffffu
#define XA_PSN_WINDOW (1u << 23) /* PSNs behind the expected one that count as duplicates */

#define XA_QPN_SMI       0u
#define XA_QPN_GSI       1u /* CM datagrams */
#define XA_QPN_MULTICAST 0xffffffu

/* Opcode: transport in bits 7..5, operation in bits 4..0. */
#define XA_TRANSPORT_MASK 0xe0
#define XA_TRANSPORT_RC   0x00

enum xa_opcode {
	XA_OP_SEND_FIRST = 0x00,
	XA_OP_SEND_MIDDLE = 0x01,
	XA_OP_SEND_LAST = 0x02,
	XA_OP_SEND_LAST_IMM = 0x03,
	XA_OP_SEND_ONLY = 0x04,
	XA_OP_SEND_ONLY_IMM = 0x05,
	XA_OP_WRITE_FIRST = 0x06,
	XA_OP_WRITE_MIDDLE = 0x07,
	XA_OP_WRITE_LAST = 0x08,
	XA_OP_WRITE_LAST_IMM = 0x09,
	XA_OP_WRITE_ONLY = 0x0a,
	XA_OP_WRITE_ONLY_IMM = 0x0b,
	XA_OP_READ_REQUEST = 0x0c,
	XA_OP_READ_RESPONSE_FIRST = 0x0d,
	XA_OP_READ_RESPONSE_MIDDLE = 0x0e,
	XA_OP_READ_RESPONSE_LAST = 0x0f,
	XA_OP_READ_RESPONSE_ONLY = 0x10,
	XA_OP_ACKNOWLEDGE = 0x11,
	XA_OP_ATOMIC_ACKNOWLEDGE = 0x12,
	XA_OP_CMP_SWAP = 0x13,
	XA_OP_FETCH_ADD = 0x14,
	XA_OP_SEND_LAST_INV = 0x16,
	XA_OP_SEND_ONLY_INV = 0x17,
	XA_OP_FLUSH = 0x1c,
	XA_OP_ATOMIC_WRITE = 0x1d,
	XA_OP_UD_SEND_ONLY = 0x64,
	XA_OP_CNP = 0x81,
};

/* AETH syndrome: bit 7 is 0, bits 6..5 the type, bits 4..0 the value. */
#define XA_SYN_TYPE_MASK 0x60
#define XA_SYN_ACK       0x00
#define XA_SYN_RNR       0x20
#define XA_SYN_NAK       0x60

enum xa_syndrome {
	XA_SYN_ACK_UNLIMITED = 0x1f, /* ACK without end-to-end flow control */
	XA_SYN_NAK_SEQUENCE = 0x60,
	XA_SYN_NAK_INV_REQ = 0x61,
	XA_SYN_NAK_REM_ACCESS = 0x62,
	XA_SYN_NAK_REM_OP = 0x63,
};

/* xa_bth.flags */
#define XA_BTH_SE       0x80
#define XA_BTH_MIGREQ   0x40
#define XA_BTH_PAD_MASK 0x30
#define XA_BTH_PAD(f)   (((f)&XA_BTH_PAD_MASK) >> 4)
#define XA_BTH_TVER     0x0f
/* xa_bth.apsn, host order */
#define XA_BTH_ACKREQ   0x80000000u

#define XA_PKEY_DEFAULT   0xffff
#define XA_PKEY_BASE_MASK 0x7fff /* bit 15 tells a full member */

struct xa_bth {
	__u8 opcode;
	__u8 flags; /* SE, MigReq, PadCnt, TVer */
	__be16 pkey;
	__be32 qpn;  /* FECN, BECN and 6 reserved bits, DestQP 24 bits */
	__be32 apsn; /* AckReq, 7 reserved bits, PSN 24 bits */
} __attribute__((packed));

struct xa_aeth {
	__be32 smsn; /* syndrome 8 bits, MSN 24 bits */
} __attribute__((packed));

struct xa_atmeth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add; /* swap value of a CMP_SWAP, addend of a FETCH_ADD */
	__be64 compare;  /* unwritten in a FETCH_ADD: never interpret it there */
} __attribute__((packed));

struct xa_atmack {
	__be64 original;
} __attribute__((packed));

struct xa_reth {
	__be64 va;
	__be32 rkey;
	__be32 length;
} __attribute__((packed));

/* Datagrams. */
struct xa_deth {
	__be32 qkey;
	__be32 sqp; /* 8 reserved bits, source QP 24 bits */
} __attribute__((packed));

#define XA_ICRC_LEN 4
#define XA_MAD_LEN  256 /* a management datagram, always whole */

/* Whole packets behind the UDP header, in bytes. */
#define XA_ATOMIC_LEN (sizeof(struct xa_bth) + sizeof(struct xa_atmeth) + XA_ICRC_LEN)
#define XA_ATOMIC_ACK_LEN                                                                          \
	(sizeof(struct xa_bth) + sizeof(struct xa_aeth) + sizeof(struct xa_atmack) + XA_ICRC_LEN)
#define XA_NAK_LEN (sizeof(struct xa_bth) + sizeof(struct xa_aeth) + XA_ICRC_LEN)
#define XA_MIN_LEN (sizeof(struct xa_bth) + XA_ICRC_LEN)
#define XA_GSI_LEN (sizeof(struct xa_bth) + sizeof(struct xa_deth) + XA_MAD_LEN + XA_ICRC_LEN)

XA_STATIC_ASSERT(sizeof(struct xa_bth) == 12, "BTH is 12 bytes");
XA_STATIC_ASSERT(sizeof(struct xa_atmeth) == 28, "AtomicETH is 28 bytes");
XA_STATIC_ASSERT(XA_ATOMIC_LEN == 44, "COMPARE_SWAP and FETCH_ADD are 44 bytes");
XA_STATIC_ASSERT(XA_ATOMIC_ACK_LEN == 28, "ATOMIC_ACKNOWLEDGE is 28 bytes");
XA_STATIC_ASSERT(XA_NAK_LEN == 20, "a NAK is 20 bytes");
XA_STATIC_ASSERT(XA_GSI_LEN == 280, "a CM datagram is 280 bytes");

/*
 * Signed distance a - b of two PSNs, -2^23 .. 2^23 - 1: above 0 newer, below 0 older. A distance of
 * exactly 2^23 is older, so that 2^23 PSNs behind the expected one form the duplicate region
 * (rxe psn_compare).
 */
static inline __s32 xa_psn_diff(__u32 a, __u32 b)
{
	return (__s32)((a - b) << 8) >> 8;
}

static inline __u32 xa_psn_add(__u32 psn, __u32 n)
{
	return (psn + n) & XA_PSN_MASK;
}

/*
 * Bytes of BTH and extended headers of an RC request, without payload, pad and ICRC (IBA 9.2, table of
 * RC opcodes; rxe_opcode.c). Reserved opcodes have a BTH only.
 */
static inline __u32 xa_rc_header_len(__u8 opcode)
{
	switch (opcode) {
	case XA_OP_SEND_LAST_IMM:
	case XA_OP_SEND_ONLY_IMM:
	case XA_OP_WRITE_LAST_IMM:
	case XA_OP_SEND_LAST_INV:
	case XA_OP_SEND_ONLY_INV:
		return sizeof(struct xa_bth) + 4;
	case XA_OP_WRITE_FIRST:
	case XA_OP_WRITE_ONLY:
	case XA_OP_READ_REQUEST:
	case XA_OP_ATOMIC_WRITE:
		return sizeof(struct xa_bth) + sizeof(struct xa_reth);
	case XA_OP_WRITE_ONLY_IMM:
	case XA_OP_FLUSH:
		return sizeof(struct xa_bth) + sizeof(struct xa_reth) + 4;
	case XA_OP_CMP_SWAP:
	case XA_OP_FETCH_ADD:
		return sizeof(struct xa_bth) + sizeof(struct xa_atmeth);
	default:
		return sizeof(struct xa_bth);
	}
}

#endif
