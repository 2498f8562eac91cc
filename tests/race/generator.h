/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * generator.h - traffic.bpf.c, set up for a rig.
 */
#ifndef XATOMIC_RACE_GENERATOR_H
#define XATOMIC_RACE_GENERATOR_H

#include "rig.h"

struct traffic_bpf;

/* In front of the rig's program; `by_life` as in traffic.bpf.c. */
struct traffic_bpf *generator_open(const struct race_rig *rig, uint32_t qp_index, bool by_life);
void generator_close(struct traffic_bpf *traffic);

/* The request of that number, an atomic over IPv4. */
void generator_set(struct traffic_bpf *traffic, uint32_t number, const struct packet *packet);

int generator_fd(const struct traffic_bpf *traffic);

#endif
