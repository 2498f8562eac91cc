/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * requester.h - what user space tells requester.bpf.c.
 */
#ifndef XATOMIC_REQUESTER_BPF_H
#define XATOMIC_REQUESTER_BPF_H

#include <linux/types.h>

/* A queue pair whose responses the requester takes. */
struct requester_key {
	__be32 local[4]; /* its own address, as a GID */
	__u32 lqpn;      /* DestQP of the responses */
};

#define REQUESTER_MAX_QPS 65536

#endif
