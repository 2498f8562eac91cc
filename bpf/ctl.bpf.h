/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ctl.bpf.h - a QP's control word (struct xa_qp_ctl) as one number, which is how it is compared, swapped and
 * stored. Taking the structure apart and putting it together again would be a dozen instructions more.
 */
#ifndef XATOMIC_BPF_CTL_H
#define XATOMIC_BPF_CTL_H

#include <stdbool.h>
#include "packet.bpf.h"

#define CTL_BIT(field) (1ull << 8 * offsetof(struct xa_qp_ctl, field))
#define CTL_NAK_SENT   CTL_BIT(nak_sent)
#define CTL_LOCK       CTL_BIT(lock)
#define CTL_STATE_MASK (CTL_BIT(state) * 0xff)

static __always_inline __u64 read_ctl(const struct xa_qp *qp)
{
	return *(const volatile __u64 *)&qp->ctl;
}

static __always_inline bool has_state(__u64 ctl, enum xa_qp_state state)
{
	return (ctl & CTL_STATE_MASK) == CTL_BIT(state) * state;
}

static __always_inline __u64 with_state(__u64 ctl, enum xa_qp_state state)
{
	return (ctl & ~CTL_STATE_MASK) | CTL_BIT(state) * state;
}

static __always_inline __u32 expected_psn(__u64 ctl)
{
	return ctl; /* the first four bytes */
}

static __always_inline __u64 with_next_psn(__u64 ctl)
{
	return (ctl & ~(__u64)XA_PSN_MASK) | xa_psn_add(ctl, 1);
}

#endif
