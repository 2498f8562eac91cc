/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icrc.h - the invariant CRC of RoCEv2 in user space, on zlib's CRC-32.
 *
 * The ICRC is the CRC-32 of Ethernet over eight bytes of ones and a masked copy of the packet from the
 * IP header to the pad (IBA annex A17; rxe_icrc.c), stored least significant byte first.
 */
#ifndef XATOMIC_LIB_ICRC_H
#define XATOMIC_LIB_ICRC_H

#include <stddef.h>
#include <stdint.h>

#include "xatomic/abi.h"

/*
 * ICRC of a packet, as a number to be stored little endian. `l3` is the IP header (IPv4 without options,
 * or IPv6) directly followed by UDP: 28 or 48 bytes. `roce` is BTH up to and including the pad,
 * `roce_len` bytes, at least 12.
 */
uint32_t xa_icrc(const void *l3, const void *roce, size_t roce_len);

/*
 * Copies IP, UDP and BTH of a packet, with ones where the ICRC takes ones. `masked` has room for
 * XA_ICRC_MASKED_MAX bytes. Returns their number.
 */
#define XA_ICRC_MASKED_MAX (40 + 8 + 12)
size_t xa_icrc_mask(const void *l3, const void *roce, uint8_t *masked);

/*
 * Fills request_crc, ack_crc and nak_crc of a QP from its family, peer, local, qpn and rqpn.
 *
 * Each is the CRC register (not inverted) after the masked prefix of such a packet, up to the last byte
 * before BTH's AckReq/PSN word, where every field that a requester may vary is taken as zero: IPv4
 * identification, flags and fragment offset, UDP source port, BTH flags byte, the upper byte of the
 * P_Key (requests only: replies carry 0xffff) and the opcode (requests only: replies carry their own).
 * As a CRC is linear, the program adds what those fields contribute by an XOR of table entries.
 */
void xa_icrc_prefixes(struct xa_qp *qp);

#endif
