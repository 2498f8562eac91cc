/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * traffic.h - what the bench's own BPF programs and their user space share.
 */
#ifndef XATOMIC_BENCH_TRAFFIC_H
#define XATOMIC_BENCH_TRAFFIC_H

#include <linux/types.h>

#define FRAME_MAX       112 /* room for a template, a multiple of 8 */
#define FLOWS_MAX       8192
#define DUPLICATES      16 /* a stream of duplicates repeats the last this many PSNs */
#define INSPECT_BYTES   128
#define SINK_BAD_ACK    0 /* counter of acknowledgements whose syndrome is not an ACK */
#define SINK_COUNTERS   256
#define SEND_GROWS      16    /* bytes that a sender on the node's side puts behind a live frame */
#define RANDOM_VA_BIT   16    /* where in a random number the address of a word starts, ... */
#define RANDOM_MR_BIT   40    /* ... and the number of an MR */
#define LOOP_SLOTS      64    /* requests in flight in a closed loop, at most */
#define LATENCY_STEP    16    /* ns that a bucket of the histogram is wide */
#define LATENCY_BUCKETS 65536 /* a million ns; what is longer counts in the last */

/* What is sent on a QP. */
enum traffic_kind {
	TRAFFIC_FRESH,     /* each PSN once */
	TRAFFIC_DUPLICATE, /* the last DUPLICATES PSNs over and over */
	TRAFFIC_GAP,       /* PSN + 1, which draws a sequence NAK, then PSN, and so on */
};

/*
 * How requests are written, set before a program is loaded: the verifier removes what a kind of frame does
 * not need. In the template QPN, PSN, address and the index of the MR are 0.
 */
struct request_config {
	__u64 template[FRAME_MAX / 8];
	__u64 va_mask; /* words are taken at random below it; 0: the template's word */
	__u32 mr_mask; /* likewise MRs */
	__u32 rkey;    /* of MR 0 */
	__u32 frame_len;
	__u32 l3_off;
	__u32 bth_off;
	__u32 ipv6;
	__u32 swap_by_parity; /* COMPARE_SWAP between 0 and 1, so that each succeeds */
	__u32 ip_sum;         /* of the IPv4 header with identification 0, host order */
	enum traffic_kind kind;
	/* What each byte adds to the ICRC, [0] being the lowest of PSN, address or MR index. */
	__u32 psn_crc[3][256];
	__u32 va_crc[4][256];
	__u32 mr_crc[2][256];
};

/* One QP as the generator sees it: 16 bytes, so that 4096 of them stay small in the cache. */
struct flow {
	__be32 qpn;
	__u32 crc; /* ICRC of the template on this QP with PSN 0, as a little-endian word */
	__u32 psn;
	__u32 turn;
};

/* Per CPU: which flows it sends on, round-robin. */
struct stream {
	__u32 first;
	__u32 mask; /* number of flows - 1, a power of two - 1 */
	__u32 turn;
	__u32 unused;
	__u64 random;
};

/* Value of `sink_counts`, per CPU: frames by BTH opcode. */
struct sink_counts {
	__u64 by_opcode[SINK_COUNTERS];
};

/* Record of `inspected`. */
struct inspected_frame {
	__u32 length;
	__u8 bytes[INSPECT_BYTES];
};

/* Value of `loop`, mapped by user space: a closed loop and how far it is. */
struct loop {
	__u64 to_send;
	__u64 answered;
	__u64 wrong;
	__u64 original; /* that the next answer must carry */
	__u64 begin_ns;
	__u64 end_ns;
	__u32 turn; /* whose low bits choose the next flow */
	__u32 flow_mask;
};

/* Value of `slots`, by flow. */
struct loop_slots {
	__u32 psn; /* of the next answer */
	__u32 unused;
	__u64 sent_ns[LOOP_SLOTS]; /* by PSN modulo LOOP_SLOTS */
};

#endif
