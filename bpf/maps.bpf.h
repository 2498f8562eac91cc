/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.bpf.h - the maps and the configuration that the loader sets before the program is loaded.
 * Layouts are in include/xatomic/abi.h; the sizes here are defaults that the loader overrides.
 */
#ifndef XATOMIC_BPF_MAPS_H
#define XATOMIC_BPF_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "xatomic/abi.h"

const volatile __u32 qp_mask = XA_DEF_QPS - 1;
const volatile enum xa_unknown_qp unknown_qp = XA_UNKNOWN_QP_PASS;

/* Mmapable: the control plane changes a live QP by a compare-and-swap of its control word. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XA_DEF_QPS);
	__type(key, __u32);
	__type(value, struct xa_qp);
} qps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, XA_DEF_MRS);
	__type(key, __u32);
	__type(value, struct xa_mr);
} mrs SEC(".maps");

/* What an MR's own map looks like; BPF_F_INNER_MAP lets their sizes differ. */
struct mr_words_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, XA_DEF_MRS);
	__type(key, __u32);
	__array(values, struct mr_words_map);
} mr_words SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, XA_DEF_QPS);
	__type(key, __u32);
	__type(value, struct xa_window);
} replay SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xa_stats);
} stats SEC(".maps");

/* Records are struct xa_event. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, XA_RING_BYTES);
} events SEC(".maps");

/* Records are struct xa_gsi_packet. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, XA_RING_BYTES);
} gsi SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xa_agent);
} agent SEC(".maps");

/* Not read here: the connection manager's memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XA_DEF_QPS);
	__type(key, __u32);
	__type(value, struct xa_connection);
} connections SEC(".maps");

/* Not read here: it tells later commands and upgrades what the instance was made with. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xa_config);
} config SEC(".maps");

#endif
