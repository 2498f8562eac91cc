/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf.h - a measurement: many operations on many queue pairs, and what came of it.
 */
#ifndef XATOMIC_REQ_PERF_H
#define XATOMIC_REQ_PERF_H

#include "histogram.h"
#include "target.h"

/* A queue pair with its operations in flight. */
struct lane {
	struct req_target target;
	struct xatomic_qp *qp;
	uint64_t addr;         /* of its word */
	uint64_t word;         /* what it holds, as far as this run knows */
	uint64_t posted, done; /* operations */
	uint64_t replies[XATOMIC_MAX_RD_ATOMIC], started[XATOMIC_MAX_RD_ATOMIC];
};

struct perf {
	const struct req_settings *settings;
	struct xatomic_device *device;
	struct lane *lanes;
	uint32_t count; /* of lanes */
	struct xatomic_wr wr;
	uint64_t begin, end;             /* of the run, ns */
	uint64_t slice_begin, slice_ops; /* of the current slice, which the peak is taken from */
	double peak;                     /* operations per second of the best slice */
	uint64_t ops;                    /* done with success */
	uint64_t posted;                 /* on all lanes together */
	struct histogram latency;        /* ns */
	struct xatomic_wc failure;       /* the first one; status 0: none */
	const struct lane *failed;
	char mismatch[REQ_SENTENCE_LEN]; /* a value that came back wrong; "": none */
};

/* One operation on a lane with nothing in flight, not measured. Returns 0, or XA_EXIT_FAILED with a sentence. */
int perf_once(struct perf *perf, struct lane *lane, const struct xatomic_wr *wr);

/* XA_EXIT_FAILED with the sentence about perf->failure. */
int perf_explain(const struct perf *perf);

/* With --verify: reads all words before and after the run, and looks at each original value. 0 or XA_EXIT_FAILED. */
int perf_verify_begin(struct perf *perf);
void perf_verify_one(struct perf *perf, struct lane *lane, uint64_t original);
int perf_verify_end(struct perf *perf);

/* Prints the results: perftest's columns, or JSON. Returns XA_EXIT_DONE. */
int perf_report(const struct perf *perf);

#endif
