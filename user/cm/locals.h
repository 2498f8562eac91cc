/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locals.h - the addresses of this network namespace at which the responder may be reached.
 */
#ifndef XATOMIC_CM_LOCALS_H
#define XATOMIC_CM_LOCALS_H

#include "lib/address.h"

/*
 * Has the interface this address? The answer may be a second old, so that many questions cost little.
 */
bool cm_local_has(int ifindex, const struct xa_ip *ip, uint64_t now_ns);

/*
 * The own address that a peer should send its atomics to, on an interface that runs an XDP program: `wanted`
 * when it is one, else the first one in a network of the peer. Returns 0, or -1 with xa_error().
 */
int cm_local_choose(const struct xa_ip *peer, const struct xa_ip *wanted, struct xa_ip *local);

#endif
