/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wiretap.h - what wiretap.bpf.c and scripts/wiretap.c share: records of packets that were seen, and the
 * plan of packets to lose.
 */
#ifndef XATOMIC_WIRETAP_H
#define XATOMIC_WIRETAP_H

#include <linux/types.h>

#define WIRETAP_SNAP  256 /* bytes of a frame that a record keeps */
#define WIRETAP_PLANS 16

enum wiretap_way { WIRETAP_OUT, WIRETAP_IN };

/*
 * Loses the first `times` packets of this opcode and PSN, on whatever tap they appear. A datagram for QP 1 is told by
 * the attribute id of its MAD instead of its PSN.
 */
struct wiretap_plan {
	__u32 opcode;
	__u32 psn;
	__u32 times;
	__u32 hits; /* packets that matched so far */
};

struct wiretap_record {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 tap;
	enum wiretap_way way;
	__u32 length; /* of the frame */
	__u32 lost;
	__u8 frame[WIRETAP_SNAP];
};

#endif
