/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/stream.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/check.h"
#include "bench/traffic.skel.h"
#include "responder.skel.h"

enum { BATCH = 64, SEED = 88172645 };

int traffic_fail(const struct traffic *t, const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", t->spec.name, what);
	return -1;
}

static int fail_errno(const struct traffic *t, const char *what)
{
	fprintf(stderr, "bench: %s: %s: %s\n", t->spec.name, what, strerror(errno));
	return -1;
}

uint64_t stream_va_mask(const struct stream_spec *spec)
{
	return spec->spread ? spec->words * 8 - 1 : 0;
}

uint64_t stream_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

uint64_t stream_seed(const struct stream_place *place)
{
	return SEED + place->pair;
}

int traffic_load(struct traffic *t)
{
	struct request_config *config;

	t->bpf = traffic_bpf__open();
	if (!t->bpf)
		return fail_errno(t, "cannot open the generator");
	config = (void *)&t->bpf->rodata->request;
	if (frame_config(&t->spec.frame, config))
		return traffic_fail(t, "the tables do not give the ICRC");
	config->kind = t->spec.kind;
	config->va_mask = stream_va_mask(&t->spec);
	config->mr_mask = t->spec.mrs - 1;
	return traffic_bpf__load(t->bpf) ? fail_errno(t, "cannot load the generator") : 0;
}

int traffic_open(struct traffic *t, struct rig *rig, const struct stream_spec *spec,
		 const struct stream_place *place, struct rig_mrs *mrs)
{
	*t = (struct traffic){.rig = rig, .spec = *spec, .place = *place, .mrs = mrs};
	t->spec.frame.rkey = rig_rkey(mrs);
	for (uint32_t i = 0; i < spec->flows; i++)
		if (rig_add_qp(rig, place->first_qp + i, spec->frame.family, spec->depth))
			return -1;
	return traffic_load(t);
}

void traffic_close(struct traffic *t)
{
	rig_attach(t->rig->node_if[t->place.pair], -1);
	rig_attach(t->rig->resp_if[t->place.pair], -1);
	traffic_bpf__destroy(t->bpf);
}

/* Lets the generator's flows go on where the responder is. */
static int follow_responder(struct traffic *t)
{
	uint32_t back = t->spec.kind == TRAFFIC_DUPLICATE ? DUPLICATES : 0;

	for (uint32_t i = t->place.first_qp; i < t->place.first_qp + t->spec.flows; i++) {
		uint32_t qpn = rig_qpn(t->rig, i);
		struct flow flow = {
			.qpn = htonl(qpn),
			.crc = frame_crc(&t->spec.frame, qpn, 0, 0),
			.psn = xa_psn_add(t->rig->qps[i].ctl.epsn, -back),
		};

		if (bpf_map_update_elem(bpf_map__fd(t->bpf->maps.flows), &i, &flow, 0))
			return fail_errno(t, "cannot set a flow");
	}
	return 0;
}

static int set_stream(struct traffic *t)
{
	int cpus = libbpf_num_possible_cpus(), failed;
	struct stream *streams = calloc(cpus, sizeof(*streams));
	uint32_t zero = 0;

	if (!streams)
		return traffic_fail(t, "out of memory");
	streams[t->place.cpu] = (struct stream){
		.first = t->place.first_qp,
		.mask = t->spec.flows - 1,
		.random = stream_seed(&t->place),
	};
	failed = bpf_map_update_elem(bpf_map__fd(t->bpf->maps.streams), &zero, streams, 0);
	free(streams);
	return failed ? fail_errno(t, "cannot set the stream") : 0;
}

static int program_under_test(const struct traffic *t, enum target target)
{
	if (target == TARGET_RESPONDER)
		return bpf_program__fd(t->rig->responder->progs.xatomic_rx);
	if (target == TARGET_ECHO)
		return bpf_program__fd(t->bpf->progs.echo);
	return bpf_program__fd(t->bpf->progs.transmit);
}

/* Puts the program under test behind the generator or onto the responder's interface. */
static int put_in_place(struct traffic *t, const struct stream_run *run, struct bpf_program *sink)
{
	int program = program_under_test(t, run->target);
	uint32_t zero = 0;

	if (rig_attach(t->rig->node_if[t->place.pair], bpf_program__fd(sink)))
		return -1;
	if (run->route == ROUTE_PATH)
		return rig_attach(t->rig->resp_if[t->place.pair], program);
	if (bpf_map_update_elem(bpf_map__fd(t->bpf->maps.under_test), &zero, &program, 0))
		return fail_errno(t, "cannot set the program under test");
	return 0;
}

int traffic_prepare_for(struct traffic *t, const struct stream_run *run, struct bpf_program *sink)
{
	if (put_in_place(t, run, sink) || set_stream(t))
		return -1;
	return follow_responder(t);
}

int traffic_prepare(struct traffic *t, const struct stream_run *run)
{
	return traffic_prepare_for(t, run, t->bpf->progs.sink);
}

static int first_program(const struct traffic *t, const struct stream_run *run)
{
	if (run->route == ROUTE_PATH)
		return bpf_program__fd(t->bpf->progs.send_request);
	return bpf_program__fd(run->target == TARGET_BARE ? t->bpf->progs.transmit
							  : t->bpf->progs.generate);
}

int traffic_send(struct traffic *t, const struct stream_run *run, struct span *span)
{
	uint8_t frame[FRAME_MAX];
	bool path = run->route == ROUTE_PATH;
	const int *interfaces = path ? t->rig->node_if : t->rig->resp_if;
	struct xdp_md ctx = {
		.data_end = frame_length(&t->spec.frame) - (path ? SEND_GROWS : 0),
		.ingress_ifindex = interfaces[t->place.pair],
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = ctx.data_end,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = run->frames,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);
	int failed;

	make_frame(&t->spec.frame, 0, 0, 0, frame);
	*span = span_begin();
	failed = bpf_prog_test_run_opts(first_program(t, run), &opts);
	span_end(span);
	return failed ? fail_errno(t, "cannot run live frames") : 0;
}

int traffic_run(struct traffic *t, const struct stream_run *run, struct span *span)
{
	struct account before, after;

	if (traffic_prepare(t, run) || account_take(t, &before))
		return -1;
	if (traffic_send(t, run, span) || account_take(t, &after))
		return -1;
	return account_check(t, run, &before, &after);
}

static int run_time(int prog_fd, uint64_t *ns, uint64_t *count)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return -1;
	*ns = info.run_time_ns;
	*count = info.run_cnt;
	return 0;
}

int traffic_program_ns(struct traffic *t, enum target target, uint32_t frames, double *ns)
{
	struct stream_run run = {target, ROUTE_PATH, frames, 1, 1};
	int prog = program_under_test(t, target), stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	uint64_t ns_before, ns_after, before, after;
	struct span span;
	int failed;

	if (stats < 0)
		return fail_errno(t, "cannot switch the kernel's run-time statistics on");
	failed = run_time(prog, &ns_before, &before) || traffic_run(t, &run, &span) ||
		 run_time(prog, &ns_after, &after) || after == before;
	close(stats);
	if (!failed)
		*ns = (double)(ns_after - ns_before) / (after - before);
	return failed ? -1 : 0;
}
