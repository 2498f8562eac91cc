/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * traffic.h - what the bench's own BPF programs and their user space share.
 */
#ifndef XATOMIC_BENCH_TRAFFIC_H
#define XATOMIC_BENCH_TRAFFIC_H

#include <linux/types.h>

#define FRAME_MAX      112 /* room for a template, a multiple of 8 */
#define FLOWS_MAX      8192
#define DUPLICATES     16 /* a stream of duplicates repeats the last this many PSNs */
#define INSPECT_BYTES  128
#define SINK_BAD_ACK   0 /* counter of acknowledgements whose syndrome is not an ACK */
#define SINK_COUNTERS  256
#define SEND_GROWS     16 /* bytes that a sender on the node's side puts behind a live frame */
#define RANDOM_VA_BIT  16 /* where in a random number the address of a word starts, ... */
#define RANDOM_MR_BIT  40 /* ... and the number of an MR */
#define LATENCY_LINEAR 8192 /* a bucket of a latency histogram is this many ns / 128 wide */
#define LOOP_SLOTS     64   /* requests in flight on one flow, at most */

/* What is sent on a QP. */
enum traffic_kind {
	TRAFFIC_FRESH,	   /* each PSN once */
	TRAFFIC_DUPLICATE, /* the last DUPLICATES PSNs over and over */
	TRAFFIC_GAP,	   /* PSN + 1, which draws a sequence NAK, then PSN, and so on */
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

#endif
