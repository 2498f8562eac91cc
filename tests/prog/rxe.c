/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rxe.c - the program must answer as rdma_rxe did, but for what tests/data/rxe.txt marks, and for these
 * fields, in which any value is right and the two differ by choice:
 *
 * MACs: rxe asks its neighbour table, we swap.
 * IPv4 identification: rxe counts, we keep the request's. The header checksum follows.
 * ToS: rxe sends the connection's, we keep the request's DSCP.
 * UDP source port: rxe hashes its QPN, we keep the request's.
 * MigReq: rxe sends 0, we copy it, as ConnectX sends 1.
 *
 * The ICRC that belongs to their reply with those fields changed must be ours.
 */
#include "rxe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/icrc.h"
#include "../lib/packet.h"
#include "../lib/responder.h"
#include "../lib/tap.h"

#define DATA "tests/data/rxe.txt"

enum { QPS = 64, MRS = 64, REGION_WORDS = 1024, DEPTH = 16, PDN = 3, LINE = 4096 };
enum { L3 = PACKET_ETH_LEN, UDP = L3 + 20, BTH = UDP + PACKET_UDP_LEN, AETH = BTH + 12 };

struct frame {
	uint8_t bytes[PACKET_MAX];
	size_t len; /* 0: none */
};

struct exchange {
	struct frame request;
	struct frame theirs;
	char difference[128]; /* "" when we must answer the same */
};

struct rxe {
	struct responder responder;
	struct words words[2];
	struct exchange exchange; /* being read */
	in_addr_t peer, local;
	char name[64]; /* of the case; "" before the first */
	bool ok;       /* so far, in this case */
};

static void read_hex(const char *text, struct frame *frame)
{
	unsigned int byte;

	for (frame->len = 0; sscanf(text, "%2x", &byte) == 1; text += 2)
		frame->bytes[frame->len++] = byte;
}

static int add_region(struct rxe *rxe, int which, uint32_t rkey, uint64_t va)
{
	enum { ALL = XA_ACCESS_READ | XA_ACCESS_WRITE | XA_ACCESS_ATOMIC };
	struct xa_mr mr = {
		.iova = va,
		.length = 8 * REGION_WORDS,
		.rkey = rkey,
		.pdn = PDN,
		.state = XA_MR_VALID,
		.access = which ? ALL & ~XA_ACCESS_ATOMIC : ALL,
	};

	return responder_set_mr(&rxe->responder, rkey >> 8, &mr)
		       ?: responder_set_words(&rxe->responder, rkey >> 8, &rxe->words[which]);
}

static int read_hosts(struct rxe *rxe, const char *text)
{
	unsigned long long va;
	unsigned int rkey[2];
	char peer[32], local[32];

	if (sscanf(text, "%31s %31s %x %x %llx", peer, local, &rkey[0], &rkey[1], &va) != 5)
		return -EINVAL;
	rxe->peer = inet_addr(peer);
	rxe->local = inet_addr(local);
	return add_region(rxe, 0, rkey[0], va) ?: add_region(rxe, 1, rkey[1], va);
}

static int read_case(struct rxe *rxe, const char *text)
{
	static const struct xa_window empty;
	struct xa_qp qp = {
		.ctl.state = XA_QP_RTR,
		.pdn = PDN,
		.family = XA_IPV4,
		.depth = DEPTH,
		.peer = {[10] = 0xff, 0xff},
		.local = {[10] = 0xff, 0xff},
	};
	unsigned int rqpn, access;

	if (sscanf(text, "%63s %x %x %x %u", rxe->name, &qp.qpn, &rqpn, &qp.ctl.epsn, &access) != 5)
		return -EINVAL;
	qp.rqpn = rqpn;
	qp.access = access;
	memcpy(qp.peer + XA_GID_V4_BYTE, &rxe->peer, 4);
	memcpy(qp.local + XA_GID_V4_BYTE, &rxe->local, 4);
	xa_icrc_prefixes(&qp);
	*responder_qp(&rxe->responder, qp.qpn) = qp;
	for (int i = 0; i < 2; i++)
		memset(rxe->words[i].word, 0, 8 * REGION_WORDS);
	rxe->ok = true;
	return responder_set_window(&rxe->responder, qp.qpn, &empty);
}

/* Their reply with what may differ taken from ours, and the ICRC that belongs to it. */
static void adapt(struct frame *theirs, const struct frame *ours)
{
	uint32_t icrc;

	memcpy(theirs->bytes, ours->bytes, L3);
	theirs->bytes[L3 + 1] = ours->bytes[L3 + 1];
	memcpy(theirs->bytes + L3 + 4, ours->bytes + L3 + 4, 2);
	memcpy(theirs->bytes + L3 + 10, ours->bytes + L3 + 10, 2);
	memcpy(theirs->bytes + UDP, ours->bytes + UDP, 2);
	theirs->bytes[BTH + 1] &= ~XA_BTH_MIGREQ;
	theirs->bytes[BTH + 1] |= ours->bytes[BTH + 1] & XA_BTH_MIGREQ;
	icrc = htole32(packet_icrc(theirs->bytes + L3, theirs->len - L3 - XA_ICRC_LEN));
	memcpy(theirs->bytes + theirs->len - XA_ICRC_LEN, &icrc, XA_ICRC_LEN);
}

static bool same_reply(struct frame *theirs, const struct frame *ours)
{
	if (theirs->len != ours->len) {
		tap_note("reply of %zu bytes, rxe's had %zu", ours->len, theirs->len);
		return false;
	}
	if (!ours->len)
		return true;
	adapt(theirs, ours);
	return tap_same("reply", theirs->bytes, ours->bytes, ours->len);
}

/* What a line with an exclamation mark says is right here. */
static bool as_marked(const char *difference, const struct frame *ours)
{
	if (!strncmp(difference, "silent ", 7))
		return !ours->len;
	return ours->len && ours->bytes[BTH] == XA_OP_ACKNOWLEDGE &&
	       ours->bytes[AETH] == strtoul(difference, NULL, 16);
}

static void play(struct rxe *rxe)
{
	struct exchange *x = &rxe->exchange;
	struct frame ours;
	int verdict;

	if (!x->request.len)
		return;
	verdict = responder_run(&rxe->responder, x->request.bytes, x->request.len, ours.bytes,
				&ours.len);
	if (verdict != XDP_TX)
		ours.len = 0;
	if (x->difference[0])
		rxe->ok &= as_marked(x->difference, &ours);
	else
		rxe->ok &= same_reply(&x->theirs, &ours);
	*x = (struct exchange){0};
}

static void end_case(struct rxe *rxe)
{
	play(rxe);
	if (rxe->name[0])
		tap_result(rxe->ok, "answers as rxe does: %s", rxe->name);
}

static int read_line(struct rxe *rxe, const char *line)
{
	struct exchange *x = &rxe->exchange;

	if (!strncmp(line, "hosts ", 6)) {
		end_case(rxe);
		rxe->name[0] = '\0';
		return read_hosts(rxe, line + 6);
	}
	if (!strncmp(line, "case ", 5)) {
		end_case(rxe);
		return read_case(rxe, line + 5);
	}
	if (line[0] == '>') {
		play(rxe);
		read_hex(line + 2, &x->request);
	} else if (line[0] == '<') {
		read_hex(line + 2, &x->theirs);
	} else if (line[0] == '!') {
		snprintf(x->difference, sizeof(x->difference), "%.100s", line + 2);
	}
	return 0;
}

static int play_file(struct rxe *rxe)
{
	FILE *file = fopen(DATA, "r");
	char line[LINE];
	int err = 0;

	if (!file)
		return -errno;
	while (!err && fgets(line, sizeof(line), file))
		err = read_line(rxe, line);
	end_case(rxe);
	fclose(file);
	return err;
}

void run_rxe(void)
{
	const struct responder_config config = {
		.max_qps = QPS, .max_mrs = MRS, .replay_windows = 1024};
	struct rxe rxe = {0};
	int err = responder_open(&rxe.responder, &config);

	if (!err) {
		err = words_open(&rxe.words[0], REGION_WORDS) ?:
		      words_open(&rxe.words[1], REGION_WORDS) ?: play_file(&rxe);
		words_close(&rxe.words[0]);
		words_close(&rxe.words[1]);
		responder_close(&rxe.responder);
	}
	if (err)
		tap_result(false, "exchanges with rxe can be read and played: %s", strerror(-err));
}
