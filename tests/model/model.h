/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - a reference responder: what an atomic responder has to do, in the plainest C there is.
 *
 * It knows nothing of BPF, maps, locks or speed: it reads every field byte by byte, computes every CRC bit
 * by bit and searches everything from the beginning. model_receive() is a function of (state, packet) to
 * (answer, state): no clock, no global, no I/O. Only the words for reasons and classes come from abi.h.
 *
 * A fault makes one rule wrong on purpose, so that tests can prove that they would notice.
 */
#ifndef XATOMIC_TESTS_MODEL_H
#define XATOMIC_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xatomic/abi.h"

#define MODEL_QPS       32
#define MODEL_MRS       16
#define MODEL_WORDS     512 /* words of the largest MR */
#define MODEL_WINDOW    128 /* atomics that the deepest QP keeps */
#define MODEL_REPLY_MAX 128

#define MODEL_FAULTS(X)                                                                            \
	X(none, "")                                                                                \
	X(duplicate_executes, "runs a duplicate again")                                            \
	X(duplicate_by_psn, "replays whatever has the PSN, without comparing the request")         \
	X(duplicate_compare, "wants the compare field of a duplicate FETCH_ADD to be the same")    \
	X(duplicate_opcode, "does not compare the opcode of a duplicate")                          \
	X(duplicate_rkey, "does not compare the rkey of a duplicate")                              \
	X(duplicate_in_error, "still answers duplicates in the error state")                       \
	X(replay_first_msn, "replays with the MSN of the first answer")                            \
	X(window_short, "keeps one atomic fewer than the depth")                                   \
	X(window_long, "keeps one atomic more than the depth")                                     \
	X(window_after_reset, "keeps saved atomics over a reset")                                  \
	X(sequence_each, "sends a sequence NAK for each packet ahead")                             \
	X(sequence_psn, "puts the request's PSN into a sequence NAK")                              \
	X(sequence_rearmed, "lets a duplicate re-arm the sequence NAK")                            \
	X(sequence_after_reset, "keeps the sent sequence NAK over a reset")                        \
	X(psn_window, "takes a distance of 2^23 for ahead")                                        \
	X(psn_wrap, "does not wrap the expected PSN")                                              \
	X(msn_wrap, "does not wrap the MSN")                                                       \
	X(msn_counts_naks, "counts a refused message in the MSN")                                  \
	X(msn_after_reset, "keeps the MSN over a reset")                                           \
	X(nak_keeps_state, "does not enter the error state")                                       \
	X(bounds_end, "lets an atomic start right behind the MR")                                  \
	X(bounds_wrap, "compares with iova + length, which wraps")                                 \
	X(alignment_first, "looks at the alignment before the rkey")                               \
	X(alignment_ignored, "rounds an unaligned address down")                                   \
	X(rkey_index, "compares only the index of an rkey")                                        \
	X(pd_ignored, "does not compare protection domains")                                       \
	X(mr_access_ignored, "needs no atomic access on the MR")                                   \
	X(qp_access_ignored, "needs no atomic access on the QP")                                   \
	X(swap_always, "swaps also when the words differ")                                         \
	X(add_saturates, "adds with saturation")                                                   \
	X(migreq_zero, "answers with MigReq 0")                                                    \
	X(ce_kept, "answers with congestion marked")                                               \
	X(ttl_kept, "answers with the TTL of the request")                                         \
	X(trailer_kept, "sends the bytes behind the UDP payload back")                             \
	X(sport_answered, "answers to the request's source port")                                  \
	X(peer_ignored, "takes requests from any source")                                          \
	X(pkey_full, "refuses limited members of the partition")                                   \
	X(pad_ignored, "lets an atomic have pad bytes")                                            \
	X(length_minimum, "lets an atomic be longer than it is")                                   \
	X(icrc_ignored, "does not check the ICRC")                                                 \
	X(icrc_reserved, "covers FECN, BECN and the reserved bits by the ICRC")                    \
	X(gsi_dead_agent, "keeps packets for QP 1 though nobody takes them")                       \
	X(gsi_any_length, "hands over packets for QP 1 that are longer than a datagram")           \
	X(gsi_trailer, "hands over what is behind the UDP payload")

#define MODEL_FAULT_ENUM(name, meaning) MODEL_FAULT_##name,
enum model_fault { MODEL_FAULTS(MODEL_FAULT_ENUM) MODEL_FAULT_COUNT };

enum model_verdict { MODEL_PASS, MODEL_DROP, MODEL_TX };

/* An atomic that was executed, with what it found. */
struct model_saved {
	uint32_t psn;
	uint8_t opcode;
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
	uint64_t original;
	uint32_t msn; /* of the first answer; only a fault looks at it */
};

struct model_nak {
	enum xa_reason reason;
	uint8_t opcode;
	uint32_t psn; /* of the request */
	uint32_t rkey;
	uint64_t va;
};

struct model_qp_attr {
	bool ipv6;
	uint8_t peer[16], local[16]; /* GIDs: of an IPv4 address the last 4 bytes count */
	uint32_t qpn, rqpn;
	uint32_t psn; /* the first that is expected */
	uint32_t msn; /* 0 but in the middle of a life */
	uint32_t pdn;
	unsigned access; /* XA_ACCESS_* */
	unsigned depth;
};

struct model_qp {
	struct model_qp_attr attr;
	bool used;
	bool error; /* after a fatal NAK */
	bool nak_sent;
	bool locked; /* another packet of this QP is being worked on, and does not end */
	uint32_t epsn, msn;
	uint64_t requests, replayed, duplicates_dropped;
	uint32_t sequence_naks, fatal_naks;
	struct model_nak last_nak;
	unsigned saved_count;
	struct model_saved saved[MODEL_WINDOW + 1]; /* oldest first */
};

struct model_mr_attr {
	uint32_t rkey, pdn;
	unsigned access;
	uint64_t iova, length; /* bytes */
};

struct model_mr {
	struct model_mr_attr attr;
	bool used;
	bool mapped; /* its words are there; not so in the middle of a deregistration */
	uint64_t words[MODEL_WORDS];
};

struct model {
	struct model_qp qps[MODEL_QPS];
	struct model_mr mrs[MODEL_MRS];
	uint64_t counters[XA_CLASS_COUNT][XA_REASON_COUNT];
	bool drop_unknown;
	bool agent;           /* somebody takes packets for QP 1 */
	unsigned gsi_room;    /* how many of them may wait */
	unsigned gsi_waiting; /* how many do */
	enum model_fault fault;
};

struct model_result {
	enum model_verdict verdict;
	enum xa_class class;
	enum xa_reason reason;
	struct model_qp *qp; /* that was looked at, or NULL */
	uint64_t *word;      /* that was operated on, or NULL */
	bool fatal;          /* the QP went into the error state: qp->last_nak is its event */
	size_t gsi_len;      /* bytes from the front of the frame that go to the agent; 0: none */
	size_t reply_len;    /* bytes of the frame to send; 0 unless verdict is MODEL_TX */
	uint8_t reply[MODEL_REPLY_MAX];
};

/* What the responder does with the `len` bytes of an Ethernet frame. */
void model_receive(struct model *m, const uint8_t *frame, size_t len, struct model_result *result);

void model_qp_add(struct model *m, unsigned slot, const struct model_qp_attr *attr);
void model_qp_del(struct model *m, unsigned slot);
void model_qp_reset(struct model *m, unsigned slot, uint32_t psn);
/* The saved atomics are gone, as when their memory was given to another QP. */
void model_qp_forget(struct model *m, unsigned slot);
/* The same for one of them; false when it is not there. */
bool model_qp_forget_psn(struct model *m, unsigned slot, uint32_t psn);

/* The words of a new MR are 0. */
void model_mr_add(struct model *m, unsigned slot, const struct model_mr_attr *attr);
void model_mr_unmap(struct model *m, unsigned slot);
void model_mr_del(struct model *m, unsigned slot);

/* ICRC of IP header, UDP header and `roce_len` bytes from BTH on, which follow each other at `l3`. */
uint32_t model_icrc(const uint8_t *l3, bool ipv6, size_t roce_len, enum model_fault fault);

/* The words of a fault: its name and what it does wrong. */
const char *model_fault_name(enum model_fault fault);
const char *model_fault_meaning(enum model_fault fault);

#endif
