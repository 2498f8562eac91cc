/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig.h - the bench's own small responder: a private network namespace with veth pairs, the responder
 * program loaded from its skeleton, QPs and MRs written straight into its maps. Nothing is pinned and
 * everything goes when the process ends.
 *
 * Functions return 0 or -1 after a message on stderr.
 */
#ifndef XATOMIC_BENCH_RIG_H
#define XATOMIC_BENCH_RIG_H

#include <stdint.h>

#include "xatomic/abi.h"

struct responder_bpf;

#define RIG_PAIRS 2 /* veth pairs: node I and responder I, one for each CPU that sends */

struct rig {
	struct responder_bpf *responder;
	uint32_t max_qps;
	uint32_t max_mrs;
	struct xa_qp *qps; /* mapped */
	int node_if[RIG_PAIRS];
	int resp_if[RIG_PAIRS];
};

/* A run of MRs of the same size, with indices one after the other. */
struct rig_mrs {
	struct rig *rig;
	uint32_t first;
	uint32_t count;
	uint64_t words;   /* of each */
	int fd;           /* of a single MR's words, else -1 */
	uint64_t *mapped; /* likewise, else NULL */
};

int rig_open(struct rig *rig, uint32_t max_qps, uint32_t max_mrs);
void rig_close(struct rig *rig);

/* Registers `count` MRs of `words` words each, at iova 0, from index `first` on. */
int rig_add_mrs(struct rig *rig, uint32_t first, uint32_t count, uint64_t words,
		struct rig_mrs *mrs);
void rig_del_mrs(struct rig_mrs *mrs);
uint32_t rig_rkey(const struct rig_mrs *mrs);
uint64_t rig_word(const struct rig_mrs *mrs, uint32_t mr, uint64_t word);
uint64_t rig_sum(const struct rig_mrs *mrs);

/* QPN of the QP with this index; its peer's QPN is the same. */
uint32_t rig_qpn(const struct rig *rig, uint32_t index);

/* A fresh QP: expected PSN 0, MSN 0, empty window. What had the index before is gone. */
int rig_add_qp(struct rig *rig, uint32_t index, enum xa_family family, uint8_t depth);

/* Sum over all CPUs of the counter of one reason. */
uint64_t rig_count(struct rig *rig, enum xa_class class, enum xa_reason reason);

/* Native XDP program of an interface of the rig; -1 takes it off. */
int rig_attach(int ifindex, int prog_fd);

#endif
