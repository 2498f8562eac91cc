/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crc.h - CRC-32 of Ethernet for the requester's data path. Packets are so short that zlib's, which is made
 * for long runs of bytes, takes several times as long.
 */
#ifndef XATOMIC_LIB_CRC_H
#define XATOMIC_LIB_CRC_H

#include <stddef.h>
#include <stdint.h>

/* The register after eight bytes of ones, with which every ICRC begins. */
#define XA_CRC_ONES 0xdebb20e3u

/* Moves a register, which is not inverted, over `len` bytes. */
uint32_t xa_crc(uint32_t crc, const void *bytes, size_t len);

#endif
