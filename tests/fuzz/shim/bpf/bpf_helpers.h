/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpf_helpers.h - stands in for libbpf's header of that name, so that the BPF program compiles for the host.
 * Map definitions keep their form but mean nothing; helpers are functions of target_native.c.
 */
#ifndef XATOMIC_TESTS_SHIM_BPF_HELPERS_H
#define XATOMIC_TESTS_SHIM_BPF_HELPERS_H

#include <linux/types.h>
#include <stddef.h>

#define SEC(name)
#define __uint(name, val)  int(*name)[val]
#define __type(name, val)  typeof(val) *name
#define __array(name, val) typeof(val) *name[]

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline      __attribute__((noinline))

#define barrier()        asm volatile("" ::: "memory")
#define barrier_var(var) asm volatile("" : "+r"(var))

struct xdp_md;

void *bpf_map_lookup_elem(void *map, const void *key);
long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
long bpf_loop(__u32 count, void *body, void *ctx, __u64 flags);
__u64 bpf_ktime_get_ns(void);
void *bpf_ringbuf_reserve(void *ringbuf, __u64 size, __u64 flags);
void bpf_ringbuf_submit(void *record, __u64 flags);
void bpf_ringbuf_discard(void *record, __u64 flags);
long bpf_xdp_adjust_tail(struct xdp_md *ctx, int delta);
long bpf_xdp_load_bytes(struct xdp_md *ctx, __u32 offset, void *to, __u32 len);

#endif
