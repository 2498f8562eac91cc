// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * nolock.bpf.c - the responder with a QP lock that keeps nobody out. A race test that does not notice is
 * no test.
 */
#include "../../../bpf/lock.bpf.h"

static __always_inline enum xa_reason no_lock(struct packet *p)
{
	p->ctl = read_ctl(p->qp);
	return GO_ON;
}

#define lock_qp no_lock

#include "../../../bpf/responder.bpf.c"
