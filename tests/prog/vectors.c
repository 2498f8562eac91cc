/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vectors.c - whole packets, byte by byte, in and out.
 *
 * Made by a program of another language and hand than everything else here, which reproduces the ICRCs of
 * five packets that were published: a CNP captured on a ConnectX-4 Lx and UC packets over IPv4 and IPv6
 * (both from the tests of scapy's contrib.roce), and two RoCE v1 packets of a ConnectX.
 */
#include "vectors.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "lib/icrc.h"
#include "../lib/packet.h"
#include "../lib/responder.h"
#include "../lib/tap.h"

enum {
	LQPN = 0x11,
	RQPN = 0x2f,
	RKEY = 0x1234ab,
	MRS = 0x2000,
	WORDS = 8,
	WORD = 1,
	ORIGINAL = 0x29
};
#define IOVA 0x100000000ull

/* From the IP header to the ICRC; MACs and EtherType are added. */
struct vector {
	const char *name;
	uint32_t epsn;
	bool has_region;
	const char *request;
	const char *reply;
};

static const struct vector vectors[] = {
	{"FETCH_ADD, IPv4", 0x0000fe, true,
	 "450000481c46400040110a5d0a0000010a000002c12312b7003400001400ffff00000011800000fe0000"
	 "000100000008001234ab00000000000000050000000000000000be630bbd",
	 "450000381c46400040110a6d0a0000020a000001c12312b7002400001200ffff0000002f000000fe1f00"
	 "00010000000000000029fc8da472"},
	{"FETCH_ADD of a region that is not there, IPv4", 0x0000fe, false,
	 "450000481c46400040110a5d0a0000010a000002c12312b7003400001400ffff00000011800000fe0000"
	 "000100000008001234ab00000000000000050000000000000000be630bbd",
	 "450000301c46400040110a750a0000020a000001c12312b7001c00001100ffff0000002f000000fe6200"
	 "0000b07eb346"},
	{"FETCH_ADD one ahead, IPv4", 0x0000fd, true,
	 "450000481c46400040110a5d0a0000010a000002c12312b7003400001400ffff00000011800000fe0000"
	 "000100000008001234ab00000000000000050000000000000000be630bbd",
	 "450000301c46400040110a750a0000020a000001c12312b7001c00001100ffff0000002f000000fd6000"
	 "0000ebcc1aab"},
	{"COMPARE_SWAP, IPv4", 0xffffff, true,
	 "450000481c46400040110a5d0a0000010a000002c12312b7003400001300ffff0000001180ffffff0000"
	 "000100000010001234ab11223344556677880000000000000000f70dee85",
	 "450000381c46400040110a6d0a0000020a000001c12312b7002400001200ffff0000002f00ffffff1f00"
	 "00010000000000000000cecd5bce"},
	{"READ, IPv4", 0x0000ff, true,
	 "4500003c1c46400040110a690a0000010a000002c12312b7002800000c00ffff00000011800000ff0000"
	 "000100000008001234ab00000008dbe2582c",
	 "450000301c46400040110a750a0000020a000001c12312b7001c00001100ffff0000002f000000ff6100"
	 "0000eef86669"},
	{"ATOMIC WRITE, IPv4", 0x000100, true,
	 "450000441c46400040110a610a0000010a000002c12312b7003000001d00ffff00000011800001000000"
	 "000100000008001234ab0000000877000000000000001b8b2fb4",
	 "450000301c46400040110a750a0000020a000001c12312b7001c00001100ffff0000002f000001006100"
	 "0000c7ec5e68"},
	{"FETCH_ADD, IPv6", 0x0000fe, true,
	 "6000000000341140fd000000000000000000000000000001fd000000000000000000000000000002c123"
	 "12b7003400001400ffff00000011800000fe0000000100000008001234ab000000000000000500000000"
	 "00000000cbb59b3f",
	 "6000000000241140fd000000000000000000000000000002fd000000000000000000000000000001c123"
	 "12b7002400001200ffff0000002f000000fe1f000001000000000000002929fdab56"},
	{"FETCH_ADD of a region that is not there, IPv6", 0x0000fe, false,
	 "6000000000341140fd000000000000000000000000000001fd000000000000000000000000000002c123"
	 "12b7003400001400ffff00000011800000fe0000000100000008001234ab000000000000000500000000"
	 "00000000cbb59b3f",
	 "60000000001c1140fd000000000000000000000000000002fd000000000000000000000000000001c123"
	 "12b7001c00001100ffff0000002f000000fe620000007825114b"},
	{"FETCH_ADD one ahead, IPv6", 0x0000fd, true,
	 "6000000000341140fd000000000000000000000000000001fd000000000000000000000000000002c123"
	 "12b7003400001400ffff00000011800000fe0000000100000008001234ab000000000000000500000000"
	 "00000000cbb59b3f",
	 "60000000001c1140fd000000000000000000000000000002fd000000000000000000000000000001c123"
	 "12b7001c00001100ffff0000002f000000fd600000002397b8a6"},
	{"COMPARE_SWAP, IPv6", 0xffffff, true,
	 "6000000000341140fd000000000000000000000000000001fd000000000000000000000000000002c123"
	 "12b7003400001300ffff0000001180ffffff0000000100000010001234ab112233445566778800000000"
	 "0000000082db7e07",
	 "6000000000241140fd000000000000000000000000000002fd000000000000000000000000000001c123"
	 "12b7002400001200ffff0000002f00ffffff1f00000100000000000000001bbd54ea"},
	{"READ, IPv6", 0x0000ff, true,
	 "6000000000281140fd000000000000000000000000000001fd000000000000000000000000000002c123"
	 "12b7002800000c00ffff00000011800000ff0000000100000008001234ab000000083d04f52b",
	 "60000000001c1140fd000000000000000000000000000002fd000000000000000000000000000001c123"
	 "12b7001c00001100ffff0000002f000000ff6100000026a3c464"},
	{"ATOMIC WRITE, IPv6", 0x000100, true,
	 "6000000000301140fd000000000000000000000000000001fd000000000000000000000000000002c123"
	 "12b7003000001d00ffff00000011800001000000000100000008001234ab000000087700000000000000"
	 "1927b329",
	 "60000000001c1140fd000000000000000000000000000002fd000000000000000000000000000001c123"
	 "12b7001c00001100ffff0000002f00000100610000000fb7fc65"},
};

static size_t frame_of(const char *hex, bool is_reply, uint8_t *frame)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	size_t len = PACKET_ETH_LEN;
	unsigned int byte;

	memcpy(frame, macs + (is_reply ? 6 : 0), 6);
	memcpy(frame + 6, macs + (is_reply ? 0 : 6), 6);
	memcpy(frame + 12, hex[0] == '4' ? "\x08\x00" : "\x86\xdd", 2);
	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		frame[len++] = byte;
	return len;
}

static void add_qp(struct responder *r, const struct vector *v)
{
	bool v4 = v->request[0] == '4';
	struct xa_qp qp = {
		.ctl = {.epsn = v->epsn, .state = XA_QP_RTR},
		.qpn = LQPN,
		.rqpn = RQPN,
		.access = XA_ACCESS_ATOMIC,
		.family = v4 ? XA_IPV4 : XA_IPV6,
		.depth = 1,
	};

	inet_pton(AF_INET6, v4 ? "::ffff:10.0.0.1" : "fd00::1", qp.peer);
	inet_pton(AF_INET6, v4 ? "::ffff:10.0.0.2" : "fd00::2", qp.local);
	xa_icrc_prefixes(&qp);
	*responder_qp(r, LQPN) = qp;
}

static int add_region(struct responder *r, bool valid)
{
	struct xa_mr mr = {
		.iova = IOVA,
		.length = 8 * WORDS,
		.rkey = RKEY,
		.state = valid ? XA_MR_VALID : XA_MR_FREE,
		.access = XA_ACCESS_ATOMIC,
	};

	return responder_set_mr(r, RKEY >> 8, &mr);
}

static void run_vector(struct responder *r, const struct vector *v, struct words *words)
{
	uint8_t request[PACKET_MAX], got[PACKET_MAX], reply[PACKET_MAX];
	size_t len = frame_of(v->request, false, request), got_len;
	size_t reply_len = frame_of(v->reply, true, reply);
	bool ok;

	memset(words->word, 0, 8 * WORDS);
	words->word[WORD] = ORIGINAL;
	add_qp(r, v);
	ok = !add_region(r, v->has_region);
	ok = ok && responder_run(r, request, len, got, &got_len) == XDP_TX;
	ok = ok && got_len == reply_len && tap_same("reply", reply, got, reply_len);
	tap_result(ok, "vector: %s", v->name);
}

void run_vectors(void)
{
	const struct responder_config config = {
		.max_qps = 64, .max_mrs = MRS, .replay_windows = 1024};
	struct responder r;
	struct words words;
	int err = responder_open(&r, &config);

	if (!err) {
		err = words_open(&words, WORDS) ?: responder_set_words(&r, RKEY >> 8, &words);
		for (size_t i = 0; !err && i < sizeof(vectors) / sizeof(vectors[0]); i++)
			run_vector(&r, &vectors[i], &words);
		words_close(&words);
		responder_close(&r);
	}
	if (err)
		tap_result(false, "vectors can be played: %s", strerror(-err));
}
