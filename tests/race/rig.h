/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig.h - an instance as the control plane makes it, in a bpffs and a network namespace of this process's
 * own, and threads that stay on their CPU and feed it packets.
 *
 * Control operations are those of user/lib, so that their order of publication is what is tested. What must
 * not fail ends the test by "Bail out!".
 */
#ifndef XATOMIC_RACE_RIG_H
#define XATOMIC_RACE_RIG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/instance.h"
#include "lib/mrs.h"
#include "lib/qps.h"
#include "tests/lib/packet.h"
#include "tests/lib/tap.h"

enum { RACERS = 2, RACE_DEPTH = XA_MAX_DEPTH };

struct race_rig {
	struct xa_instance instance;
	struct responder_bpf *variant; /* a program in place of the library's, or NULL */
	void *object;
	int prog;
};

struct race_mr {
	struct xa_mr mr;
	int fd;
	uint64_t *word; /* mapped, also after the MR is gone */
};

struct race_limits {
	uint32_t max_qps;
	uint32_t max_mrs;
	uint32_t replay_windows; /* 0: the default */
};

/* Leaves the namespaces of the caller. False, with a reason, when this machine cannot run races. */
bool race_init(const char **why);

/* `object`: file with the program to be tested; NULL: XATOMIC_TEST_OBJECT, or what the library loads. */
void race_open(struct race_rig *rig, const struct race_limits *limits, const char *object);
void race_close(struct race_rig *rig);

/* A QP of 10.0.0.1 at 10.0.0.2. */
void race_add_qp(struct race_rig *rig, uint32_t rqpn, uint32_t rq_psn, struct xa_qp *qp);

void race_add_mr(struct race_rig *rig, const char *name, uint32_t words, struct race_mr *mr);
void race_forget_mr(struct race_mr *mr); /* unmaps its words */

/* A FETCH_ADD of 1 to the first word of an MR. */
void race_packet(struct packet *packet, uint32_t qpn, const struct race_mr *mr);

/* Runs the program on a request. Returns the verdict; *answer is set when it is XDP_TX. */
int race_ask(const struct race_rig *rig, const struct packet *packet, struct answer *answer);

/* The same with a program that writes the frame itself. */
int race_run(int prog, const uint8_t *frame, size_t len, struct answer *answer);

/* A thread on the CPU number `racer`, 0 .. RACERS - 1. */
void race_start(pthread_t *thread, int racer, void *(*body)(void *), void *data);

/* Sum over the CPUs. */
uint64_t race_count(const struct race_rig *rig, enum xa_class class, enum xa_reason reason);

void race_must(int status, const char *what);

#endif
