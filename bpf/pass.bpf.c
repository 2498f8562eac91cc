// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pass.bpf.c - lets every packet through. A veth only delivers what its peer sends with XDP_TX when it
 * runs an XDP program itself, so the requester's end of a veth gets this one.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int xatomic_pass(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
