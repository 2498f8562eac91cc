/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * program.c - the command line of xatomic.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lib/bpffs.h"
#include "xatomic/wire.h"

#define AT(field) .offset = offsetof(struct settings, field)

static const struct xa_option options[] = {
	{"instance", 'i', "NAME", "which responder, default 'default'", xa_opt_name,
	 AT(place.name)},
	{"bpffs", .metavar = "DIR",
	 .help = "BPF file system, default $XATOMIC_BPFFS or /sys/fs/bpf", .parse = xa_opt_text,
	 AT(place.bpffs)},
	{"IFACE", .help = "name of the interface", .parse = xa_opt_iface, AT(iface)},
	{"netns", .metavar = "NAME", .help = "network namespace of the interface",
	 .parse = xa_opt_text, AT(netns)},
	{"mode", .metavar = "MODE",
	 .help = "auto, native or generic; auto takes native where it can", .parse = xa_opt_word,
	 AT(mode), .words = xa_mode_names},
	{"max-qps", .metavar = "N",
	 .help = "most queue pairs, rounded up to a power of two, default 1024; set by the first "
		 "attach",
	 .parse = xa_opt_u32, AT(limits.max_qps), .min = 1, .max = XA_MAX_QPS},
	{"max-mrs", .metavar = "N",
	 .help = "most memory regions, default 1024; set by the first attach", .parse = xa_opt_u32,
	 AT(limits.max_mrs), .min = 1, .max = XA_MAX_MRS},
	{"replay-windows", .metavar = "N",
	 .help = "how many queue pairs keep saved results; by default all do; set by the first "
		 "attach",
	 .parse = xa_opt_u32, AT(limits.replay_windows), .min = 1, .max = 1 << 24},
	{"unknown-qp", .metavar = "WHAT",
	 .help = "pass or drop packets for unknown QPNs, default pass; set by the first attach",
	 .parse = xa_opt_word, AT(limits.unknown_qp), .words = xa_unknown_qp_names},
	{"NAME", .help = "name of the memory region, 1 to 63 of A-Z a-z 0-9 _ -",
	 .parse = xa_opt_name, AT(name)},
	{"words", .metavar = "N", .help = "size of the memory region in words of 8 bytes",
	 .parse = xa_opt_u32, AT(words), .min = 1},
	{"iova", .metavar = "ADDR", .help = "address of the first byte as peers give it, default 0",
	 .parse = xa_opt_u64, AT(iova), .multiple = 8},
	{"pd", .metavar = "N",
	 .help = "protection domain, default 0; a QP reaches MRs of its own only",
	 .parse = xa_opt_u32, AT(pd)},
	{"access", .metavar = "LIST", .help = "some of atomic,read,write, default atomic",
	 .parse = cli_parse_access, AT(access)},
	{"owner", .metavar = "USER[:GROUP]", .help = "who may map the words, default root",
	 .parse = xa_opt_text, AT(owner)},
	{"perm", .metavar = "MODE", .help = "permissions of the words in octal, default 600",
	 .parse = cli_parse_perm, AT(perm)},
	{"OFFSET", .help = "bytes from the first word, a multiple of 8", .parse = xa_opt_u64,
	 AT(offset), .multiple = 8},
	{"VALUE", .help = "value of the word", .parse = xa_opt_u64, AT(value)},
	{"offset", .metavar = "BYTES", .help = "where to begin, a multiple of 8, default 0",
	 .parse = xa_opt_u64, AT(offset), .multiple = 8},
	{"count", .metavar = "WORDS", .help = "how many words, default all to the end",
	 .parse = xa_opt_u64, AT(count), .min = 1, .max = UINT32_MAX},
	{"LQPN", .help = "local queue pair number", .parse = xa_opt_u32, AT(lqpn), .min = 1,
	 .max = XA_QPN_MASK},
	{"peer", .metavar = "IP", .help = "address of the requester", .parse = xa_opt_ip, AT(peer)},
	{"rqpn", .metavar = "N", .help = "the requester's queue pair number", .parse = xa_opt_u32,
	 AT(rqpn), .min = XA_QPN_GSI + 1, .max = XA_QPN_MULTICAST - 1},
	{"local", .metavar = "IP",
	 .help = "own address; needed when the interfaces have several of the peer's family",
	 .parse = xa_opt_ip, AT(local)},
	{"rq-psn", .metavar = "N", .help = "first PSN of the requester, default random",
	 .parse = xa_opt_u32, AT(rq_psn), .max = XA_PSN_MASK},
	{"depth", .metavar = "N",
	 .help = "how many results are kept for duplicates, 1 to 128, default 16, rounded up to a "
		 "power of two",
	 .parse = xa_opt_u32, AT(depth), .min = 1, .max = XA_MAX_DEPTH},
	{"FILE", .help = "file of saved memory regions", .parse = xa_opt_text, AT(file)},
	{"watch", .metavar = "SECONDS",
	 .help = "print rates again and again, by default every second", .parse = cli_parse_watch,
	 AT(watch), .min = 1, .max = 86400, .value_optional = true},
	{"openmetrics", .help = "print in the OpenMetrics text format", AT(openmetrics)},
	{"config", .metavar = "FILE",
	 .help = "read the options of this command from a file as well, a line each, 'NAME VALUE'",
	 .parse = cli_parse_config, AT(config)},
	{"offer", .metavar = "OFFER",
	 .help = "'MR to PREFIX[,PREFIX...] [access LIST] [depth N]': who may have a memory "
		 "region; "
		 "more of them go into the file; default nobody any",
	 .parse = cli_parse_offer, AT(serve.policy)},
	{"ports", .metavar = "LIST",
	 .help = "ports of RDMA_PS_TCP to accept connections on, default 18516",
	 .parse = cli_parse_ports, AT(serve.ports)},
	{"perftest-port", .metavar = "PORT",
	 .help = "TCP port for ib_atomic_lat and ib_atomic_bw, 0: none, default 18515",
	 .parse = xa_opt_u32, AT(serve.perftest_port), .max = 65535},
	{"qps-per-peer", .metavar = "N", .help = "most queue pairs of one peer, default 64",
	 .parse = xa_opt_u32, AT(serve.qps_per_peer), .min = 1, .max = XA_MAX_QPS},
	{"half-open", .metavar = "N",
	 .help = "most connections that wait for the peer's answer, default 64",
	 .parse = xa_opt_u32, AT(serve.half_open), .min = 1, .max = XA_MAX_QPS},
	{"requests-per-second", .metavar = "N",
	 .help = "most connection requests that are looked at, default 200", .parse = xa_opt_u32,
	 AT(serve.requests_per_second), .min = 1, .max = 1000 * 1000},
	{"sessions", .metavar = "N", .help = "most perftest clients at once, default 16",
	 .parse = xa_opt_u32, AT(serve.sessions), .min = 1, .max = 512},
	{"user", .metavar = "NAME", .help = "whom to run as once all is open, default root",
	 .parse = cli_parse_user, AT(user)},
	{0},
};

/* Commands of one group stand together. */
static const struct xa_command commands[] = {
	{"attach",
	 "IFACE [--netns] [--mode] [--max-qps] [--max-mrs] [--replay-windows] [--unknown-qp]",
	 "puts the responder on an interface, and makes the instance when it is not there",
	 cli_attach},
	{"detach", "IFACE [--netns]", "takes the responder off an interface", cli_detach},
	{"destroy", "", "takes the responder off all interfaces and drops its MRs, QPs and pins",
	 cli_destroy},
	{"upgrade", "", "puts this xatomic's program under the instance while packets go on",
	 cli_upgrade},
	{"show", "", "shows the instance as ibv_devinfo shows a NIC", cli_show},
	{"mr add", "NAME --words [--iova] [--pd] [--access] [--owner] [--perm]",
	 "registers a memory region", cli_mr_add},
	{"mr show", "[NAME]", "shows memory regions", cli_mr_show},
	{"mr del", "NAME", "deregisters a memory region", cli_mr_del},
	{"mr dump", "NAME [--offset] [--count]", "prints words of a memory region", cli_mr_dump},
	{"mr set", "NAME OFFSET VALUE", "stores a word of a memory region", cli_mr_set},
	{"qp add", "--peer --rqpn [--local] [--rq-psn] [--pd] [--depth] [--access]",
	 "makes a queue pair that is ready to receive", cli_qp_add},
	{"qp show", "[LQPN]", "shows queue pairs with their counters and last NAK", cli_qp_show},
	{"qp del", "LQPN", "takes a queue pair down", cli_qp_del},
	{"qp reset", "LQPN [--rq-psn]",
	 "makes a queue pair ready to receive again, also after an error", cli_qp_reset},
	{"save", "FILE", "writes all memory regions with their words and rkeys to a file",
	 cli_save},
	{"restore", "FILE", "registers the memory regions of a file as they were", cli_restore},
	{"stat", "[--watch] [--openmetrics]",
	 "counts packets by what they asked for and how they ended", cli_stat},
	{"monitor", "", "prints errors of queue pairs as they come", cli_monitor},
	{"serve",
	 "[--config] [--netns] [--offer] [--ports] [--perftest-port] [--qps-per-peer] "
	 "[--half-open] "
	 "[--requests-per-second] [--sessions] [--user]",
	 "connects requesters that come by RDMA-CM or perftest, until it is ended", cli_serve},
	{0},
};

const struct xa_program cli_program = {"xatomic",
				       "manages a responder for RDMA atomics that runs in XDP",
				       options, commands, "[--instance] [--bpffs]"};

void cli_defaults(struct settings *settings)
{
	const char *bpffs = getenv("XATOMIC_BPFFS");

	memset(settings, 0, sizeof(*settings));
	settings->place.name = "default";
	settings->place.bpffs = bpffs && *bpffs ? bpffs : XA_DEFAULT_BPFFS;
	settings->limits.unknown_qp = -1;
	settings->access = XA_ACCESS_ATOMIC;
	settings->perm = 0600;
	settings->count = CLI_ALL;
	settings->rq_psn = CLI_RANDOM_PSN;
	settings->depth = 16;
	settings->serve = (struct cm_config){
		.ports = {.list = {CM_DEF_PORT}, .count = 1},
		.perftest_port = CM_DEF_PERFTEST_PORT,
		.qps_per_peer = 64,
		.half_open = 64,
		.requests_per_second = 200,
		.sessions = 16,
	};
}
