/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * qp.bpf.h - stage 2: whose packet is it? QP look-up, addresses, transport, state, P_Key, length.
 */
#ifndef XATOMIC_BPF_QP_H
#define XATOMIC_BPF_QP_H

#include "ctl.bpf.h"
#include "maps.bpf.h"
#include "packet.bpf.h"

static __always_inline enum xa_reason find_qp(struct packet *p)
{
	__u32 qpn = load_be32(&p->bth->qpn) & XA_QPN_MASK;
	__u32 index = qpn & qp_mask;

	if (qpn == XA_QPN_GSI)
		return XA_REASON_gsi;
	if (qpn == XA_QPN_SMI || qpn == XA_QPN_MULTICAST)
		return XA_REASON_reserved_qpn;
	p->qp = bpf_map_lookup_elem(&qps, &index);
	if (!p->qp || p->qp->qpn != qpn)
		return XA_REASON_unknown_qp;
	p->ctl = read_ctl(p->qp);
	if (has_state(p->ctl, XA_QP_RESET))
		return XA_REASON_unknown_qp;
	return GO_ON;
}

static __always_inline bool same_address(const struct packet *p, const __u8 *gid_bytes,
					 const void *addr)
{
	const __be32 *a = addr, *gid = (const void *)gid_bytes;

	if (p->family == XA_IPV4)
		return a[0] == gid[XA_GID_V4_WORD];
	return a[0] == gid[0] && a[1] == gid[1] && a[2] == gid[2] && a[3] == gid[3];
}

static __always_inline const void *source(const struct packet *p)
{
	return p->l3 + (p->family == XA_IPV4 ? offsetof(struct iphdr, saddr)
					     : offsetof(struct ipv6hdr, saddr));
}

static __always_inline const void *destination(const struct packet *p)
{
	return p->l3 + (p->family == XA_IPV4 ? offsetof(struct iphdr, daddr)
					     : offsetof(struct ipv6hdr, daddr));
}

/* A QPN of ours at another address is somebody else's: the host may run a soft-RoCE of its own. */
static __always_inline enum xa_reason check_destination(const struct packet *p)
{
	if (p->qp->family != p->family || !same_address(p, p->qp->local, destination(p)))
		return XA_REASON_foreign;
	return GO_ON;
}

static __always_inline void classify(struct packet *p)
{
	p->is_atomic = true;
	if (p->opcode == XA_OP_FETCH_ADD) {
		p->class = XA_CLASS_FETCH_ADD;
	} else if (p->opcode == XA_OP_CMP_SWAP) {
		p->class = XA_CLASS_CMP_SWAP;
	} else {
		p->class = XA_CLASS_OTHER;
		p->is_atomic = false;
	}
}

static __always_inline enum xa_reason check_transport(const struct packet *p)
{
	if (p->is_atomic)
		return GO_ON;
	if (p->opcode == XA_OP_CNP)
		return XA_REASON_cnp;
	if (p->opcode & XA_TRANSPORT_MASK)
		return XA_REASON_transport;
	if (p->opcode >= XA_OP_READ_RESPONSE_FIRST && p->opcode <= XA_OP_ATOMIC_ACKNOWLEDGE)
		return XA_REASON_response;
	return GO_ON;
}

static __always_inline enum xa_reason check_connection(const struct packet *p)
{
	if (!has_state(p->ctl, XA_QP_RTR))
		return XA_REASON_qp_state;
	if (!same_address(p, p->qp->peer, source(p)))
		return XA_REASON_peer;
	/* We are a full member of the default partition, so a limited member may talk to us. */
	if ((load_be16(&p->bth->pkey) & XA_PKEY_BASE_MASK) != (XA_PKEY_DEFAULT & XA_PKEY_BASE_MASK))
		return XA_REASON_pkey;
	return GO_ON;
}

static __always_inline enum xa_reason check_length(const struct packet *p)
{
	__u32 pad = XA_BTH_PAD(p->bth_flags);
	const void *bth = p->bth;

	if (!p->is_atomic)
		return p->roce_len < xa_rc_header_len(p->opcode) + pad + XA_ICRC_LEN
			       ? XA_REASON_length
			       : GO_ON;
	if (p->roce_len != XA_ATOMIC_LEN || pad)
		return XA_REASON_length;
	/* For the verifier, as in parse_roce(); the barrier keeps clang 22 from finding this implied. */
	barrier_var(bth);
	if (bth + XA_ATOMIC_LEN > p->data_end)
		return XA_REASON_length;
	return GO_ON;
}

static __always_inline enum xa_reason match_qp(struct packet *p)
{
	enum xa_reason reason = find_qp(p);

	if (reason != GO_ON)
		return reason;
	classify(p);
	reason = check_destination(p);
	if (reason != GO_ON)
		return reason;
	reason = check_transport(p);
	if (reason != GO_ON)
		return reason;
	reason = check_connection(p);
	if (reason != GO_ON)
		return reason;
	return check_length(p);
}

#endif
