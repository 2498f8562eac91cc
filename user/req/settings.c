/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

#include "requester/engine.h"
#include "xatomic/wire.h"

enum { LONGEST_TIMEOUT = 31, DEFAULT_TIMEOUT = 14, LONGEST_RUN = 1000000 };
enum { DEFAULT_OUTS = 16, DEFAULT_ITERS = 5000, DEFAULT_LAT_ITERS = 1000 };

#define FIELD(field) .offset = offsetof(struct req_settings, field)
#define QPN          .min = XA_QPN_GSI + 1, .max = XA_QPN_MULTICAST - 1
#define LONGEST_US   (4096ull * (1ull << LONGEST_TIMEOUT) / 1000)
#define DEFAULT_US   (4096ull * (1ull << DEFAULT_TIMEOUT) / 1000)
#define NO_PSN       UINT32_MAX
#define TARGET       "--dev --peer --lqpn --rqpn --sq-psn --rkey --addr "
#define CONNECT      "--connect [--mr] [--offset] [--rkey] [--dev] "
#define OFTEN        "[--count] [--window]"

static const char *const transports[] = {"af_packet", "af_xdp", "auto", NULL};
static const char *const ops[] = {"fadd", "cswap", NULL};

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
	{"rkey", .metavar = "KEY", .help = "rkey of the memory region", .parse = xa_opt_u64,
	 FIELD(rkey), .max = UINT32_MAX},
	{"connect", .metavar = "HOST[:PORT]",
	 .help = "let RDMA-CM tell queue pairs, PSN and rkey; port of RDMA_PS_TCP, 18516",
	 .parse = xa_opt_text, FIELD(connect)},
	{"mr", .metavar = "NAME", .help = "memory region to ask for (the first that is offered)",
	 .parse = xa_opt_name, FIELD(mr)},
	{"offset", .metavar = "BYTES",
	 .help = "place of the word in the memory region (0); the address itself where none is "
		 "told",
	 .parse = xa_opt_u64, FIELD(offset)},
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
	{"transport", .metavar = "KIND",
	 .help = "af_packet, af_xdp or auto: how packets are sent (af_packet; perf: auto)",
	 .parse = xa_opt_word, FIELD(transport), .words = transports},
	{"op", .metavar = "OP", .help = "operation: fadd or cswap (fadd)", .parse = xa_opt_word,
	 FIELD(op), .words = ops},
	{"lat", .help = "measure latency: one operation in flight per queue pair", FIELD(lat)},
	{"qp", 'q', "N", "queue pairs to use (all of --qp-file, else 1)", xa_opt_u32, FIELD(qps),
	 .min = 1, .max = XA_QPN_MASK},
	{"outs", 'o', "N", "operations in flight per queue pair, up to the peer's depth (16)",
	 xa_opt_u32, FIELD(outs), .min = 1, .max = XATOMIC_MAX_RD_ATOMIC},
	{"iters", 'n', "N", "operations of each queue pair (5000; with --lat 1000)", xa_opt_u64,
	 FIELD(iters), .min = 1},
	{"duration", 'D', "SECONDS", "run for a time instead of a number of operations", xa_opt_u64,
	 FIELD(seconds), .min = 1, .max = LONGEST_RUN},
	{"qp-file", .metavar = "FILE",
	 .help = "queue pairs as 'xatomic -j qp show' prints them, instead of --lqpn --rqpn "
		 "--sq-psn",
	 .parse = xa_opt_text, FIELD(qp_file)},
	{"stride", .metavar = "BYTES",
	 .help = "distance from one queue pair's word to the next one's (0: all use one word)",
	 .parse = xa_opt_u64, FIELD(stride), .multiple = sizeof(uint64_t)},
	{"verify", .help = "check the values that come back, and the words in the end",
	 FIELD(verify)},
	{0},
};

static const struct xa_command commands[] = {
	{"fadd", TARGET "--add " OFTEN, "fetch and add: adds to a remote 64-bit word", req_fadd},
	{"fadd", CONNECT "--add " OFTEN, "the same on a connection that is made for it", req_fadd},
	{"cswap", TARGET "--compare --swap " OFTEN,
	 "compare and swap: replaces a remote 64-bit word if it holds a given value", req_cswap},
	{"cswap", CONNECT "--compare --swap " OFTEN, "the same on a connection that is made for it",
	 req_cswap},
	{"perf",
	 "--dev [--qp-file] [--peer] [--lqpn] [--rqpn] [--sq-psn] --rkey --addr [--op] [--lat] "
	 "[--qp] "
	 "[--outs] [--iters] [--duration] [--stride] [--add] [--compare] [--swap] [--verify]",
	 "measures the rate or the latency of operations", req_perf},
	{0},
};

const struct xa_program req_program = {
	"xatomic-req",
	"RDMA atomics over RoCEv2 from a host without an RDMA NIC; fadd and cswap print the value "
	"that the word held before each operation",
	options,
	commands,
	"[--netns] [--transport] [--retry] [--timeout]",
};

const struct req_settings req_defaults = {
	.count = 1,
	.window = 1,
	.retry = 7,
	.timeout_us = DEFAULT_US,
	.transport = -1,
	.peer = {.family = XA_IPV6}, /* the unspecified address: none given */
	.sq_psn = NO_PSN,
	.rkey = REQ_NO_RKEY,
	.add = 1,
};

uint8_t req_timeout(uint64_t us)
{
	uint8_t timeout = 1;

	while (xa_timeout_ns(timeout) / 1000 < us)
		timeout++;
	return timeout;
}

/* The first thing that is wrong, as a sentence; NULL: none. */
static const char *find_fault(const struct req_settings *settings)
{
	bool is_one = settings->lqpn || settings->rqpn || settings->sq_psn != NO_PSN;

	if (settings->qp_file && is_one)
		return "--lqpn, --rqpn and --sq-psn name one queue pair and --qp-file several; "
		       "give either";
	if (!settings->qp_file && (!req_has_peer(settings) || !settings->lqpn || !settings->rqpn ||
				   settings->sq_psn == NO_PSN))
		return "the queue pair is missing; give --peer, --lqpn, --rqpn and --sq-psn, or "
		       "--qp-file";
	if (!settings->qp_file && settings->qps > 1)
		return "--qp wants more queue pairs than the one that --lqpn and --rqpn name; name "
		       "them by --qp-file";
	if (settings->iters && settings->seconds)
		return "--iters and --duration both say when to end; give one of them";
	if (settings->lat && settings->outs > 1)
		return "--lat has one operation in flight per queue pair; leave out --outs";
	return NULL;
}

int req_check_perf(struct req_settings *settings)
{
	const char *fault = find_fault(settings);

	if (fault) {
		xa_fail("%s", fault);
		return XA_EXIT_USAGE;
	}
	if (!settings->outs)
		settings->outs = settings->lat ? 1 : DEFAULT_OUTS;
	if (!settings->iters)
		settings->iters = settings->lat ? DEFAULT_LAT_ITERS : DEFAULT_ITERS;
	return 0;
}
