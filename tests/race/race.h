/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * race.h - the races. Each returns whether all went as it must; else notes tell what did not. `object` is
 * the program as for race_open(); control operations are passed where a wrong one must be seen.
 */
#ifndef XATOMIC_RACE_RACE_H
#define XATOMIC_RACE_RACE_H

#include "rig.h"
#include "variants/hasty.h"

typedef int mr_del(const struct xa_instance *instance, const char *name);
typedef int qp_del(const struct xa_instance *instance, uint32_t lqpn);
typedef int qp_reset(const struct xa_instance *instance, uint32_t lqpn, uint32_t rq_psn,
		     struct xa_qp *qp);

/* The same request from both CPUs at the same instant, and its duplicate: one execution, one answer. */
bool race_twins(const char *object, uint64_t requests);

/* Requests on both CPUs, and the host's own atomics between them, on one word. */
bool race_host(const char *object, uint64_t requests);

/* MRs that come and go under traffic, always at the same index. */
bool race_mr(const char *object, mr_del *del, unsigned int lives);

/* A QP that is deleted and made again, or reset, under traffic. */
bool race_qp_del(const char *object, qp_del *del, unsigned int lives);
bool race_qp_reset(const char *object, qp_reset *reset, unsigned int lives);

/* Far fewer replay windows than QPs. */
bool race_windows(const char *object, uint64_t requests);

#endif
