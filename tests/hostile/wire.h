/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h - what wire.bpf.c and its user space share: settings and counters of the hostile wire.
 */
#ifndef XATOMIC_TEST_WIRE_H
#define XATOMIC_TEST_WIRE_H

#include <linux/types.h>

#define WIRE_PORTS     32  /* interfaces that it connects in pairs */
#define WIRE_FRAME_MAX 128 /* longer frames pass undisturbed: none of them is an atomic */
#define WIRE_HELD      8   /* frames that each way can hold back */
#define WIRE_DELAY     24  /* packets, at most, that overtake one that is held back */

enum wire_way { WIRE_REQUESTS, WIRE_REPLIES, WIRE_WAYS };

/* Where what comes in goes to. */
struct wire_port {
	__u32 ifindex; /* comes in here */
	__u32 out;     /* goes out there */
	__u32 way;     /* enum wire_way */
	__u32 pad;
};

/* Chances of 2^32 for each packet, the same both ways. */
struct wire_settings {
	__u64 seed;
	__u32 lose;
	__u32 corrupt;   /* flip one to three bits, anywhere */
	__u32 duplicate; /* half of the copies follow at once, half are held back */
	__u32 reorder;   /* hold back */
};

struct wire_counters {
	__u64 seen;
	__u64 lost;
	__u64 corrupted;
	__u64 duplicated;
	__u64 reordered; /* came out later than packets that had come in later */
};

#endif
