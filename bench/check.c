/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/check.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bytes.h"
#include "bench/traffic.skel.h"
#include "lib/icrc.h"

static int same(const struct traffic *t, const char *what, uint64_t is, uint64_t should)
{
	if (is == should)
		return 0;
	fprintf(stderr, "bench: %s: %s: %llu instead of %llu\n", t->spec.name, what,
		(unsigned long long)is, (unsigned long long)should);
	return -1;
}

/* Frames that this CPU's sink has counted, by opcode. */
static int read_sink(const struct traffic *t, struct sink_counts *counts)
{
	int cpus = libbpf_num_possible_cpus();
	struct sink_counts *all = calloc(cpus, sizeof(*all));
	uint32_t zero = 0;
	int failed = !all || bpf_map_lookup_elem(bpf_map__fd(t->bpf->maps.sink_counts), &zero, all);

	if (!failed)
		*counts = all[t->place.cpu];
	free(all);
	return failed ? traffic_fail(t, "cannot read the sink") : 0;
}

int account_take(const struct traffic *t, struct account *account)
{
	bool swaps = t->spec.frame.opcode == XA_OP_CMP_SWAP;
	enum xa_class class = swaps ? XA_CLASS_CMP_SWAP : XA_CLASS_FETCH_ADD;

	account->executed = rig_count(t->rig, class, XA_REASON_executed);
	account->replayed = rig_count(t->rig, class, XA_REASON_replayed);
	account->naks = rig_count(t->rig, class, XA_REASON_sequence);
	account->sum = t->mrs->mapped ? rig_sum(t->mrs) : 0;
	account->messages = 0;
	for (uint32_t i = 0; i < t->spec.flows; i++)
		account->messages += t->rig->qps[t->place.first_qp + i].msn;
	return read_sink(t, &account->sink);
}

int account_check(const struct traffic *t, const struct stream_run *run,
		  const struct account *before, const struct account *after)
{
	bool answered = run->target == TARGET_RESPONDER, gap = t->spec.kind == TRAFFIC_GAP;
	uint64_t n = run->frames, all = run->senders, naks = answered && gap ? n / 2 : 0;
	uint64_t replays = answered && t->spec.kind == TRAFFIC_DUPLICATE ? n : 0;
	uint64_t runs = answered ? n - naks - replays : 0;
	uint8_t opcode = answered ? XA_OP_ATOMIC_ACKNOWLEDGE : t->spec.frame.opcode;
	const __u64 *was = before->sink.by_opcode, *is = after->sink.by_opcode;
	uint64_t sum = t->spec.frame.opcode == XA_OP_FETCH_ADD ? runs * t->spec.frame.add : 0;
	int bad = 0;

	bad |= same(t, "frames at the sink", is[opcode] - was[opcode], n - naks);
	bad |= same(t, "NAKs at the sink", is[XA_OP_ACKNOWLEDGE] - was[XA_OP_ACKNOWLEDGE], naks);
	bad |= same(t, "executed", after->executed - before->executed, runs * all);
	bad |= same(t, "duplicates answered", after->replayed - before->replayed, replays * all);
	bad |= same(t, "sequence NAKs", after->naks - before->naks, naks * all);
	bad |= same(t, "MSNs", (after->messages - before->messages) & XA_PSN_MASK,
		    runs & XA_PSN_MASK);
	if (t->mrs->mapped && t->spec.frame.opcode == XA_OP_FETCH_ADD)
		bad |= same(t, "sum of the words", after->sum - before->sum, sum * run->sharers);
	return bad;
}

int check_total(const struct traffic *t, uint64_t executed)
{
	if (t->spec.frame.opcode != XA_OP_FETCH_ADD)
		return 0;
	return same(t, "sum of all words", rig_sum(t->mrs), executed * t->spec.frame.add);
}

struct expectation {
	uint64_t va;
	uint64_t original;
	uint32_t mr;
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
		return traffic_fail(t, "an answer's addresses are wrong");
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

/* FETCH_ADD: what the word holds, and what the requests before this one have added to it. */
static uint64_t original_of(const struct traffic *t, const struct expectation *all, uint32_t i)
{
	uint64_t value = rig_word(t->mrs, all[i].mr, all[i].va / 8);

	if (t->spec.frame.opcode == XA_OP_CMP_SWAP)
		return all[i].psn & 1;
	if (t->spec.kind == TRAFFIC_DUPLICATE)
		return value - t->spec.frame.add * (DUPLICATES - i % DUPLICATES);
	for (uint32_t j = 0; j < i; j++)
		if (all[j].va == all[i].va && all[j].mr == all[i].mr &&
		    all[j].opcode == XA_OP_ATOMIC_ACKNOWLEDGE)
			value += t->spec.frame.add;
	return value;
}

/* PSN and MSN of the answer to the request number `turn` on a QP. */
static void expect_turn(const struct traffic *t, const struct xa_qp *qp, uint32_t turn,
			struct expectation *e)
{
	bool gap = t->spec.kind == TRAFFIC_GAP, dup = t->spec.kind == TRAFFIC_DUPLICATE;
	bool nak = gap && turn % 2 == 0;
	uint32_t done = gap ? turn / 2 : turn, msn;

	msn = xa_psn_add(qp->msn, dup ? 0 : nak ? done : done + 1);
	e->qpn = qp->rqpn;
	e->psn = xa_psn_add(qp->ctl.epsn, dup ? turn % DUPLICATES - DUPLICATES : done);
	e->smsn = (nak ? XA_SYN_NAK_SEQUENCE : XA_SYN_ACK_UNLIMITED) << 24 | msn;
	e->opcode = nak ? XA_OP_ACKNOWLEDGE : XA_OP_ATOMIC_ACKNOWLEDGE;
}

/* The same draws as the generator makes, with the same state to begin with. */
static void expect(const struct traffic *t, struct expectation *all, uint32_t frames)
{
	uint64_t state = stream_seed(&t->place), random;

	for (uint32_t i = 0; i < frames; i++) {
		uint32_t index = t->place.first_qp + i % t->spec.flows;

		random = stream_random(&state);
		all[i].va = random >> RANDOM_VA_BIT & stream_va_mask(&t->spec) & ~7ull;
		all[i].mr = random >> RANDOM_MR_BIT & (t->spec.mrs - 1);
		expect_turn(t, &t->rig->qps[index], i / t->spec.flows, &all[i]);
		all[i].original = original_of(t, all, i);
	}
}

static int compare_answers(struct validation *v, const struct stream_run *run)
{
	struct traffic *t = v->traffic;
	struct ring_buffer *ring;
	struct span span;
	int failed;

	ring = ring_buffer__new(bpf_map__fd(t->bpf->maps.inspected), on_answer, v, NULL);
	if (!ring)
		return traffic_fail(t, "cannot open the ring of answers");
	failed = traffic_prepare_for(t, run, t->bpf->progs.inspect);
	if (!failed) {
		expect(t, v->expected, v->frames);
		failed = traffic_send(t, run, &span);
		ring_buffer__consume(ring);
		failed = failed || v->bad || same(t, "answers", v->seen, v->frames);
	}
	ring_buffer__free(ring);
	return failed ? -1 : 0;
}

/* A stream of duplicates needs something to be a duplicate of. */
static int send_originals(struct traffic *t)
{
	struct stream_run run = {TARGET_RESPONDER, ROUTE_DIRECT, DUPLICATES, 1, 1};
	struct traffic fresh = *t;
	struct span span;
	int failed;

	fresh.spec.kind = TRAFFIC_FRESH;
	failed = traffic_load(&fresh) || traffic_prepare(&fresh, &run) ||
		 traffic_send(&fresh, &run, &span);
	traffic_bpf__destroy(fresh.bpf);
	return failed ? -1 : 0;
}

int validate_answers(struct traffic *t, enum route route)
{
	uint32_t frames = t->spec.flows > 128 ? t->spec.flows * 2 : 256;
	struct stream_run run = {TARGET_RESPONDER, route, frames, 1, 1};
	struct validation v = {.traffic = t, .frames = frames};
	int failed;

	if (t->spec.kind == TRAFFIC_DUPLICATE && send_originals(t))
		return -1;
	v.expected = calloc(frames, sizeof(*v.expected));
	if (!v.expected)
		return traffic_fail(t, "out of memory");
	failed = compare_answers(&v, &run);
	free(v.expected);
	return failed;
}
