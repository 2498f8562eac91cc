/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.h - which peers may have which memory region, and how much of everything.
 */
#ifndef XATOMIC_CM_POLICY_H
#define XATOMIC_CM_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/options.h"
#include "lib/address.h"

enum { CM_OFFER_PREFIXES = 16, CM_MAX_PORTS = 16 };

/* All addresses that agree with `ip` in their first `bits` bits; of IPv4, 0-32. */
struct cm_prefix {
	struct xa_ip ip;
	uint8_t bits;
};

/* One memory region for the peers of some prefixes. */
struct cm_offer {
	char mr[XA_NAME_LEN];
	struct cm_prefix to[CM_OFFER_PREFIXES];
	size_t prefixes;
	uint8_t access; /* XA_ACCESS_*, of the queue pairs */
	uint8_t depth;  /* atomics in flight on each, 1-128 */
};

struct cm_policy {
	struct cm_offer *offers; /* the first that fits a peer is its default */
	size_t offer_count;
};

/* Service ports of RDMA_PS_TCP. */
struct cm_ports {
	uint16_t list[CM_MAX_PORTS];
	size_t count;
};

/* ADDRESS[/BITS]. Returns false when it is none, or when bits behind the prefix are set. */
bool cm_prefix_parse(struct cm_prefix *prefix, const char *text);
bool cm_prefix_has(const struct cm_prefix *prefix, const struct xa_ip *ip);

/*
 * Adds "MR to PREFIX[,PREFIX...] [access LIST] [depth N]". Returns false with the reason in `why`, the end of
 * a sentence.
 */
bool cm_policy_add(struct cm_policy *policy, const char *text, char why[XA_WHY_LEN]);
void cm_policy_free(struct cm_policy *policy);

/*
 * The offer that counts for a peer: of the region that it names, or when `mr` is NULL the first one. NULL when
 * it may not have that.
 */
const struct cm_offer *cm_policy_find(const struct cm_policy *policy, const struct xa_ip *peer,
				      const char *mr);

/* PORT[,PORT...]. Returns false with the reason in `why`. */
bool cm_ports_parse(struct cm_ports *ports, const char *text, char why[XA_WHY_LEN]);
bool cm_ports_have(const struct cm_ports *ports, uint16_t port);

/* Lets through `rate` events a second on average, and as many at once. */
struct cm_bucket {
	uint32_t rate;
	uint64_t tokens;  /* in billionths */
	uint64_t last_ns; /* of any monotonic clock */
};

bool cm_bucket_take(struct cm_bucket *bucket, uint64_t now_ns);

#endif
