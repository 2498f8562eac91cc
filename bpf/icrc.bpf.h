/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * icrc.bpf.h - stage 3: the invariant CRC of requests and replies (IBA annex A17; rxe_icrc.c).
 *
 * A CRC is linear: the register after a prefix is the register after the same prefix with some fields
 * zeroed, XOR what those fields contribute. So the QP keeps the register after its constant prefix (see
 * user/lib/icrc.h), and a packet costs one table look-up for each byte that varies and for each byte
 * behind the prefix. A byte's contribution depends only on its distance from the point that the
 * register stands for, which is BTH's AckReq/PSN word here.
 */
#ifndef XATOMIC_BPF_ICRC_H
#define XATOMIC_BPF_ICRC_H

#include "icrc_tables.h"
#include "packet.bpf.h"

#define ICRC_CHUNK 16 /* bytes that one step of the slicing takes */
#define ICRC_ROW   (sizeof(icrc_tables[0]) / sizeof(icrc_tables[0][0]))

/* Rows of icrc_tables are distances 0-15, then these. */
enum { ROW_IPV4_FLAGS = 16, ROW_IPV4_ID_LOW, ROW_IPV4_ID_HIGH };
/* Distances of prefix bytes from the AckReq/PSN word. */
enum {
	DIST_PKEY_HIGH = 5,
	DIST_BTH_FLAGS = 6,
	DIST_OPCODE = 7,
	DIST_UDP_LEN_LOW = 10,
	DIST_UDP_LEN_HIGH = 11,
	DIST_SPORT_LOW = 14,
	DIST_SPORT_HIGH = 15,
	DIST_IPV4_LEN_LOW = 32,
	DIST_IPV6_LEN_LOW = 50,
};

/* Bytes of a register value. The barrier keeps clang from dropping a mask that the verifier needs. */
static __always_inline __u32 byte_of(__u32 word, int n)
{
	__u32 byte = word >> (8 * n);

	barrier_var(byte);
	return byte & 0xff;
}

/* The tables' address in a register, so that not every look-up loads it as a 64-bit constant. */
static __always_inline const __u32 *crc_tables(void)
{
	const __u32 *tables = icrc_tables[0];

	barrier_var(tables);
	return tables;
}

/*
 * What `byte` contributes from the distance that `row` stands for. The sum is one of numbers and begins with the
 * offset: with a pointer in front, clang copies that pointer for each look-up.
 */
static __always_inline __u32 crc_at(const __u32 *tables, int row, __u64 byte)
{
	unsigned long at = byte * sizeof(*tables) + (unsigned long)tables;

	return ((const __u32 *)at)[row * ICRC_ROW];
}

/* Moves a register over `n` bytes, 4 to 16. */
static __always_inline __u32 crc_step(const __u32 *tables, __u32 crc, const __u8 *bytes, int n)
{
	__u32 word = crc ^ *(const __u32 *)bytes;

	crc = 0;
#pragma unroll
	for (int i = 4; i < n; i++)
		crc ^= crc_at(tables, n - 1 - i, bytes[i]);
#pragma unroll
	for (int i = 0; i < 4; i++)
		crc ^= crc_at(tables, n - 1 - i, byte_of(word, i));
	return crc;
}

/* What the fields that requester and network vary contribute: the same in request and reply. */
static __always_inline __u32 crc_varying(const __u32 *tables, const struct packet *p)
{
	const __u8 *sport = (const void *)&p->udp->source;
	__u32 crc = crc_at(tables, DIST_SPORT_HIGH, sport[0]) ^
		    crc_at(tables, DIST_SPORT_LOW, sport[1]);

	if (p->family == XA_IPV4) {
		const struct iphdr *ip = p->l3;
		const __u8 *id = (const void *)&ip->id, *flags = (const void *)&ip->frag_off;

		crc ^= crc_at(tables, ROW_IPV4_ID_HIGH, id[0]) ^
		       crc_at(tables, ROW_IPV4_ID_LOW, id[1]) ^
		       crc_at(tables, ROW_IPV4_FLAGS, flags[0]);
	}
	return crc;
}

static __always_inline __u32 crc_request_prefix(const __u32 *tables, const struct packet *p)
{
	const __u8 *pkey = (const void *)&p->bth->pkey;

	return p->qp->request_crc ^ p->varying_crc ^ crc_at(tables, DIST_OPCODE, p->opcode) ^
	       crc_at(tables, DIST_BTH_FLAGS, p->bth_flags) ^
	       crc_at(tables, DIST_PKEY_HIGH, pkey[0]);
}

static __always_inline bool icrc_matches(__u32 crc, const void *stored)
{
	return ~crc == *(const __u32 *)stored;
}

/* An atomic has 32 bytes from the AckReq/PSN word to the ICRC. */
static __always_inline bool atomic_icrc_ok(const __u32 *tables, const struct packet *p)
{
	const __u8 *rest = (const void *)&p->bth->apsn;
	__u32 crc = crc_request_prefix(tables, p);

	crc = crc_step(tables, crc, rest, ICRC_CHUNK);
	crc = crc_step(tables, crc, rest + ICRC_CHUNK, ICRC_CHUNK);
	return icrc_matches(crc, rest + 2 * ICRC_CHUNK);
}

/*
 * Packets of any other length: the prefix in the QP was made with the lengths of an atomic, so the
 * difference of the lengths is moved to its place byte by byte, and the rest is walked by bpf_loop().
 */
struct icrc_walk {
	struct xdp_md *ctx;
	__u32 offset;
	__u32 crc;
	bool failed;
};

static long icrc_walk_chunk(__u32 i __attribute__((unused)), void *data)
{
	struct icrc_walk *walk = data;
	__u8 bytes[ICRC_CHUNK];

	walk->failed = bpf_xdp_load_bytes(walk->ctx, walk->offset, bytes, sizeof(bytes)) != 0;
	walk->crc = crc_step(crc_tables(), walk->crc, bytes, sizeof(bytes));
	walk->offset += sizeof(bytes);
	return walk->failed;
}

static __always_inline __u32 crc_byte(__u32 crc, __u8 byte)
{
	return icrc_tables[0][byte_of(crc ^ byte, 0)] ^ crc >> 8;
}

static long icrc_walk_byte(__u32 i __attribute__((unused)), void *data)
{
	struct icrc_walk *walk = data;
	__u8 byte;

	walk->failed = bpf_xdp_load_bytes(walk->ctx, walk->offset, &byte, 1) != 0;
	walk->crc = crc_byte(walk->crc, byte);
	walk->offset++;
	return walk->failed;
}

/* Contribution of the length fields, relative to those that the prefix was made with. */
static __always_inline __u32 crc_lengths(const struct packet *p)
{
	bool v4 = p->family == XA_IPV4;
	__u32 atomic_len = XA_ATOMIC_LEN + sizeof(struct udphdr);
	__u32 udp_len = p->roce_len + sizeof(struct udphdr);
	__u32 udp = udp_len ^ atomic_len;
	__u32 ip =
		v4 ? (udp_len + sizeof(struct iphdr)) ^ (atomic_len + sizeof(struct iphdr)) : udp;
	__u32 crc = icrc_tables[1][byte_of(ip, 1)] ^ icrc_tables[0][byte_of(ip, 0)];

	for (int i = 0; i < DIST_IPV6_LEN_LOW; i++) {
		if (v4 && i == DIST_IPV4_LEN_LOW)
			break;
		crc = crc_byte(crc, 0);
	}
	return crc ^ icrc_tables[DIST_UDP_LEN_HIGH][byte_of(udp, 1)] ^
	       icrc_tables[DIST_UDP_LEN_LOW][byte_of(udp, 0)];
}

/* `len` bytes and the ICRC follow at `offset`. Out of line: the fast path shall not pay for it. */
static __noinline bool walked_icrc_ok(struct xdp_md *ctx, __u32 offset, __u32 len, __u32 crc)
{
	struct icrc_walk walk = {.ctx = ctx, .offset = offset, .crc = crc};
	__u32 stored;

	bpf_loop(len / ICRC_CHUNK, icrc_walk_chunk, &walk, 0);
	if (!walk.failed)
		bpf_loop(len % ICRC_CHUNK, icrc_walk_byte, &walk, 0);
	if (walk.failed || bpf_xdp_load_bytes(ctx, walk.offset, &stored, sizeof(stored)))
		return false;
	return icrc_matches(walk.crc, &stored);
}

static __always_inline bool other_icrc_ok(struct xdp_md *ctx, const __u32 *tables,
					  const struct packet *p)
{
	__u32 ip_len = p->family == XA_IPV4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	__u32 offset = p->l2_len + ip_len + sizeof(struct udphdr) + offsetof(struct xa_bth, apsn);
	__u32 len = p->roce_len - offsetof(struct xa_bth, apsn) - XA_ICRC_LEN;

	return walked_icrc_ok(ctx, offset, len, crc_request_prefix(tables, p) ^ crc_lengths(p));
}

static __always_inline enum xa_reason check_icrc(struct xdp_md *ctx, struct packet *p)
{
	const __u32 *tables = crc_tables();

	p->varying_crc = crc_varying(tables, p);
	if (p->is_atomic ? atomic_icrc_ok(tables, p) : other_icrc_ok(ctx, tables, p))
		return GO_ON;
	return XA_REASON_icrc;
}

/* ICRC of the reply at `bth`, which is complete but for it; `n` bytes from the AckReq/PSN word on. */
static __always_inline __u32 reply_icrc(const struct packet *p, const struct xa_bth *bth, int n)
{
	const __u32 *tables = crc_tables();
	__u32 crc = n == ICRC_CHUNK ? p->qp->ack_crc : p->qp->nak_crc;

	crc ^= p->varying_crc ^ crc_at(tables, DIST_BTH_FLAGS, bth->flags);
	return ~crc_step(tables, crc, (const void *)&bth->apsn, n);
}

#endif
