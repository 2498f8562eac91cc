/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - a stream of live frames of one kind: sent to a program under test, counted, and checked.
 *
 * Functions return 0 or -1 after a message on stderr.
 */
#ifndef XATOMIC_BENCH_STREAM_H
#define XATOMIC_BENCH_STREAM_H

#include <stdint.h>

#include "bench/frames.h"
#include "bench/rig.h"
#include "bench/timing.h"

struct traffic_bpf;

struct stream_spec {
	const char *name;
	struct frame_kind frame; /* its rkey is filled in when the stream is opened */
	enum traffic_kind kind;
	uint32_t flows; /* QPs, a power of two; a DUPLICATE, GAP or COMPARE_SWAP stream has one */
	uint64_t words; /* a power of two; above 1, each frame takes one at random */
	uint8_t depth;
	uint32_t mr_index;
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

struct stream_run {
	enum target target;
	enum route route;
	int pair; /* veth pair, and which share of the flows */
	int cpu;  /* that this thread is pinned to */
	uint32_t frames;
};

struct traffic {
	struct traffic_bpf *bpf;
	struct rig *rig;
	struct rig_mr mr;
	struct stream_spec spec;
	uint32_t qpn_first; /* index of the first QP */
};

/* Makes the MR and the QPs of `spec`, for `pairs` senders. */
int traffic_open(struct traffic *traffic, struct rig *rig, const struct stream_spec *spec,
		 int pairs);
void traffic_close(struct traffic *traffic);

/*
 * Sends frames of the flows of one pair from this thread, and
 * checks that each was answered in its kind, that every counter grew by as much, and that the words add up.
 */
int traffic_run(struct traffic *traffic, const struct stream_run *run, struct span *span);

/* Sends some frames to the responder and checks each byte that matters of each answer. */
int traffic_validate(struct traffic *traffic, enum route route, int cpu);

/* Nanoseconds per run of the program under test alone, as the kernel counts them (BPF_ENABLE_STATS). */
int traffic_program_ns(struct traffic *traffic, int cpu, enum target target, uint32_t frames,
		       double *ns);

#endif
