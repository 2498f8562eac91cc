/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requester.c - atomics from a host without an RDMA NIC and without an RDMA stack, by libxatomic alone.
 *
 *	requester IFACE ADDRESS QPN PSN RKEY IOVA
 *
 * At the responder, which has ADDRESS, `xatomic qp add --peer OWN_ADDRESS --rqpn 0x11` tells QPN (lqpn) and PSN
 * (rq-psn), and `xatomic mr add` RKEY and IOVA. Adds 1 to the first word four times, without waiting in between,
 * then takes the second one from 0 to 1 if it is 0, and prints what they held before.
 *
 * Needs CAP_NET_RAW.
 *
 * Build: cc -o requester requester.c $(pkg-config --cflags --libs xatomic)
 */
#include <arpa/inet.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xatomic/requester.h>

#include "number.h"

enum { OWN_QPN = 0x11, ADDS = 4, DEPTH = ADDS + 1, MAX_24 = 0xffffff };

/* IPv4 addresses are mapped into IPv6, as ::ffff:192.0.2.1. */
static void parse_address(const char *text, struct in6_addr *address)
{
	char mapped[INET6_ADDRSTRLEN + 8];

	snprintf(mapped, sizeof(mapped), "::ffff:%s", text);
	if (inet_pton(AF_INET6, text, address) != 1 && inet_pton(AF_INET6, mapped, address) != 1)
		errx(2, "'%s' is no IP address", text);
}

static struct xatomic_qp *open_qp(char **argv)
{
	struct xatomic_qp_attr attr;
	struct xatomic_qp *qp;

	xatomic_qp_attr_init(&attr);
	attr.ifname = argv[1];
	parse_address(argv[2], &attr.peer);
	attr.qp_num = OWN_QPN;
	attr.dest_qp_num = number("QPN", argv[3], 2, MAX_24);
	attr.sq_psn = number("PSN", argv[4], 0, MAX_24);
	attr.max_rd_atomic = DEPTH; /* no more than the --depth at the responder, 16 by default */
	qp = xatomic_qp_open(&attr);
	if (!qp)
		errx(EXIT_FAILURE, "%s", xatomic_error());
	return qp;
}

/* Nothing is sent before the doorbell rings; then all five are on their way at once. */
static void post(struct xatomic_qp *qp, uint32_t rkey, uint64_t iova, uint64_t *originals)
{
	struct xatomic_wr wr = {.opcode = XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
				.send_flags = XATOMIC_SEND_SIGNALED,
				.remote_addr = iova,
				.rkey = rkey,
				.compare_add = 1};

	for (int i = 0; i < ADDS; i++) {
		wr.reply = &originals[i];
		if (xatomic_post_send(qp, &wr))
			errx(EXIT_FAILURE, "the send queue is full");
	}
	wr.opcode = XATOMIC_WR_ATOMIC_CMP_AND_SWP;
	wr.remote_addr = iova + sizeof(uint64_t);
	wr.compare_add = 0;
	wr.swap = 1;
	wr.reply = &originals[ADDS];
	if (xatomic_post_send(qp, &wr))
		errx(EXIT_FAILURE, "the send queue is full");
	if (xatomic_ring_doorbell(qp))
		errx(EXIT_FAILURE, "the interface takes no packets");
}

/* They complete in the order of posting. An operation that gets no answer completes too, with a status. */
static int collect(struct xatomic_qp *qp)
{
	struct xatomic_wc wc;

	for (int left = DEPTH; left; left--) {
		if (xatomic_wait(qp, -1) < 0 || xatomic_poll_cq(qp, 1, &wc) < 0) {
			warnx("the interface has gone");
			return -1;
		}
		if (wc.status != XATOMIC_WC_SUCCESS) {
			warnx("the request failed: %s", xatomic_wc_status_str(wc.status));
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t originals[DEPTH];
	struct xatomic_qp *qp;
	int status;

	if (argc != 7)
		errx(2, "usage: requester IFACE ADDRESS QPN PSN RKEY IOVA");
	qp = open_qp(argv);
	post(qp, number("RKEY", argv[5], 1, UINT32_MAX), number("IOVA", argv[6], 0, UINT64_MAX),
	     originals);
	status = collect(qp);
	for (int i = 0; !status && i < ADDS; i++)
		printf("counter %" PRIu64 "\n", originals[i]);
	if (!status)
		printf("lock %" PRIu64 "\n", originals[ADDS]);
	xatomic_qp_close(qp);
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
