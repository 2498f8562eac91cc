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

#include "bench/traffic.skel.h"
#include "lib/icrc.h"
#include "responder.skel.h"

enum { BATCH = 64, SEED = 88172645 };

static int fail(const struct traffic *t, const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", t->spec.name, what);
	return -1;
}

static int fail_errno(const struct traffic *t, const char *what)
{
	fprintf(stderr, "bench: %s: %s: %s\n", t->spec.name, what, strerror(errno));
	return -1;
}

static int fd_of(const struct bpf_program *program)
{
	return bpf_program__fd(program);
}

static uint64_t va_mask(const struct stream_spec *spec)
{
	return spec->words > 1 ? spec->words * 8 - 1 : 0;
}

/* The parts of the program's configuration that the verifier specialises it by. */
static int configure(struct traffic *t)
{
	const struct frame_kind *frame = &t->spec.frame;
	struct traffic_bpf *bpf = t->bpf;
	uint32_t psn_crc[3][256], va_crc[4][256];

	if (frame_tables(frame, psn_crc, va_crc))
		return fail(t, "the tables do not give the ICRC");
	memcpy((void *)bpf->rodata->psn_crc, psn_crc, sizeof(psn_crc));
	memcpy((void *)bpf->rodata->va_crc, va_crc, sizeof(va_crc));
	make_frame(frame, 0, 0, 0, (uint8_t *)bpf->rodata->template);
	bpf->rodata->frame_len = frame_length(frame);
	bpf->rodata->l3_off = frame_l3_off(frame);
	bpf->rodata->bth_off = frame_bth_off(frame);
	bpf->rodata->ipv6 = frame->family == XA_IPV6;
	bpf->rodata->swap_by_parity = frame->opcode == XA_OP_CMP_SWAP;
	bpf->rodata->ip_sum = frame->family == XA_IPV4 ? frame_ip_sum(frame) : 0;
	bpf->rodata->kind = t->spec.kind;
	bpf->rodata->va_mask = va_mask(&t->spec);
	return 0;
}

static int load(struct traffic *t)
{
	t->bpf = traffic_bpf__open();
	if (!t->bpf)
		return fail_errno(t, "cannot open the generator");
	if (configure(t))
		return -1;
	return traffic_bpf__load(t->bpf) ? fail_errno(t, "cannot load the generator") : 0;
}

int traffic_open(struct traffic *t, struct rig *rig, const struct stream_spec *spec, int pairs)
{
	*t = (struct traffic){.rig = rig, .spec = *spec};
	if (rig_add_mr(rig, spec->mr_index, spec->words, &t->mr))
		return -1;
	t->spec.frame.rkey = t->mr.rkey;
	for (uint32_t i = 0; i < spec->flows * pairs; i++)
		if (rig_add_qp(rig, i, spec->frame.family, spec->depth))
			return -1;
	return load(t);
}

void traffic_close(struct traffic *t)
{
	for (int pair = 0; pair < RIG_PAIRS; pair++) {
		rig_attach(t->rig->node_if[pair], -1);
		rig_attach(t->rig->resp_if[pair], -1);
	}
	traffic_bpf__destroy(t->bpf);
	rig_del_mr(t->rig, &t->mr);
}

/* Lets the generator's flows go on where the responder is. */
static int follow_responder(struct traffic *t, const struct stream_run *run)
{
	uint32_t first = run->pair * t->spec.flows;
	uint32_t back = t->spec.kind == TRAFFIC_DUPLICATE ? DUPLICATES : 0;

	for (uint32_t i = first; i < first + t->spec.flows; i++) {
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

/* Writes this CPU's stream and leaves that of the others, which may be running. */
static int set_stream(struct traffic *t, const struct stream_run *run)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(t->bpf->maps.streams), failed;
	struct stream *streams = calloc(cpus, sizeof(*streams));
	uint32_t zero = 0;

	if (!streams)
		return -1;
	failed = bpf_map_lookup_elem(fd, &zero, streams);
	streams[run->cpu] = (struct stream){
		.first = run->pair * t->spec.flows,
		.mask = t->spec.flows - 1,
		.random = SEED + run->pair,
	};
	failed = failed || bpf_map_update_elem(fd, &zero, streams, 0);
	free(streams);
	return failed ? fail_errno(t, "cannot set the stream") : 0;
}

static int program_under_test(struct traffic *t, enum target target)
{
	if (target == TARGET_RESPONDER)
		return fd_of(t->rig->responder->progs.xatomic_rx);
	if (target == TARGET_ECHO)
		return fd_of(t->bpf->progs.echo);
	return fd_of(t->bpf->progs.transmit);
}

/* Puts the program under test behind the generator or onto the responder's interface. */
static int place(struct traffic *t, const struct stream_run *run, struct bpf_program *sink)
{
	int program = program_under_test(t, run->target);
	uint32_t zero = 0;

	if (rig_attach(t->rig->node_if[run->pair], fd_of(sink)))
		return -1;
	if (run->route == ROUTE_PATH)
		return rig_attach(t->rig->resp_if[run->pair], program);
	if (bpf_map_update_elem(bpf_map__fd(t->bpf->maps.under_test), &zero, &program, 0))
		return fail_errno(t, "cannot set the program under test");
	return 0;
}

static int prepare(struct traffic *t, const struct stream_run *run, struct bpf_program *sink)
{
	if (place(t, run, sink))
		return -1;
	if (set_stream(t, run))
		return -1;
	return follow_responder(t, run);
}

static struct bpf_program *first_program(struct traffic *t, const struct stream_run *run)
{
	if (run->route == ROUTE_PATH)
		return t->bpf->progs.send_request;
	return run->target == TARGET_BARE ? t->bpf->progs.transmit : t->bpf->progs.generate;
}

static int send_frames(struct traffic *t, const struct stream_run *run, uint32_t frames)
{
	uint8_t frame[FRAME_MAX];
	bool path = run->route == ROUTE_PATH;
	struct xdp_md ctx = {
		.data_end = frame_length(&t->spec.frame) - (path ? SEND_GROWS : 0),
		.ingress_ifindex = path ? t->rig->node_if[run->pair] : t->rig->resp_if[run->pair],
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = ctx.data_end,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = frames,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);

	make_frame(&t->spec.frame, 0, 0, 0, frame);
	if (bpf_prog_test_run_opts(fd_of(first_program(t, run)), &opts))
		return fail_errno(t, "cannot run live frames");
	return 0;
}

/* Frames that this CPU's sink has counted, by opcode. */
static int read_sink(struct traffic *t, int cpu, struct sink_counts *counts)
{
	int cpus = libbpf_num_possible_cpus();
	struct sink_counts *all = calloc(cpus, sizeof(*all));
	uint32_t zero = 0;
	int failed = !all || bpf_map_lookup_elem(bpf_map__fd(t->bpf->maps.sink_counts), &zero, all);

	if (!failed)
		*counts = all[cpu];
	free(all);
	return failed ? fail_errno(t, "cannot read the sink") : 0;
}

static enum xa_class class_of(const struct traffic *t)
{
	return t->spec.frame.opcode == XA_OP_CMP_SWAP ? XA_CLASS_CMP_SWAP : XA_CLASS_FETCH_ADD;
}

/* What one run may leave behind, of which the difference to the run before is checked. */
struct account {
	struct sink_counts sink;
	uint64_t executed;
	uint64_t replayed;
	uint64_t naks;
	uint64_t sum;      /* of the words */
	uint64_t messages; /* of the QPs' MSNs, modulo 2^24 each */
};

static int take_account(struct traffic *t, const struct stream_run *run, struct account *account)
{
	account->executed = rig_count(t->rig, class_of(t), XA_REASON_executed);
	account->replayed = rig_count(t->rig, class_of(t), XA_REASON_replayed);
	account->naks = rig_count(t->rig, class_of(t), XA_REASON_sequence);
	account->sum = 0;
	for (uint64_t i = 0; i < t->mr.words; i++)
		account->sum += t->mr.word[i];
	account->messages = 0;
	for (uint32_t i = 0; i < t->spec.flows; i++)
		account->messages += t->rig->qps[run->pair * t->spec.flows + i].msn;
	return read_sink(t, run->cpu, &account->sink);
}

static int same(const struct traffic *t, const char *what, uint64_t is, uint64_t should)
{
	if (is == should)
		return 0;
	fprintf(stderr, "bench: %s: %s: %llu instead of %llu\n", t->spec.name, what,
		(unsigned long long)is, (unsigned long long)should);
	return -1;
}

/* Everything that must have grown by as much as was sent. Other CPUs are idle, or checked as a sum. */
static int check_account(const struct traffic *t, const struct stream_run *run,
			 const struct account *before, const struct account *after)
{
	bool answered = run->target == TARGET_RESPONDER, gap = t->spec.kind == TRAFFIC_GAP;
	uint64_t n = run->frames, naks = answered && gap ? n / 2 : 0;
	uint64_t replays = answered && t->spec.kind == TRAFFIC_DUPLICATE ? n : 0;
	uint64_t runs = answered ? n - naks - replays : 0;
	uint8_t opcode = answered ? XA_OP_ATOMIC_ACKNOWLEDGE : t->spec.frame.opcode;
	const __u64 *was = before->sink.by_opcode, *is = after->sink.by_opcode;
	bool adds = t->spec.frame.opcode == XA_OP_FETCH_ADD;
	int bad = 0;

	bad |= same(t, "frames at the sink", is[opcode] - was[opcode], n - naks);
	bad |= same(t, "NAKs at the sink", is[XA_OP_ACKNOWLEDGE] - was[XA_OP_ACKNOWLEDGE], naks);
	bad |= same(t, "atomics executed", after->executed - before->executed, runs);
	bad |= same(t, "duplicates answered", after->replayed - before->replayed, replays);
	bad |= same(t, "sequence NAKs", after->naks - before->naks, naks);
	bad |= same(t, "MSNs", (after->messages - before->messages) & XA_PSN_MASK,
		    runs & XA_PSN_MASK);
	if (adds)
		bad |= same(t, "sum of the words", after->sum - before->sum,
			    runs * t->spec.frame.add);
	return bad;
}

int traffic_run(struct traffic *t, const struct stream_run *run, struct span *span)
{
	struct account before, after;

	if (prepare(t, run, t->bpf->progs.sink) || take_account(t, run, &before))
		return -1;
	*span = span_begin();
	if (send_frames(t, run, run->frames))
		return -1;
	span_end(span);
	if (take_account(t, run, &after))
		return -1;
	return check_account(t, run, &before, &after);
}

/* --- each answer, byte by byte --- */

struct expectation {
	uint64_t va;
	uint64_t original;
	uint32_t qpn;
	uint32_t psn;
	uint32_t smsn; /* syndrome and MSN as in the AETH */
	uint8_t opcode;
};

struct validation {
	struct traffic *traffic;
	struct expectation *expected;
	uint32_t frames;
	uint32_t seen;
	int bad;
};

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return ntohl(value);
}

static uint64_t get64(const uint8_t *at)
{
	return (uint64_t)get32(at) << 32 | get32(at + 4);
}

static int check_addresses(const struct traffic *t, const uint8_t *answer)
{
	size_t l3 = frame_l3_off(&t->spec.frame), len, src;
	uint8_t request[FRAME_MAX];

	make_frame(&t->spec.frame, 0, 0, 0, request);
	len = t->spec.frame.family == XA_IPV4 ? 4 : 16;
	src = l3 + (len == 4 ? 12 : 8);
	if (memcmp(answer, request + 6, 6) || memcmp(answer + 6, request, 6) ||
	    memcmp(answer + 12, request + 12, l3 - 12) ||
	    memcmp(answer + src, request + src + len, len) ||
	    memcmp(answer + src + len, request + src, len))
		return fail(t, "an answer's addresses are wrong");
	return 0;
}

static int check_answer(const struct traffic *t, const struct expectation *e,
			const struct inspected_frame *frame)
{
	const uint8_t *l3 = frame->bytes + frame_l3_off(&t->spec.frame);
	const uint8_t *bth = frame->bytes + frame_bth_off(&t->spec.frame);
	bool ack = e->opcode == XA_OP_ATOMIC_ACKNOWLEDGE;
	uint32_t len = ack ? XA_ATOMIC_ACK_LEN : XA_NAK_LEN, crc;
	int bad;

	bad = same(t, "length of an answer", frame->length, frame_bth_off(&t->spec.frame) + len);
	if (bad)
		return bad;
	memcpy(&crc, bth + len - XA_ICRC_LEN, sizeof(crc));
	bad |= same(t, "opcode", bth[0], e->opcode);
	bad |= same(t, "QPN of an answer", get32(bth + 4), e->qpn);
	bad |= same(t, "PSN of an answer", get32(bth + 8), e->psn);
	bad |= same(t, "syndrome and MSN", get32(bth + 12), e->smsn);
	if (ack)
		bad |= same(t, "original value", get64(bth + 16), e->original);
	bad |= same(t, "ICRC of an answer", crc, xa_icrc(l3, bth, len - XA_ICRC_LEN));
	return bad | check_addresses(t, frame->bytes);
}

static int on_answer(void *context, void *data, size_t size)
{
	struct validation *v = context;

	if (v->seen < v->frames && size >= sizeof(struct inspected_frame) && !v->bad)
		v->bad = check_answer(v->traffic, &v->expected[v->seen], data);
	v->seen++;
	return 0;
}

static uint64_t next_va(const struct stream_spec *spec, uint64_t *random)
{
	if (spec->words <= 1)
		return 0;
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random >> 16 & va_mask(spec) & ~7ull;
}

/* FETCH_ADD: what the word holds, and what the requests before this one have added to it. */
static uint64_t original_of(const struct traffic *t, const struct expectation *all, uint32_t i)
{
	uint64_t value = t->mr.word[all[i].va / 8];

	if (t->spec.frame.opcode == XA_OP_CMP_SWAP)
		return all[i].psn & 1;
	if (t->spec.kind == TRAFFIC_DUPLICATE)
		return value - t->spec.frame.add * (DUPLICATES - i % DUPLICATES);
	for (uint32_t j = 0; j < i; j++)
		if (all[j].va == all[i].va && all[j].opcode == XA_OP_ATOMIC_ACKNOWLEDGE)
			value += t->spec.frame.add;
	return value;
}

static void expect(const struct traffic *t, struct expectation *all, uint32_t frames)
{
	uint64_t random = SEED;

	for (uint32_t i = 0; i < frames; i++) {
		uint32_t index = i % t->spec.flows, turn = i / t->spec.flows, msn;
		const struct xa_qp *qp = &t->rig->qps[index];
		bool nak = t->spec.kind == TRAFFIC_GAP && turn % 2 == 0, dup;
		uint32_t done = t->spec.kind == TRAFFIC_GAP ? turn / 2 : turn;

		dup = t->spec.kind == TRAFFIC_DUPLICATE;
		msn = xa_psn_add(qp->msn, dup ? 0 : nak ? done : done + 1);
		all[i] = (struct expectation){
			.va = next_va(&t->spec, &random),
			.qpn = ntohl(qp->rqpn),
			.psn = xa_psn_add(qp->ctl.epsn,
					  dup ? turn % DUPLICATES - DUPLICATES : done),
			.smsn = (nak ? XA_SYN_NAK_SEQUENCE : XA_SYN_ACK_UNLIMITED) << 24 | msn,
			.opcode = nak ? XA_OP_ACKNOWLEDGE : XA_OP_ATOMIC_ACKNOWLEDGE,
		};
		all[i].original = original_of(t, all, i);
	}
}

static int compare_answers(struct validation *v, const struct stream_run *run)
{
	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(v->traffic->bpf->maps.inspected), on_answer, v, NULL);
	int failed;

	if (!ring)
		return fail_errno(v->traffic, "cannot open the ring of answers");
	failed = prepare(v->traffic, run, v->traffic->bpf->progs.inspect);
	if (!failed) {
		expect(v->traffic, v->expected, v->frames);
		failed = send_frames(v->traffic, run, v->frames);
		ring_buffer__consume(ring);
		failed = failed || v->bad || same(v->traffic, "answers", v->seen, v->frames);
	}
	ring_buffer__free(ring);
	return failed ? -1 : 0;
}

/* A stream of duplicates needs something to be a duplicate of. */
static int send_originals(struct traffic *t, const struct stream_run *run)
{
	struct traffic fresh = *t;
	int failed;

	fresh.spec.kind = TRAFFIC_FRESH;
	failed = load(&fresh) || prepare(&fresh, run, fresh.bpf->progs.sink) ||
		 send_frames(&fresh, run, DUPLICATES);
	traffic_bpf__destroy(fresh.bpf);
	return failed ? -1 : 0;
}

int traffic_validate(struct traffic *t, enum route route, int cpu)
{
	struct stream_run run = {.target = TARGET_RESPONDER, .route = route, .cpu = cpu};
	struct validation v = {.traffic = t,
			       .frames = t->spec.flows > 128 ? t->spec.flows * 2 : 256};
	int failed;

	if (t->spec.kind == TRAFFIC_DUPLICATE && send_originals(t, &run))
		return -1;
	v.expected = calloc(v.frames, sizeof(*v.expected));
	if (!v.expected)
		return fail(t, "out of memory");
	failed = compare_answers(&v, &run);
	free(v.expected);
	return failed;
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

int traffic_program_ns(struct traffic *t, int cpu, enum target target, uint32_t frames, double *ns)
{
	struct stream_run run = {
		.target = target, .route = ROUTE_PATH, .frames = frames, .cpu = cpu};
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
