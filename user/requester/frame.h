/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.h - requests and responses as Ethernet frames.
 */
#ifndef XATOMIC_REQUESTER_FRAME_H
#define XATOMIC_REQUESTER_FRAME_H

#include <stdint.h>

#include "engine.h"
#include "lib/address.h"

enum { XA_FRAME_MAX = 128, XA_MAC_LEN = 6, XA_MAX_VLANS = 2 };

/* Between which ends a queue pair's packets travel: an address vector and both QPNs. */
struct xa_path {
	uint8_t smac[XA_MAC_LEN], dmac[XA_MAC_LEN];
	unsigned int vlans;
	uint16_t vlan_tpid[XA_MAX_VLANS], vlan_tci[XA_MAX_VLANS];
	struct xa_ip local, peer; /* of one family */
	uint32_t lqpn, rqpn;
	uint16_t pkey;
};

/* A request's frame with all that does not change from packet to packet filled in. */
struct xa_template {
	uint8_t bytes[XA_FRAME_MAX];
	uint32_t l3, roce, len; /* offsets of the IP header and of BTH; length of the frame */
	uint32_t swap_crc,
		add_crc; /* CRC register before BTH's AckReq/PSN word, of either operation */
};

void xa_template_init(struct xa_template *template, const struct xa_path *path);

/*
 * Writes the front of a packet of the path, `roce_len` bytes long from BTH to ICRC: all headers up to UDP, and
 * P_Key and DestQP of BTH; `frame` is all zeros before. Returns the offset of BTH, and that of the IP header in *l3.
 */
size_t xa_frame_headers(uint8_t *frame, const struct xa_path *path, size_t roce_len, size_t *l3);

/* Offset of the IP header behind 0-2 VLAN tags, its EtherType in *type; 0 when there is none. */
size_t xa_frame_l3(const uint8_t *frame, size_t len, uint16_t *type);

/*
 * Writes the request's frame, template->len bytes; the same request is always the same frame. The IPv4
 * identification is 0, as it may be where DF is set (RFC 6864). MigReq is 0 as in rxe, AckReq 1.
 */
void xa_frame_build(const struct xa_template *template, const struct xa_request *request,
		    uint8_t *frame);

/*
 * UDP source port of a connection, 0xc000-0xffff: as RoCEv2 drivers derive it from a symmetric hash of both
 * QPNs when there is no flow label, so that a flow has one path, and both directions the same port
 * (ib_verbs.h: rdma_calc_flow_label, rdma_flow_label_to_udp_sport).
 */
uint16_t xa_udp_sport(uint32_t lqpn, uint32_t rqpn);

/*
 * The DestQP of a RoCEv2 packet, of which nothing else is checked yet. False: the frame is none.
 */
bool xa_frame_qpn(const uint8_t *frame, size_t len, uint32_t *qpn);

/*
 * Reads an ACKNOWLEDGE or ATOMIC_ACKNOWLEDGE that travelled the path backwards. False: it is something else
 * or fails a check that the receive side of rxe makes (addresses, header checksum, length, TVer, QPN,
 * P_Key, ICRC); such packets are dropped in silence. 0-2 VLAN tags of any kind are accepted, as VLANs are
 * the interface's matter; so is any UDP source port and, as the ICRC covers more, any UDP checksum.
 */
bool xa_frame_parse(const struct xa_path *path, const uint8_t *frame, size_t len,
		    struct xa_response *response);

#endif
