/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.h - a responder's queue pair, as the requester sees it.
 */
#ifndef XATOMIC_REQ_TARGET_H
#define XATOMIC_REQ_TARGET_H

#include "settings.h"
#include "xatomic/requester.h"

struct req_target {
	struct xa_ip peer;  /* the responder */
	struct xa_ip local; /* own address; unspecified IPv6: as routing chooses */
	uint32_t lqpn, rqpn, sq_psn;
	uint32_t depth; /* answers that the responder keeps, 0: not known */
};

/* The one that the command line names by --peer, --lqpn, --rqpn and --sq-psn. */
struct req_target req_target_of(const struct req_settings *settings);

/*
 * Reads those in a file that holds JSON as 'xatomic -j qp add' and 'xatomic -j qp show' print it: one or more
 * objects or arrays of objects. With --peer, those of that responder's address only. Returns their number with
 * *targets to be freed, or -1 with a sentence on standard error.
 */
int req_read_targets(const struct req_settings *settings, struct req_target **targets);

/* Opens a queue pair on an open device, or on one of its own. NULL with xatomic_error(). */
struct xatomic_qp *req_open(const struct req_settings *settings, const struct req_target *target,
			    struct xatomic_device *device, uint32_t window);

/* Why an operation failed, as a sentence of at most REQ_SENTENCE_LEN bytes. */
enum { REQ_SENTENCE_LEN = 512 };
void req_explain(const struct req_settings *settings, const struct req_target *target,
		 struct xatomic_qp *qp, const struct xatomic_wc *wc, char *text);

#endif
