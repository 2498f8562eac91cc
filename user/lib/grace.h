/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XATOMIC_LIB_GRACE_H
#define XATOMIC_LIB_GRACE_H

/*
 * Waits until no packet is in the program any more that was in it before the call (an RCU grace period).
 * Returns -1 with xa_error().
 */
int xa_grace_period(void);

#endif
