/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.h - what the daemon tells its operator.
 */
#ifndef XATOMIC_CM_EVENT_H
#define XATOMIC_CM_EVENT_H

#include "lib/address.h"

struct cm_event {
	const char *word;    /* "connected", "disconnected", "refused" */
	const char *service; /* "rdma_cm" or "perftest" */
	struct xa_ip peer;
	uint32_t lqpn, rqpn; /* 0: none */
	const char *mr;      /* NULL: none */
	const char *reason;  /* NULL: none */
	uint64_t suppressed; /* events like this one that were not told before it */
};

struct cm_reporter {
	void (*report)(void *data, const struct cm_event *event);
	void *data;
};

static inline void cm_report(const struct cm_reporter *reporter, const struct cm_event *event)
{
	reporter->report(reporter->data, event);
}

#endif
