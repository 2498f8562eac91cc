/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * traffic.h - what traffic.bpf.c and twins.c share.
 */
#ifndef XATOMIC_RACE_TRAFFIC_H
#define XATOMIC_RACE_TRAFFIC_H

#include <linux/types.h>

#define TWIN_REQUESTS 16384 /* PSNs 0 .. TWIN_REQUESTS - 1, then the QP is reset */
#define TWIN_FRAME    86    /* bytes: an atomic over IPv4, no tag */

/*
 * Which of the requests belongs to a life of the QP: the control word's `life` is odd while the QP is ready,
 * and even while it is being reset, when requests are told apart from those of the lives around it.
 */
#define LIVES                     8 /* then the numbers come again */
#define LIFE_REQUEST(life, state) ((life) / 2 % LIVES + ((state) == XA_QP_RESET ? LIVES : 0))

/* Value of `requests`: a frame; index: its PSN, or the above. */
struct twin_request {
	__u64 bytes[(TWIN_FRAME + 7) / 8];
};

/* Value of `senders`, per CPU. */
struct twin_sender {
	__u32 turn;
	__u32 last; /* PSN */
};

/* Value of `answers`, per CPU: replies that came to the other end of the wire. */
struct twin_answers {
	__u64 right;
	__u64 wrong; /* no ATOMIC_ACKNOWLEDGE, or its original value is not its PSN */
	__u64 wrong_psn;
	__u64 wrong_original;
};

#endif
