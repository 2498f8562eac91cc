/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp.h - RoCEv2 packets through an ordinary UDP socket: what a program without XDP, packet sockets or an
 * RNIC can do. Linux sends such datagrams with DF and identification 0, which makes their ICRC known.
 *
 * Functions return -1 after a message on stderr.
 */
#ifndef XATOMIC_BENCH_UDP_H
#define XATOMIC_BENCH_UDP_H

#include <linux/types.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { UDP_BATCH = 64, DATAGRAM_MAX = 64 };

/* A batch for recvmmsg(2) and sendmmsg(2). */
struct datagrams {
	struct mmsghdr headers[UDP_BATCH];
	struct iovec vectors[UDP_BATCH];
	struct sockaddr_in addresses[UDP_BATCH];
	uint8_t bytes[UDP_BATCH][DATAGRAM_MAX];
};

/* A socket on this address and the RoCEv2 port. */
int udp_open(const char *address);

/* All of DATAGRAM_MAX bytes long, from and to whoever the addresses say. */
void datagrams_init(struct datagrams *datagrams);

/* Ends a packet of `len` bytes, ICRC included, with its ICRC. Addresses in network order. */
void udp_seal(uint8_t *bth, size_t len, __be32 src, __be32 dst, uint16_t sport);

/* Whether a packet that was received has the right one. */
int udp_sealed(const uint8_t *bth, size_t len, __be32 src, __be32 dst, uint16_t sport);

#endif
