/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capability.h - what the kernel lets this process do, see capabilities(7).
 */
#ifndef XATOMIC_LIB_CAPABILITY_H
#define XATOMIC_LIB_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>

/* Is it in the effective set of the calling thread? True also when that cannot be told. */
bool xa_has_capability(int capability);

/* The same for those that CAP_SYS_ADMIN stands for as well: CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN in bpf(2). */
bool xa_has_bpf_capability(int capability);

#endif
