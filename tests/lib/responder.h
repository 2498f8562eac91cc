/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * responder.h - the real BPF program under a test's hands: loaded with maps of its own, pinned nowhere,
 * attached nowhere, fed one frame at a time through BPF_PROG_TEST_RUN.
 *
 * QPs and MRs are written into the maps as they are in memory, so that a test can make states which the
 * control plane would never make. Nothing here is safe against packets from elsewhere: there are none.
 *
 * XATOMIC_TEST_OBJECT in the environment names another object file to load instead of the one that was
 * built in: another compiler's, or a mutant.
 */
#ifndef XATOMIC_TEST_RESPONDER_H
#define XATOMIC_TEST_RESPONDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xatomic/abi.h"

struct responder_config {
	uint32_t max_qps; /* a power of two */
	uint32_t max_mrs;
	uint32_t replay_windows;
	enum xa_unknown_qp unknown_qp;
	bool plain_replay;  /* windows in a plain hash, where there may be none left to have */
	uint32_t gsi_bytes; /* of the ring for packets for QP 1; 0: as it comes */
};

struct responder {
	struct responder_config config;
	struct responder_bpf *skel;
	void *object; /* that of XATOMIC_TEST_OBJECT, or NULL */
	struct ring_buffer *ring;
	struct xa_qp *qps;     /* the live map, config.max_qps of them */
	struct xa_event event; /* the last one; see responder_events() */
	unsigned int events;
	struct ring_buffer *gsi_ring;
	struct xa_gsi_packet gsi; /* the last one; see responder_gsi() */
	int cpus;
};

/* An array of 64-bit words, as the one behind an MR. */
struct words {
	int fd;
	uint32_t count;
	uint64_t *word; /* the live map */
};

/*
 * All functions that return int give 0, or -errno. A responder that could not be opened (no privilege,
 * kernel too old) needs no responder_close().
 */
int responder_open(struct responder *responder, const struct responder_config *config);
void responder_close(struct responder *responder);

/*
 * The skeleton, not loaded yet, with the program of another object file in place of its own. *object is to
 * be freed after responder_bpf__destroy(); NULL with errno.
 */
struct responder_bpf *responder_open_object(const char *path, void **object);

/* File descriptor of the program, for a caller that runs it by itself. */
int responder_prog_fd(const struct responder *responder);

struct xa_qp *responder_qp(struct responder *responder, uint32_t qpn);

int responder_set_mr(struct responder *responder, uint32_t index, const struct xa_mr *mr);
int responder_get_mr(struct responder *responder, uint32_t index, struct xa_mr *mr);

int words_open(struct words *words, uint32_t count);
void words_close(struct words *words);
/* Puts the words behind the MR of that index; NULL takes away what is there, if anything. */
int responder_set_words(struct responder *responder, uint32_t index, const struct words *words);

int responder_set_window(struct responder *responder, uint32_t qpn, const struct xa_window *window);
/* -ENOENT when the QP has no window */
int responder_get_window(struct responder *responder, uint32_t qpn, struct xa_window *window);
/* 0 also when there is none */
int responder_del_window(struct responder *responder, uint32_t qpn);

/* Somebody takes packets for QP 1, until that time of CLOCK_MONOTONIC; 0: nobody. */
int responder_set_agent(struct responder *responder, uint64_t alive_until_ns);

/* Takes the next packet that waits for him: responder->gsi. 1, or 0 when there is none. */
int responder_gsi(struct responder *responder);

/*
 * Runs the program once on a frame of 14 bytes or more (the kernel takes no less). Returns the verdict
 * (XDP_TX, ...) or -errno; *out_len is how long the frame in `out` (PACKET_MAX bytes) is afterwards.
 */
int responder_run(struct responder *responder, const uint8_t *frame, size_t len, uint8_t *out,
		  size_t *out_len);

/* Counters, summed over the CPUs. */
int responder_stats(struct responder *responder, struct xa_stats *stats);

/* Takes what is in the event ring: how many records; the last of them is responder->event. */
int responder_events(struct responder *responder);

/* The same as readers do it who sleep until the program wakes them, here for a second at most. */
int responder_await_events(struct responder *responder);
int responder_await_gsi(struct responder *responder);

#endif
