/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * settings.h - the command line of xatomic-req.
 */
#ifndef XATOMIC_REQ_SETTINGS_H
#define XATOMIC_REQ_SETTINGS_H

#include "common/options.h"
#include "lib/address.h"

struct req_settings {
	struct xa_globals global; /* must come first */
	const char *dev;
	const char *netns;
	struct xa_ip peer;
	uint32_t lqpn, rqpn, sq_psn;
	uint32_t rkey;
	uint64_t addr, add, compare, swap;
	uint64_t count;
	uint32_t window;     /* operations in flight */
	uint32_t retry;      /* verbs' retry_cnt */
	uint64_t timeout_us; /* as given: verbs know only some values */
};

extern const struct xa_program req_program;
extern const struct req_settings req_defaults;

/* The smallest timeout of verbs' encoding, 1-31, that is not below `us`. */
uint8_t req_timeout(uint64_t us);

/* The commands. */
int req_fadd(void *settings);
int req_cswap(void *settings);

#endif
