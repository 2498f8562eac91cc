/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udpserver - the responder's work in user space: FETCH_ADD and COMPARE_SWAP of one QP on one MR, with both
 * ICRCs, PSN window, access checks and saved results, over a UDP socket. What one would write without XDP.
 *
 * Usage: udpserver [--busy] OWN-ADDRESS QPN PEER-QPN PSN RKEY WORDS
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bytes.h"
#include "bench/udp.h"
#include "xatomic/wire.h"

enum { DEPTH = 64 };

struct saved {
	uint64_t va, swap_add, compare, original;
	uint32_t psn, rkey;
	uint8_t opcode;
};

static struct {
	__be32 own;
	uint32_t qpn, rqpn, epsn, msn, rkey;
	uint64_t length;
	_Atomic uint64_t *words;
	bool nak_sent, error;
	struct saved saved[DEPTH];
} qp;

struct reply {
	uint32_t psn;
	uint8_t syndrome;
	uint64_t original;
};

static uint64_t execute(const struct saved *r)
{
	_Atomic uint64_t *word = &qp.words[r->va / 8];
	uint64_t compare = r->compare;

	if (r->opcode == XA_OP_FETCH_ADD)
		return atomic_fetch_add(word, r->swap_add);
	atomic_compare_exchange_strong(word, &compare, r->swap_add);
	return compare;
}

static uint8_t check_access(const struct saved *r)
{
	if (r->opcode != XA_OP_FETCH_ADD && r->opcode != XA_OP_CMP_SWAP)
		return XA_SYN_NAK_INV_REQ;
	if (r->rkey != qp.rkey || r->va > qp.length - 8)
		return XA_SYN_NAK_REM_ACCESS;
	return r->va % 8 ? XA_SYN_NAK_INV_REQ : XA_SYN_ACK_UNLIMITED;
}

static bool repeat(const struct saved *r, struct reply *reply)
{
	const struct saved *s = &qp.saved[r->psn % DEPTH];

	if (s->psn != r->psn || s->opcode != r->opcode || s->va != r->va || s->rkey != r->rkey ||
	    s->swap_add != r->swap_add)
		return false;
	*reply = (struct reply){r->psn, XA_SYN_ACK_UNLIMITED, s->original};
	return true;
}

/* False: no answer. */
static bool serve(struct saved *r, struct reply *reply)
{
	int distance = xa_psn_diff(r->psn, qp.epsn);

	if (distance < 0)
		return repeat(r, reply);
	if (distance > 0) {
		*reply = (struct reply){qp.epsn, XA_SYN_NAK_SEQUENCE, 0};
		return !qp.nak_sent && (qp.nak_sent = true);
	}
	*reply = (struct reply){r->psn, check_access(r), 0};
	qp.nak_sent = false;
	qp.error = reply->syndrome != XA_SYN_ACK_UNLIMITED;
	if (qp.error)
		return true;
	r->original = reply->original = execute(r);
	qp.saved[r->psn % DEPTH] = *r;
	qp.epsn = xa_psn_add(qp.epsn, 1);
	qp.msn = xa_psn_add(qp.msn, 1);
	return true;
}

static size_t write_reply(const struct reply *reply, uint8_t *bth, const struct sockaddr_in *to)
{
	bool ack = reply->syndrome == XA_SYN_ACK_UNLIMITED;
	size_t len = ack ? XA_ATOMIC_ACK_LEN : XA_NAK_LEN;

	put32(bth, (uint32_t)(ack ? XA_OP_ATOMIC_ACKNOWLEDGE : XA_OP_ACKNOWLEDGE) << 24 | 0xffff);
	put32(bth + 4, qp.rqpn);
	put32(bth + 8, reply->psn);
	put32(bth + 12, (uint32_t)reply->syndrome << 24 | qp.msn);
	if (ack)
		put64(bth + 16, reply->original);
	udp_seal(bth, len, qp.own, to->sin_addr.s_addr, XA_ROCE_PORT);
	return len;
}

/* Turns a request into its reply. Returns the reply's length, 0 for none. */
static size_t answer(uint8_t *bth, size_t len, const struct sockaddr_in *from)
{
	struct saved request;
	struct reply reply;

	if (len != XA_ATOMIC_LEN || (get32(bth + 4) & XA_QPN_MASK) != qp.qpn || qp.error ||
	    bth[1] & XA_BTH_TVER || get16(bth + 2) != XA_PKEY_DEFAULT)
		return 0;
	if (!udp_sealed(bth, len, from->sin_addr.s_addr, qp.own, ntohs(from->sin_port)))
		return 0;
	request = (struct saved){
		.opcode = bth[0],
		.psn = get32(bth + 8) & XA_PSN_MASK,
		.va = get64(bth + 12),
		.rkey = get32(bth + 20),
		.swap_add = get64(bth + 24),
		.compare = get64(bth + 32),
	};
	return serve(&request, &reply) ? write_reply(&reply, bth, from) : 0;
}

/* Answers all that have come, and closes up over those that get none. */
static int answer_all(struct datagrams *d, int n)
{
	int replies = 0;

	for (int i = 0; i < n; i++) {
		size_t len = answer(d->bytes[i], d->headers[i].msg_len, &d->addresses[i]);

		if (!len)
			continue;
		if (replies != i) {
			memcpy(d->bytes[replies], d->bytes[i], len);
			d->addresses[replies] = d->addresses[i];
		}
		d->vectors[replies++].iov_len = len;
	}
	return replies;
}

static void run(int fd, bool busy)
{
	static struct datagrams d;

	datagrams_init(&d);
	for (;;) {
		int n = recvmmsg(fd, d.headers, UDP_BATCH, busy ? MSG_DONTWAIT : MSG_WAITFORONE,
				 NULL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			break;
		n = n > 0 ? answer_all(&d, n) : 0;
		if (n)
			sendmmsg(fd, d.headers, n, 0);
		for (int i = 0; i < n; i++)
			d.vectors[i].iov_len = DATAGRAM_MAX;
	}
	perror("udpserver");
}

int main(int argc, char **argv)
{
	bool busy = argc > 1 && !strcmp(argv[1], "--busy");
	char **arg = argv + busy;
	int fd;

	if (argc != 7 + busy) {
		fprintf(stderr, "Usage: udpserver [--busy] ADDRESS QPN PEER-QPN PSN RKEY WORDS\n");
		return 2;
	}
	fd = udp_open(arg[1]);
	if (fd < 0)
		return 1;
	inet_pton(AF_INET, arg[1], &qp.own);
	qp.qpn = strtoul(arg[2], NULL, 0);
	qp.rqpn = strtoul(arg[3], NULL, 0);
	qp.epsn = strtoul(arg[4], NULL, 0);
	qp.rkey = strtoul(arg[5], NULL, 0);
	qp.length = strtoull(arg[6], NULL, 0) * 8;
	qp.words = calloc(1, qp.length);
	if (qp.words)
		run(fd, busy);
	return 1;
}
