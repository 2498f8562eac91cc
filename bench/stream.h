/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - a stream of live frames of one kind: sent to a program under test, counted, and checked.
 *
 * Functions return 0 or -1 after a message on stderr.
 */
#ifndef XATOMIC_BENCH_STREAM_H
#define XATOMIC_BENCH_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/frames.h"
#include "bench/rig.h"
#include "bench/timing.h"

struct traffic_bpf;
struct bpf_program;

struct stream_spec {
	const char *name;
	struct frame_kind frame; /* its rkey is filled in when the stream is opened */
	enum traffic_kind kind;
	uint32_t flows; /* QPs, a power of two; a DUPLICATE, GAP or COMPARE_SWAP stream has one */
	uint32_t mrs;   /* a power of two; above 1, each frame takes one at random */
	uint64_t words; /* of each MR */
	bool spread;    /* each frame takes a word at random; words is a power of two */
	uint8_t depth;
};

/* What a frame meets. */
enum target {
	TARGET_BARE,      /* nothing: sent as it is, stale; what the frames themselves cost */
	TARGET_TRANSMIT,  /* written anew and sent */
	TARGET_ECHO,      /* written anew, addresses swapped and sent */
	TARGET_RESPONDER, /* written anew, answered by xatomic */
	TARGET_COUNT,
};

/*
 * DIRECT: the program under test takes live frames as if they had just come in on the responder's
 * interface; XDP_TX sends them across the veth to the sink.
 * PATH: the frames are sent from the node's interface, and the program under test is the native XDP program
 * of the responder's; what it sends by XDP_TX comes back to the sink. Each frame crosses the veth twice.
 */
enum route { ROUTE_DIRECT, ROUTE_PATH };

/* Where a stream runs. The sending thread must be pinned to `cpu`. */
struct stream_place {
	int cpu;
	int pair;          /* of veths */
	uint32_t first_qp; /* index */
};

struct traffic {
	struct traffic_bpf *bpf;
	struct rig *rig;
	struct rig_mrs *mrs;
	struct stream_spec spec;
	struct stream_place place;
};

struct stream_run {
	enum target target;
	enum route route;
	uint32_t frames;
	uint32_t senders; /* that do the same at the same time ... */
	uint32_t sharers; /* ... and those of them that do it on the same words */
};

/* Makes the QPs of `spec`. The MRs must have index 0 as their first when there are several. */
int traffic_open(struct traffic *traffic, struct rig *rig, const struct stream_spec *spec,
		 const struct stream_place *place, struct rig_mrs *mrs);
void traffic_close(struct traffic *traffic);

/* One run in three steps, of which only traffic_send() is timed. */
int traffic_prepare(struct traffic *traffic, const struct stream_run *run);
int traffic_send(struct traffic *traffic, const struct stream_run *run, struct span *span);

/* All steps and the account of them (check.h). */
int traffic_run(struct traffic *traffic, const struct stream_run *run, struct span *span);

/* For check.c: the same with another sink, the generator's set-up, and a stream of another kind. */
int traffic_prepare_for(struct traffic *traffic, const struct stream_run *run,
			struct bpf_program *sink);
int traffic_load(struct traffic *traffic);
uint64_t stream_va_mask(const struct stream_spec *spec);
uint64_t stream_random(uint64_t *state);
uint64_t stream_seed(const struct stream_place *place);

/* Nanoseconds per run of the program under test alone, as the kernel counts them (BPF_ENABLE_STATS). */
int traffic_program_ns(struct traffic *traffic, enum target target, uint32_t frames, double *ns);

int traffic_fail(const struct traffic *traffic, const char *what);

#endif
