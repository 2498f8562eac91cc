/* SPDX-License-Identifier: BSD-2-Clause */
#include "model.h"

#include <string.h>

#define FAULT(m, name) ((m)->fault == MODEL_FAULT_##name)

enum {
	ETH_LEN = 14,
	VLAN_LEN = 4,
	MAX_VLANS = 2,
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	BTH_LEN = 12,
	AETH_LEN = 4,
	ICRC_LEN = 4,
	PORT = 4791,
	FRESH_TTL = 64,
	CMP_SWAP = 0x13,
	FETCH_ADD = 0x14,
	ACKNOWLEDGE = 0x11,
	ATOMIC_ACKNOWLEDGE = 0x12,
	ATOMIC_ETH_LEN = 28,
	UD_SEND_ONLY = 0x64,
	GSI_ROCE_LEN = BTH_LEN + 8 + 256 + ICRC_LEN,
	ATOMIC_ROCE_LEN = BTH_LEN + ATOMIC_ETH_LEN + ICRC_LEN,
	SYNDROME_ACK = 0x1f,
	NAK_SEQUENCE = 0x60,
	NAK_INVALID_REQUEST = 0x61,
	NAK_REMOTE_ACCESS = 0x62,
	MOD_24 = 1 << 24,
	HALF_24 = 1 << 23,
};

/* What a check returns when the packet may go on. */
static const enum xa_reason GO_ON = XA_REASON_COUNT;

/* A packet on its way through the checks; offsets count from the start of the frame. */
struct packet {
	const uint8_t *frame;
	size_t len;
	size_t ip, udp, bth;
	bool ipv6;
	unsigned udp_len;
	uint8_t opcode;
	unsigned pad;
	uint32_t qpn, psn;
	uint64_t va, swap_add, compare; /* 0 when it is no atomic, as rkey */
	uint32_t rkey;
};

static uint64_t get(const uint8_t *bytes, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void put(uint8_t *bytes, unsigned count, uint64_t value)
{
	for (unsigned i = 0; i < count; i++)
		bytes[i] = value >> 8 * (count - 1 - i);
}

static bool is_atomic(uint8_t opcode)
{
	return opcode == CMP_SWAP || opcode == FETCH_ADD;
}

/* ---- ICRC: CRC-32 over 8 bytes of ones and the packet with what may change on the way as ones ---- */

static uint32_t crc_byte(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	return crc;
}

static uint8_t masked(const uint8_t *l3, bool ipv6, size_t at, enum model_fault fault)
{
	size_t udp = ipv6 ? IPV6_LEN : IPV4_LEN, bth = udp + UDP_LEN;

	if (at == udp + 6 || at == udp + 7)
		return 0xff;
	if (at == bth + 4 && fault != MODEL_FAULT_icrc_reserved)
		return 0xff;
	if (ipv6 && at == 0)
		return l3[0] | 0x0f;
	if (ipv6 && (at == 1 || at == 2 || at == 3 || at == 7))
		return 0xff;
	if (!ipv6 && (at == 1 || at == 8 || at == 10 || at == 11))
		return 0xff;
	return l3[at];
}

uint32_t model_icrc(const uint8_t *l3, bool ipv6, size_t roce_len, enum model_fault fault)
{
	size_t len = (ipv6 ? IPV6_LEN : IPV4_LEN) + UDP_LEN + roce_len;
	uint32_t crc = 0xffffffff;

	for (int i = 0; i < 8; i++)
		crc = crc_byte(crc, 0xff);
	for (size_t at = 0; at < len; at++)
		crc = crc_byte(crc, masked(l3, ipv6, at, fault));
	return ~crc;
}

static uint32_t get_icrc(const uint8_t *bytes)
{
	return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put_icrc(uint8_t *bytes, uint32_t icrc)
{
	for (int i = 0; i < ICRC_LEN; i++)
		bytes[i] = icrc >> 8 * i;
}

/* ---- checks that know no state ---- */

static bool is_ipv4_udp(const struct packet *p)
{
	const uint8_t *ip = p->frame + p->ip;

	return p->len >= p->ip + IPV4_LEN && ip[0] == 0x45 && ip[9] == 17 &&
	       (get(ip + 6, 2) & 0x3fff) == 0;
}

static bool is_ipv6_udp(const struct packet *p)
{
	const uint8_t *ip = p->frame + p->ip;

	return p->len >= p->ip + IPV6_LEN && ip[0] >> 4 == 6 && ip[6] == 17;
}

/* Ethernet to one station, at most two tags, IP without extras, UDP to the RoCE port. */
static bool find_roce(struct packet *p)
{
	size_t type = ETH_LEN - 2;
	unsigned protocol;

	if (p->len < ETH_LEN || p->frame[0] & 1)
		return false;
	protocol = get(p->frame + type, 2);
	for (int tags = 0; tags < MAX_VLANS && (protocol == 0x8100 || protocol == 0x88a8); tags++) {
		type += VLAN_LEN;
		if (p->len < type + 2)
			return false;
		protocol = get(p->frame + type, 2);
	}
	p->ip = type + 2;
	p->ipv6 = protocol == 0x86dd;
	if (p->ipv6 ? !is_ipv6_udp(p) : protocol != 0x0800 || !is_ipv4_udp(p))
		return false;
	p->udp = p->ip + (p->ipv6 ? IPV6_LEN : IPV4_LEN);
	p->bth = p->udp + UDP_LEN;
	return p->len >= p->bth && get(p->frame + p->udp + 2, 2) == PORT;
}

static bool lengths_agree(struct packet *p)
{
	const uint8_t *ip = p->frame + p->ip;
	unsigned ip_payload = p->ipv6 ? get(ip + 4, 2) : get(ip + 2, 2) - IPV4_LEN;

	p->udp_len = get(p->frame + p->udp + 4, 2);
	return p->udp_len >= UDP_LEN + BTH_LEN + ICRC_LEN && ip_payload == p->udp_len &&
	       p->udp + p->udp_len <= p->len;
}

static enum xa_reason check_frame(struct packet *p)
{
	const uint8_t *bth;

	if (!find_roce(p))
		return XA_REASON_not_roce;
	if (!lengths_agree(p))
		return XA_REASON_malformed;
	bth = p->frame + p->bth;
	if (bth[1] & 0x0f)
		return XA_REASON_version;
	p->opcode = bth[0];
	p->pad = bth[1] >> 4 & 3;
	p->qpn = get(bth + 5, 3);
	p->psn = get(bth + 9, 3);
	if (p->qpn == 1)
		return XA_REASON_gsi;
	if (p->qpn == 0 || p->qpn == 0xffffff)
		return XA_REASON_reserved_qpn;
	return GO_ON;
}

/* ---- checks against the QP ---- */

static struct model_qp *find_qp(struct model *m, uint32_t qpn)
{
	for (int i = 0; i < MODEL_QPS; i++)
		if (m->qps[i].used && m->qps[i].attr.qpn == qpn)
			return &m->qps[i];
	return NULL;
}

static bool address_is(const struct packet *p, bool destination, bool ipv6, const uint8_t *gid)
{
	size_t size = ipv6 ? 16 : 4, at = ipv6 ? 8 : 12;

	if (p->ipv6 != ipv6)
		return false;
	return memcmp(p->frame + p->ip + at + (destination ? size : 0), gid + 16 - size, size) == 0;
}

/* Bytes between BTH and payload that an RC opcode cannot do without. */
static unsigned header_len(uint8_t opcode)
{
	switch (opcode) {
	case 0x03: /* SEND LAST, SEND ONLY, WRITE LAST with immediate */
	case 0x05:
	case 0x09:
	case 0x16: /* SEND LAST, SEND ONLY with invalidate */
	case 0x17:
		return 4;
	case 0x06: /* WRITE FIRST, WRITE ONLY, READ REQUEST, ATOMIC WRITE */
	case 0x0a:
	case 0x0c:
	case 0x1d:
		return 16;
	case 0x0b: /* WRITE ONLY with immediate, FLUSH */
	case 0x1c:
		return 20;
	default:
		return 0;
	}
}

static bool length_fits(const struct model *m, const struct packet *p)
{
	unsigned roce_len = p->udp_len - UDP_LEN;

	if (!is_atomic(p->opcode))
		return roce_len >= BTH_LEN + header_len(p->opcode) + p->pad + ICRC_LEN;
	if (p->pad != 0 && !FAULT(m, pad_ignored))
		return false;
	if (FAULT(m, length_minimum))
		return roce_len >= ATOMIC_ROCE_LEN;
	return roce_len == ATOMIC_ROCE_LEN;
}

static bool pkey_fits(const struct model *m, const struct packet *p)
{
	unsigned pkey = get(p->frame + p->bth + 2, 2);

	return FAULT(m, pkey_full) ? pkey == 0xffff : (pkey & 0x7fff) == 0x7fff;
}

static bool icrc_right(const struct model *m, const struct packet *p)
{
	size_t roce_len = p->udp_len - UDP_LEN - ICRC_LEN;
	uint32_t right = model_icrc(p->frame + p->ip, p->ipv6, roce_len, m->fault);

	return FAULT(m, icrc_ignored) || get_icrc(p->frame + p->bth + roce_len) == right;
}

static enum xa_reason check_qp(const struct model *m, const struct packet *p,
			       const struct model_qp *qp)
{
	if (!address_is(p, true, qp->attr.ipv6, qp->attr.local))
		return XA_REASON_foreign;
	if (p->opcode == 0x81)
		return XA_REASON_cnp;
	if (p->opcode >= 0x0d && p->opcode <= 0x12)
		return XA_REASON_response;
	if (p->opcode >> 5 != 0)
		return XA_REASON_transport;
	if (qp->error && !FAULT(m, duplicate_in_error))
		return XA_REASON_qp_state;
	if (!address_is(p, false, qp->attr.ipv6, qp->attr.peer) && !FAULT(m, peer_ignored))
		return XA_REASON_peer;
	if (!pkey_fits(m, p))
		return XA_REASON_pkey;
	if (!length_fits(m, p))
		return XA_REASON_length;
	if (!icrc_right(m, p))
		return XA_REASON_icrc;
	if (qp->locked)
		return XA_REASON_busy;
	return GO_ON;
}

/* A packet for QP 1 while somebody takes them. */
static enum xa_reason check_gsi(const struct model *m, const struct packet *p)
{
	unsigned roce_len = p->udp_len - UDP_LEN;

	if (p->opcode != UD_SEND_ONLY)
		return XA_REASON_transport;
	if (!pkey_fits(m, p))
		return XA_REASON_pkey;
	if (p->pad != 0 || roce_len < GSI_ROCE_LEN)
		return XA_REASON_length;
	if (roce_len > GSI_ROCE_LEN && !FAULT(m, gsi_any_length))
		return XA_REASON_length;
	return icrc_right(m, p) ? GO_ON : XA_REASON_icrc;
}

static enum xa_reason receive_gsi(struct model *m, const struct packet *p, struct model_result *r)
{
	enum xa_reason reason;

	if (!m->agent && !FAULT(m, gsi_dead_agent))
		return XA_REASON_gsi;
	reason = check_gsi(m, p);
	if (reason != GO_ON)
		return reason;
	if (m->gsi_waiting == m->gsi_room)
		return XA_REASON_gsi_full;
	m->gsi_waiting++;
	r->gsi_len = FAULT(m, gsi_trailer) ? p->len : p->bth + GSI_ROCE_LEN;
	return XA_REASON_gsi_agent;
}

static void read_atomic(struct packet *p)
{
	const uint8_t *eth = p->frame + p->bth + BTH_LEN;

	p->va = get(eth, 8);
	p->rkey = get(eth + 8, 4);
	p->swap_add = get(eth + 12, 8);
	p->compare = get(eth + 20, 8);
}

/* ---- answers ---- */

static void put_ethernet(struct model_result *r, const struct packet *p)
{
	memcpy(r->reply, p->frame, p->ip);
	memcpy(r->reply, p->frame + 6, 6);
	memcpy(r->reply + 6, p->frame, 6);
}

/* ToS or traffic class without a congestion mark: DSCP stays, ECN 3 becomes 0. */
static uint8_t fresh_tos(const struct model *m, uint8_t tos)
{
	return (tos & 3) == 3 && !FAULT(m, ce_kept) ? tos & 0xfc : tos;
}

static void put_ipv4(const struct model *m, uint8_t *ip, const uint8_t *request, unsigned udp_len)
{
	uint32_t sum = 0;

	memcpy(ip, request, IPV4_LEN);
	ip[1] = fresh_tos(m, request[1]);
	put(ip + 2, 2, IPV4_LEN + udp_len);
	ip[8] = FAULT(m, ttl_kept) ? request[8] : FRESH_TTL;
	memcpy(ip + 12, request + 16, 4);
	memcpy(ip + 16, request + 12, 4);
	put(ip + 10, 2, 0);
	for (int i = 0; i < IPV4_LEN; i += 2)
		sum += get(ip + i, 2);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put(ip + 10, 2, ~sum & 0xffff);
}

static void put_ipv6(const struct model *m, uint8_t *ip, const uint8_t *request, unsigned udp_len)
{
	uint8_t tos = fresh_tos(m, get(request, 2) >> 4 & 0xff);

	memcpy(ip, request, IPV6_LEN);
	ip[0] = 0x60 | tos >> 4;
	ip[1] = (tos & 0x0f) << 4 | (request[1] & 0x0f);
	put(ip + 4, 2, udp_len);
	ip[7] = FAULT(m, ttl_kept) ? request[7] : FRESH_TTL;
	memcpy(ip + 8, request + 24, 16);
	memcpy(ip + 24, request + 8, 16);
}

static void put_bth(const struct model *m, uint8_t *bth, const struct packet *p,
		    const struct model_qp *qp, uint8_t opcode, uint32_t psn)
{
	bth[0] = opcode;
	bth[1] = FAULT(m, migreq_zero) ? 0 : p->frame[p->bth + 1] & 0x40;
	put(bth + 2, 2, 0xffff);
	put(bth + 4, 4, qp->attr.rqpn);
	put(bth + 8, 4, psn);
}

static void put_trailer(struct model_result *r, const struct packet *p)
{
	size_t end = p->udp + p->udp_len, room = MODEL_REPLY_MAX - r->reply_len;
	size_t count = p->len - end < room ? p->len - end : room;

	memcpy(r->reply + r->reply_len, p->frame + end, count);
	r->reply_len += count;
}

/* `original` is NULL in a NAK. */
static void answer(const struct model *m, struct model_result *r, const struct packet *p,
		   uint32_t psn, uint8_t syndrome, uint32_t msn, const uint64_t *original)
{
	unsigned roce_len = BTH_LEN + AETH_LEN + (original ? 8 : 0);
	unsigned udp_len = UDP_LEN + roce_len + ICRC_LEN;
	uint8_t *udp = r->reply + p->udp, *bth = r->reply + p->bth;
	unsigned sport = get(p->frame + p->udp, 2);

	put_ethernet(r, p);
	if (p->ipv6)
		put_ipv6(m, r->reply + p->ip, p->frame + p->ip, udp_len);
	else
		put_ipv4(m, r->reply + p->ip, p->frame + p->ip, udp_len);
	put(udp, 2, sport);
	put(udp + 2, 2, FAULT(m, sport_answered) ? sport : PORT);
	put(udp + 4, 2, udp_len);
	put(udp + 6, 2, 0);
	put_bth(m, bth, p, r->qp, original ? ATOMIC_ACKNOWLEDGE : ACKNOWLEDGE, psn);
	bth[BTH_LEN] = syndrome;
	put(bth + BTH_LEN + 1, 3, msn);
	if (original)
		put(bth + BTH_LEN + AETH_LEN, 8, *original);
	put_icrc(bth + roce_len, model_icrc(r->reply + p->ip, p->ipv6, roce_len, m->fault));
	r->reply_len = p->bth + roce_len + ICRC_LEN;
	if (FAULT(m, trailer_kept))
		put_trailer(r, p);
}

static void note_nak(struct model_qp *qp, const struct packet *p, enum xa_reason reason)
{
	qp->last_nak = (struct model_nak){
		.reason = reason,
		.opcode = p->opcode,
		.psn = p->psn,
		.rkey = p->rkey,
		.va = p->va,
	};
}

/* ---- PSN behind the expected one ---- */

static struct model_saved *find_saved(struct model_qp *qp, uint32_t psn)
{
	for (unsigned i = 0; i < qp->saved_count; i++)
		if (qp->saved[i].psn == psn)
			return &qp->saved[i];
	return NULL;
}

/* Identical in all that counts; a FETCH_ADD's compare field is never written by requesters. */
static bool is_same(const struct model *m, const struct packet *p, const struct model_saved *saved)
{
	if (FAULT(m, duplicate_by_psn))
		return true;
	if (p->opcode != saved->opcode && !FAULT(m, duplicate_opcode))
		return false;
	if (p->rkey != saved->rkey && !FAULT(m, duplicate_rkey))
		return false;
	if (p->va != saved->va || p->swap_add != saved->swap_add)
		return false;
	return p->compare == saved->compare ||
	       (p->opcode == FETCH_ADD && !FAULT(m, duplicate_compare));
}

static enum xa_reason receive_duplicate(const struct model *m, const struct packet *p,
					struct model_result *r)
{
	struct model_qp *qp = r->qp;
	struct model_saved *saved = is_atomic(p->opcode) ? find_saved(qp, p->psn) : NULL;

	if (FAULT(m, sequence_rearmed))
		qp->nak_sent = false;
	if (!saved || !is_same(m, p, saved)) {
		qp->duplicates_dropped++;
		return saved ? XA_REASON_duplicate_differs : XA_REASON_duplicate_lost;
	}
	qp->replayed++;
	answer(m, r, p, p->psn, SYNDROME_ACK, FAULT(m, replay_first_msn) ? saved->msn : qp->msn,
	       &saved->original);
	return XA_REASON_replayed;
}

/* ---- PSN ahead of the expected one ---- */

static enum xa_reason receive_ahead(const struct model *m, const struct packet *p,
				    struct model_result *r)
{
	struct model_qp *qp = r->qp;

	if (qp->nak_sent && !FAULT(m, sequence_each))
		return XA_REASON_ahead;
	qp->nak_sent = true;
	qp->sequence_naks++;
	note_nak(qp, p, XA_REASON_sequence);
	answer(m, r, p, FAULT(m, sequence_psn) ? p->psn : qp->epsn, NAK_SEQUENCE, qp->msn, NULL);
	return XA_REASON_sequence;
}

/* ---- the expected PSN ---- */

static struct model_mr *find_mr(struct model *m, uint32_t rkey)
{
	for (int i = 0; i < MODEL_MRS; i++) {
		struct model_mr *mr = &m->mrs[i];

		if (!mr->used || !mr->mapped)
			continue;
		if (mr->attr.rkey == rkey ||
		    (FAULT(m, rkey_index) && mr->attr.rkey >> 8 == rkey >> 8))
			return mr;
	}
	return NULL;
}

static bool inside(const struct model *m, const struct model_mr *mr, uint64_t va)
{
	if (FAULT(m, bounds_wrap))
		return va >= mr->attr.iova && va + 8 <= mr->attr.iova + mr->attr.length;
	if (FAULT(m, bounds_end) && va >= mr->attr.iova && va - mr->attr.iova == mr->attr.length)
		return true;
	return va >= mr->attr.iova && mr->attr.length >= 8 &&
	       va - mr->attr.iova <= mr->attr.length - 8;
}

static enum xa_reason check_target(struct model *m, const struct packet *p,
				   const struct model_qp *qp, struct model_mr **target)
{
	struct model_mr *mr = find_mr(m, p->rkey);

	if (!is_atomic(p->opcode))
		return XA_REASON_opcode;
	if (!(qp->attr.access & XA_ACCESS_ATOMIC) && !FAULT(m, qp_access_ignored))
		return XA_REASON_qp_access;
	if (FAULT(m, alignment_first) && p->va % 8 != 0)
		return XA_REASON_alignment;
	if (!mr)
		return XA_REASON_rkey;
	if (mr->attr.pdn != qp->attr.pdn && !FAULT(m, pd_ignored))
		return XA_REASON_pd;
	if (!(mr->attr.access & XA_ACCESS_ATOMIC) && !FAULT(m, mr_access_ignored))
		return XA_REASON_mr_access;
	if (!inside(m, mr, p->va))
		return XA_REASON_bounds;
	if (p->va % 8 != 0 && !FAULT(m, alignment_ignored))
		return XA_REASON_alignment;
	*target = mr;
	return GO_ON;
}

static uint8_t syndrome_of(enum xa_reason reason)
{
	switch (reason) {
	case XA_REASON_opcode:
	case XA_REASON_qp_access:
	case XA_REASON_alignment:
		return NAK_INVALID_REQUEST;
	default:
		return NAK_REMOTE_ACCESS;
	}
}

static void refuse(const struct model *m, const struct packet *p, struct model_result *r,
		   enum xa_reason reason)
{
	struct model_qp *qp = r->qp;

	qp->error = !FAULT(m, nak_keeps_state);
	qp->fatal_naks++;
	if (FAULT(m, msn_counts_naks))
		qp->msn = (qp->msn + 1) % MOD_24;
	note_nak(qp, p, reason);
	answer(m, r, p, p->psn, syndrome_of(reason), qp->msn, NULL);
	r->fatal = true;
}

static uint64_t operate(const struct model *m, const struct packet *p, uint64_t *word)
{
	uint64_t original = *word;

	if (p->opcode == FETCH_ADD) {
		*word = original + p->swap_add;
		if (FAULT(m, add_saturates) && *word < original)
			*word = UINT64_MAX;
	} else if (original == p->compare || FAULT(m, swap_always)) {
		*word = p->swap_add;
	}
	return original;
}

static unsigned window_size(const struct model *m, const struct model_qp *qp)
{
	if (FAULT(m, window_short))
		return qp->attr.depth - 1;
	return qp->attr.depth + (FAULT(m, window_long) ? 1 : 0);
}

/* The oldest goes when the window is full: whatever is `size` or more PSNs behind the new one. */
static void make_room(struct model_qp *qp, uint32_t psn, unsigned size)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < qp->saved_count; i++)
		if ((psn - qp->saved[i].psn) % MOD_24 < size)
			qp->saved[kept++] = qp->saved[i];
	qp->saved_count = kept;
}

static void save(const struct model *m, struct model_qp *qp, const struct packet *p,
		 uint64_t original)
{
	unsigned size = window_size(m, qp);

	make_room(qp, p->psn, size);
	if (size == 0)
		return;
	qp->saved[qp->saved_count++] = (struct model_saved){
		.psn = p->psn,
		.opcode = p->opcode,
		.va = p->va,
		.rkey = p->rkey,
		.swap_add = p->swap_add,
		.compare = p->compare,
		.original = original,
		.msn = qp->msn,
	};
}

static enum xa_reason receive_expected(struct model *m, const struct packet *p,
				       struct model_result *r)
{
	struct model_qp *qp = r->qp;
	struct model_mr *mr = NULL;
	enum xa_reason reason;
	uint64_t original;

	qp->nak_sent = false;
	reason = check_target(m, p, qp, &mr);
	if (reason != GO_ON) {
		refuse(m, p, r, reason);
		return reason;
	}
	r->word = &mr->words[(p->va - mr->attr.iova) / 8 % MODEL_WORDS];
	original = operate(m, p, r->word);
	qp->msn = FAULT(m, msn_wrap) ? qp->msn + 1 : (qp->msn + 1) % MOD_24;
	qp->epsn = FAULT(m, psn_wrap) ? qp->epsn + 1 : (qp->epsn + 1) % MOD_24;
	save(m, qp, p, original);
	answer(m, r, p, p->psn, SYNDROME_ACK, qp->msn, &original);
	return XA_REASON_executed;
}

/* ---- the whole ---- */

static enum xa_reason receive_in_order(struct model *m, const struct packet *p,
				       struct model_result *r)
{
	uint32_t ahead = (p->psn - r->qp->epsn) % MOD_24;

	r->qp->requests++;
	if (ahead == 0)
		return r->qp->error ? XA_REASON_qp_state : receive_expected(m, p, r);
	if (ahead < HALF_24 || (ahead == HALF_24 && FAULT(m, psn_window)))
		return receive_ahead(m, p, r);
	if (FAULT(m, duplicate_executes) && find_saved(r->qp, p->psn)) {
		receive_expected(m, p, r);
		r->qp->epsn = (r->qp->epsn + MOD_24 - 1) % MOD_24;
		return XA_REASON_replayed;
	}
	return receive_duplicate(m, p, r);
}

static enum xa_class class_of(uint8_t opcode)
{
	if (opcode == CMP_SWAP)
		return XA_CLASS_CMP_SWAP;
	return opcode == FETCH_ADD ? XA_CLASS_FETCH_ADD : XA_CLASS_OTHER;
}

static enum xa_reason receive(struct model *m, struct packet *p, struct model_result *r)
{
	enum xa_reason reason = check_frame(p);

	if (reason == XA_REASON_gsi)
		return receive_gsi(m, p, r);
	if (reason != GO_ON)
		return reason;
	r->qp = find_qp(m, p->qpn);
	if (!r->qp)
		return XA_REASON_unknown_qp;
	r->class = class_of(p->opcode);
	reason = check_qp(m, p, r->qp);
	if (reason != GO_ON)
		return reason;
	if (is_atomic(p->opcode))
		read_atomic(p);
	return receive_in_order(m, p, r);
}

static enum model_verdict verdict_of(const struct model *m, const struct model_result *r)
{
	switch (r->reason) {
	case XA_REASON_not_roce:
	case XA_REASON_gsi:
	case XA_REASON_foreign:
		return MODEL_PASS;
	case XA_REASON_unknown_qp:
		return m->drop_unknown ? MODEL_DROP : MODEL_PASS;
	default:
		return r->reply_len ? MODEL_TX : MODEL_DROP;
	}
}

void model_receive(struct model *m, const uint8_t *frame, size_t len, struct model_result *result)
{
	struct packet p = {.frame = frame, .len = len};

	*result = (struct model_result){.class = XA_CLASS_OTHER};
	result->reason = receive(m, &p, result);
	result->verdict = verdict_of(m, result);
	m->counters[result->class][result->reason]++;
}
