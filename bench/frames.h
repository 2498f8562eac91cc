/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - the requests that the bench sends, and the tables from which the generator makes their ICRC.
 */
#ifndef XATOMIC_BENCH_FRAMES_H
#define XATOMIC_BENCH_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "bench/traffic.h"
#include "xatomic/abi.h"
#include "xatomic/wire.h"

enum frame_len { ETH_LEN = 14, TAG_LEN = 4, IPV4_LEN = 20, IPV6_LEN = 40, UDP_LEN = 8 };

/* Ends of the bench's one connection: MAC addresses are NODE_MAC and RESPONDER_MAC of rig.h. */
struct frame_kind {
	uint8_t opcode; /* XA_OP_FETCH_ADD or XA_OP_CMP_SWAP */
	enum xa_family family;
	unsigned int tags; /* 802.1Q tags, 0 or 1 */
	uint32_t rkey;
	uint64_t add; /* FETCH_ADD only; a COMPARE_SWAP goes from PSN & 1 to the other */
};

size_t frame_l3_off(const struct frame_kind *kind);
size_t frame_bth_off(const struct frame_kind *kind);
size_t frame_length(const struct frame_kind *kind);

/* GIDs of the node and of the responder. */
void frame_gid(enum xa_family family, int is_node, __u8 gid[16]);

/* Writes a whole request, frame_length() bytes, with its ICRC. */
void make_frame(const struct frame_kind *kind, uint32_t qpn, uint32_t psn, uint64_t va,
		uint8_t *frame);

/* ICRC of that request as the little-endian word that it ends with. */
uint32_t frame_crc(const struct frame_kind *kind, uint32_t qpn, uint32_t psn, uint64_t va);

/*
 * Fills a generator's configuration for one kind of frame, but for `kind` and the masks, and proves on some
 * requests that its tables add up to the true ICRC. Returns 0, or -1 when they do not.
 */
int frame_config(const struct frame_kind *kind, struct request_config *config);

#endif
