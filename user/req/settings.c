/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

#include "requester/engine.h"
#include "xatomic/wire.h"

enum { LONGEST_TIMEOUT = 31, DEFAULT_TIMEOUT = 14 };

#define FIELD(field) .offset = offsetof(struct req_settings, field)
#define QPN          .min = XA_QPN_GSI + 1, .max = XA_QPN_MULTICAST - 1
#define LONGEST_US   (4096ull * (1ull << LONGEST_TIMEOUT) / 1000)
#define DEFAULT_US   (4096ull * (1ull << DEFAULT_TIMEOUT) / 1000)

static const struct xa_option options[] = {
	{"dev", .metavar = "IFACE", .help = "Ethernet interface to send on", .parse = xa_opt_iface,
	 FIELD(dev)},
	{"netns", .metavar = "NAME", .help = "network namespace that the interface is in",
	 .parse = xa_opt_text, FIELD(netns)},
	{"peer", .metavar = "IP", .help = "address of the responder", .parse = xa_opt_ip,
	 FIELD(peer)},
	{"lqpn", .metavar = "N", .help = "QPN of this side, the responder's rqpn",
	 .parse = xa_opt_u32, FIELD(lqpn), QPN},
	{"rqpn", .metavar = "N", .help = "QPN of the responder, its lqpn", .parse = xa_opt_u32,
	 FIELD(rqpn), QPN},
	{"sq-psn", .metavar = "N", .help = "PSN of the first request, the responder's rq-psn",
	 .parse = xa_opt_u32, FIELD(sq_psn), .max = XA_PSN_MASK},
	{"rkey", .metavar = "KEY", .help = "rkey of the memory region", .parse = xa_opt_u32,
	 FIELD(rkey)},
	{"addr", .metavar = "VA", .help = "remote address of the word, in bytes",
	 .parse = xa_opt_u64, FIELD(addr)},
	{"add", .metavar = "N", .help = "value to add, modulo 2^64", .parse = xa_opt_u64,
	 FIELD(add)},
	{"compare", .metavar = "N", .help = "value that the word must hold to be changed",
	 .parse = xa_opt_u64, FIELD(compare)},
	{"swap", .metavar = "N", .help = "value that it gets then", .parse = xa_opt_u64,
	 FIELD(swap)},
	{"count", .metavar = "N", .help = "times that the operation is done (1)",
	 .parse = xa_opt_u64, FIELD(count), .min = 1},
	{"window", .metavar = "N", .help = "most operations in flight, up to the peer's depth (1)",
	 .parse = xa_opt_u32, FIELD(window), .min = 1, .max = XATOMIC_MAX_RD_ATOMIC},
	{"retry", .metavar = "N", .help = "retries without progress, 0-7 (7)", .parse = xa_opt_u32,
	 FIELD(retry), .max = 7},
	{"timeout", .metavar = "US",
	 .help = "retry timer in microseconds, rounded up to 4.096 * 2^n (67108)",
	 .parse = xa_opt_u64, FIELD(timeout_us), .min = 1, .max = LONGEST_US},
	{0},
};

static const struct xa_command commands[] = {
	{"fadd", "--addr --add", "fetch and add: adds to a remote 64-bit word", req_fadd},
	{"cswap", "--addr --compare --swap",
	 "compare and swap: replaces a remote 64-bit word if it holds a given value", req_cswap},
	{0},
};

const struct xa_program req_program = {
	"xatomic-req",
	"RDMA atomics over RoCEv2 from a host without an RDMA NIC; prints the value that the word "
	"held "
	"before each operation",
	options,
	commands,
	"--dev [--netns] --peer --lqpn --rqpn --sq-psn --rkey [--count] [--window] [--retry] "
	"[--timeout]",
};

const struct req_settings req_defaults = {
	.count = 1,
	.window = 1,
	.retry = 7,
	.timeout_us = DEFAULT_US,
};

uint8_t req_timeout(uint64_t us)
{
	uint8_t timeout = 1;

	while (xa_timeout_ns(timeout) / 1000 < us)
		timeout++;
	return timeout;
}
