/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/udp.h"

#include <stdio.h>
#include <unistd.h>

#include "bench/bytes.h"
#include "lib/icrc.h"
#include "xatomic/wire.h"

enum { HEADERS = 28 };

int udp_open(const char *address)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(XA_ROCE_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), df = IP_PMTUDISC_DO;

	if (inet_pton(AF_INET, address, &own.sin_addr) != 1) {
		fprintf(stderr, "bench: '%s' is no IPv4 address\n", address);
		return -1;
	}
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof(df)) ||
	    bind(fd, (struct sockaddr *)&own, sizeof(own))) {
		perror("bench: UDP socket");
		return -1;
	}
	return fd;
}

void datagrams_init(struct datagrams *d)
{
	memset(d, 0, sizeof(*d));
	for (int i = 0; i < UDP_BATCH; i++) {
		d->vectors[i] = (struct iovec){d->bytes[i], DATAGRAM_MAX};
		d->headers[i].msg_hdr = (struct msghdr){
			.msg_name = &d->addresses[i],
			.msg_namelen = sizeof(d->addresses[i]),
			.msg_iov = &d->vectors[i],
			.msg_iovlen = 1,
		};
	}
}

static uint32_t crc_of(const uint8_t *bth, size_t len, __be32 src, __be32 dst, uint16_t sport)
{
	uint8_t l3[HEADERS] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 0, IPPROTO_UDP};

	put16(l3 + 2, HEADERS + len);
	memcpy(l3 + 12, &src, 4);
	memcpy(l3 + 16, &dst, 4);
	put16(l3 + 20, sport);
	put16(l3 + 22, XA_ROCE_PORT);
	put16(l3 + 24, 8 + len);
	return htole32(xa_icrc(l3, bth, len - XA_ICRC_LEN));
}

void udp_seal(uint8_t *bth, size_t len, __be32 src, __be32 dst, uint16_t sport)
{
	uint32_t crc = crc_of(bth, len, src, dst, sport);

	memcpy(bth + len - XA_ICRC_LEN, &crc, sizeof(crc));
}

int udp_sealed(const uint8_t *bth, size_t len, __be32 src, __be32 dst, uint16_t sport)
{
	uint32_t crc = crc_of(bth, len, src, dst, sport);

	return !memcmp(bth + len - XA_ICRC_LEN, &crc, sizeof(crc));
}
