/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sockclient - FETCH_ADDs in a closed loop through an ordinary UDP socket, to xatomic or to udpserver alike.
 * Checks every answer, its ICRC and its original value included, and fails on the first that is wrong or
 * does not come.
 *
 * Usage: sockclient OWN-ADDRESS PEER-ADDRESS QPN PEER-QPN PSN RKEY IN-FLIGHT SECONDS
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "bench/bytes.h"
#include "bench/samples.h"
#include "bench/udp.h"
#include "xatomic/wire.h"

enum { SAMPLES = 1 << 22, ACKREQ = 0x80 };

static struct {
	struct sockaddr_in peer;
	__be32 own;
	uint32_t qpn, rqpn, psn, rkey, in_flight, acked;
	uint64_t original, answered, sent_ns[UDP_BATCH];
	struct samples samples;
} c;

static void write_request(uint8_t *bth, uint32_t psn)
{
	memset(bth, 0, XA_ATOMIC_LEN);
	put32(bth, (uint32_t)XA_OP_FETCH_ADD << 24 | 0xffff);
	put32(bth + 4, c.rqpn);
	put32(bth + 8, XA_BTH_ACKREQ | psn);
	put32(bth + 20, c.rkey);
	put64(bth + 24, 1);
	udp_seal(bth, XA_ATOMIC_LEN, c.own, c.peer.sin_addr.s_addr, XA_ROCE_PORT);
}

static int send_requests(int fd, int n)
{
	static struct datagrams d;
	static bool ready;
	uint64_t now = now_ns();

	if (!ready)
		datagrams_init(&d);
	ready = true;
	for (int i = 0; i < n; i++) {
		d.addresses[i] = c.peer;
		d.vectors[i].iov_len = XA_ATOMIC_LEN;
		write_request(d.bytes[i], c.psn);
		c.sent_ns[c.psn % UDP_BATCH] = now;
		c.psn = xa_psn_add(c.psn, 1);
	}
	return sendmmsg(fd, d.headers, n, 0) == n ? 0 : -1;
}

static bool is_right(const uint8_t *bth, size_t len, const struct sockaddr_in *from)
{
	return len == XA_ATOMIC_ACK_LEN && bth[0] == XA_OP_ATOMIC_ACKNOWLEDGE &&
	       (get32(bth + 4) & XA_QPN_MASK) == c.qpn && get32(bth + 8) == c.acked &&
	       bth[12] == XA_SYN_ACK_UNLIMITED && get64(bth + 16) == c.original &&
	       udp_sealed(bth, len, from->sin_addr.s_addr, c.own, ntohs(from->sin_port));
}

/* Returns the number of right answers, -1 when one is wrong or none comes. */
static int receive_answers(int fd)
{
	static struct datagrams d;
	static bool ready;
	uint64_t now;
	int n;

	if (!ready)
		datagrams_init(&d);
	ready = true;
	n = recvmmsg(fd, d.headers, UDP_BATCH, MSG_WAITFORONE, NULL);
	now = now_ns();
	for (int i = 0; i < n; i++) {
		if (!is_right(d.bytes[i], d.headers[i].msg_len, &d.addresses[i])) {
			fprintf(stderr, "sockclient: a wrong answer at PSN %u\n", c.acked);
			return -1;
		}
		samples_add(&c.samples, now - c.sent_ns[c.acked % UDP_BATCH]);
		c.acked = xa_psn_add(c.acked, 1);
		c.original++;
		c.answered++;
	}
	if (n <= 0)
		perror("sockclient: no answer");
	return n;
}

static int run(int fd, double seconds)
{
	uint64_t end;
	int n;

	samples_begin(&c.samples, SAMPLES);
	end = c.samples.begin_ns + seconds * 1e9;
	for (n = c.in_flight; n > 0 && now_ns() < end; n = receive_answers(fd))
		if (send_requests(fd, n))
			return -1;
	while (n > 0 && c.acked != c.psn)
		n = receive_answers(fd);
	if (n > 0)
		samples_print(&c.samples, c.answered);
	return n > 0 ? 0 : -1;
}

static int open_socket(const char *own)
{
	struct timeval second = {.tv_sec = 1};
	int fd = udp_open(own);

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)))
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 9) {
		fprintf(stderr, "Usage: sockclient ADDRESS PEER QPN PEER-QPN PSN RKEY IN-FLIGHT "
				"SECONDS\n");
		return 2;
	}
	c.peer = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(XA_ROCE_PORT)};
	inet_pton(AF_INET, argv[1], &c.own);
	inet_pton(AF_INET, argv[2], &c.peer.sin_addr);
	c.qpn = strtoul(argv[3], NULL, 0);
	c.rqpn = strtoul(argv[4], NULL, 0);
	c.psn = c.acked = strtoul(argv[5], NULL, 0);
	c.rkey = strtoul(argv[6], NULL, 0);
	c.in_flight = strtoul(argv[7], NULL, 0);
	if (c.in_flight < 1 || c.in_flight > UDP_BATCH) {
		fprintf(stderr, "sockclient: 1 to %d in flight\n", UDP_BATCH);
		return 2;
	}
	fd = open_socket(argv[1]);
	return fd < 0 || run(fd, strtod(argv[8], NULL)) ? 1 : 0;
}
