/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lock.bpf.h - stage 4: one packet of a QP at a time, from the PSN check to the saved result. A request
 * and its retransmission can be on two CPUs at once.
 *
 * The lock is a byte of the QP's control word, taken by the same compare-and-swap that makes sure that
 * the word is still what the packet was matched against. bpf_spin_lock costs twice as much, since it
 * switches interrupts off; XDP runs in softirq, which does not nest, so that is not needed. Spinning is
 * bounded all the same: a virtual CPU can be taken away while it holds the lock.
 */
#ifndef XATOMIC_BPF_LOCK_H
#define XATOMIC_BPF_LOCK_H

#include "ctl.bpf.h"
#include "packet.bpf.h"

#define LOCK_TRIES 4096

static __always_inline bool try_lock(struct xa_qp *qp, __u64 seen)
{
	if (seen & CTL_LOCK)
		return false;
	return __sync_val_compare_and_swap((__u64 *)&qp->ctl, seen, seen | CTL_LOCK) == seen;
}

struct lock_wait {
	struct xa_qp *qp;
	__u64 ctl;
	bool locked;
};

static long lock_again(__u32 i __attribute__((unused)), void *data)
{
	struct lock_wait *wait = data;

	wait->ctl = read_ctl(wait->qp);
	if (!has_state(wait->ctl, XA_QP_RTR))
		return 1;
	wait->locked = try_lock(wait->qp, wait->ctl);
	return wait->locked;
}

/* Out of line, with the copy of the control word in memory that bpf_loop() needs. */
static __noinline bool lock_slowly(struct xa_qp *qp, __u64 *ctl)
{
	struct lock_wait wait = {.qp = qp};

	bpf_loop(LOCK_TRIES, lock_again, &wait, 0);
	*ctl = wait.ctl;
	return wait.locked;
}

/* On GO_ON the lock is held and p->ctl is the control word as it was when it was free. */
static __always_inline enum xa_reason lock_qp(struct packet *p)
{
	__u64 ctl;

	if (try_lock(p->qp, p->ctl))
		return GO_ON;
	if (!lock_slowly(p->qp, &ctl))
		return has_state(ctl, XA_QP_RTR) ? XA_REASON_busy : XA_REASON_qp_state;
	p->ctl = ctl;
	return GO_ON;
}

/* Publishes p->ctl, in which lock is 0, with everything written before it. */
static __always_inline void unlock_qp(const struct packet *p)
{
#ifdef __TARGET_ARCH_x86
	/* A store is a release there. */
	asm volatile("" ::: "memory");
	*(volatile __u64 *)&p->qp->ctl = p->ctl;
#else
	__sync_lock_test_and_set((__u64 *)&p->qp->ctl, p->ctl);
#endif
}

#endif
