/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * settings.h - the command line of xatomic-req.
 */
#ifndef XATOMIC_REQ_SETTINGS_H
#define XATOMIC_REQ_SETTINGS_H

#include "common/options.h"
#include "lib/address.h"
#include "xatomic/requester.h"

#define REQ_NO_RKEY UINT64_MAX

struct req_settings {
	struct xa_globals global; /* must come first */
	const char *dev;
	const char *netns;
	struct xa_ip peer;
	uint32_t lqpn, rqpn, sq_psn;
	uint64_t rkey;       /* REQ_NO_RKEY: none */
	const char *connect; /* HOST[:PORT], or NULL */
	const char *mr;
	uint64_t offset;
	uint64_t addr, add, compare, swap;
	uint64_t count;
	uint32_t window;     /* operations in flight */
	uint32_t retry;      /* verbs' retry_cnt */
	uint64_t timeout_us; /* as given: verbs know only some values */
	int transport;       /* enum xatomic_transport, -1: as suits the command */
	/* perf */
	int op;                  /* enum req_op */
	uint32_t qps;            /* 0: all that are there */
	uint32_t outs;           /* operations in flight per queue pair, 0: the default */
	uint64_t iters, seconds; /* of each queue pair; of the run; 0: not given */
	uint64_t stride;         /* bytes from one queue pair's word to the next one's */
	const char *qp_file;
	bool lat, verify;
};

enum req_op { REQ_OP_FADD, REQ_OP_CSWAP };

/* Is --peer given? */
static inline bool req_has_peer(const struct req_settings *settings)
{
	return xa_ip_is_host(&settings->peer);
}

/* The transport that --transport wants, else `otherwise`. */
static inline enum xatomic_transport req_transport(const struct req_settings *settings,
						   enum xatomic_transport otherwise)
{
	return settings->transport < 0 ? otherwise : (enum xatomic_transport)settings->transport;
}

extern const struct xa_program req_program;
extern const struct req_settings req_defaults;

/* The smallest timeout of verbs' encoding, 1-31, that is not below `us`. */
uint8_t req_timeout(uint64_t us);

/* The commands. */
int req_fadd(void *settings);
int req_cswap(void *settings);
int req_perf(void *settings);

/*
 * Checks what the table of options cannot, and fills in defaults of `perf` that depend on other options. Returns
 * 0, or XA_EXIT_USAGE with a sentence on standard error.
 */
int req_check_perf(struct req_settings *settings);

#endif
