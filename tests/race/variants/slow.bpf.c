// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * slow.bpf.c - the responder, with a rest wherever the control plane could come between two of its steps:
 * before the lock, between the two look-ups of a memory region, and before the atomic. What may not happen
 * here may not happen at any speed; and what only a stolen virtual CPU would show happens all the time.
 */
#include "../../../bpf/icrc.bpf.h"
#include "../../../bpf/execute.bpf.h"
#include "../../../bpf/maps.bpf.h"

enum { REST = 8000, LONG_REST = 200000 }; /* turns: some ten microseconds, and half a millisecond */

static long do_nothing(__u32 i __attribute__((unused)), void *data __attribute__((unused)))
{
	return 0;
}

static __noinline int rest(__u32 turns)
{
	return bpf_loop(turns, do_nothing, NULL, 0);
}

static __always_inline enum xa_reason check_icrc_slowly(struct xdp_md *ctx, struct packet *p)
{
	enum xa_reason reason = check_icrc(ctx, p);

	rest(LONG_REST);
	return reason;
}

static __always_inline __u64 execute_slowly(const struct packet *p, __u64 *word)
{
	rest(REST);
	return execute(p, word);
}

#define check_icrc check_icrc_slowly
#define execute    execute_slowly
#define bpf_map_lookup_elem(map, key)                                                              \
	((const void *)(map) == &mr_words ? rest(LONG_REST) : 0, bpf_map_lookup_elem(map, key))

#include "../../../bpf/responder.bpf.c"
