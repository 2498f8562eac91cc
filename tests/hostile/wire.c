/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.c - puts the hostile wire between the interfaces nodeI (to the requester) and respI (to the responder)
 * of the namespace PREFIX-wire. The hooks go with the interfaces.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "hostile.h"
#include "hostile/wire.skel.h"
#include "lib/error.h"
#include "lib/netns.h"

static struct wire_bpf *wire;

static int attach(unsigned ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = bpf_program__fd(wire->progs.wire), .handle = 1,
		    .priority = 1, .flags = BPF_TC_F_REPLACE);
	int error = bpf_tc_hook_create(&hook);

	if (error && error != -EEXIST)
		return error;
	return bpf_tc_attach(&hook, &opts);
}

static int connect_node(unsigned node)
{
	struct wire_port *there = &wire->bss->ports[2 * node - 2], *back = there + 1;
	unsigned near, far;
	char name[IF_NAMESIZE];
	int error;

	snprintf(name, sizeof(name), "node%u", node);
	near = if_nametoindex(name);
	snprintf(name, sizeof(name), "resp%u", node);
	far = if_nametoindex(name);
	if (!near || !far)
		return xa_error("the lab has no wire for node %u", node);
	*there = (struct wire_port){.ifindex = near, .out = far, .way = WIRE_REQUESTS};
	*back = (struct wire_port){.ifindex = far, .out = near, .way = WIRE_REPLIES};
	error = attach(near);
	error = error ? error : attach(far);
	return error ? xa_error("the wire cannot be attached: %s", strerror(-error)) : 0;
}

static int connect_all(const struct options *options)
{
	char netns[64];
	int home, status = 0;

	snprintf(netns, sizeof(netns), "%s-wire", options->prefix);
	home = xa_netns_enter(netns);
	if (home < 0)
		return xa_error("there is no namespace %s", netns);
	for (unsigned node = 1; !status && node <= options->nodes; node++)
		status = connect_node(node);
	xa_netns_leave(home);
	return status;
}

int wire_open(const struct options *options)
{
	wire = wire_bpf__open_and_load();
	if (!wire)
		return xa_error("the kernel refused the program of the wire: %s", strerror(errno));
	return connect_all(options);
}

void wire_close(void)
{
	wire_bpf__destroy(wire);
	wire = NULL;
}

static __u32 chance(double percent)
{
	return percent >= 100 ? UINT32_MAX : (__u32)(percent / 100 * 4294967296.0);
}

void wire_set(const struct options *options, double loss, uint64_t seed)
{
	wire->bss->settings = (struct wire_settings){
		.seed = seed,
		.lose = chance(loss),
		.corrupt = chance(options->corrupt),
		.duplicate = chance(options->duplicate),
		.reorder = chance(options->reorder),
	};
	memset(wire->bss->counters, 0, sizeof(wire->bss->counters));
}

void wire_count(struct wire_counters counters[WIRE_WAYS])
{
	memcpy(counters, wire->bss->counters, sizeof(wire->bss->counters));
}
