// SPDX-License-Identifier: BSD-2-Clause
/*
 * wiretap.c - prints a line per RoCEv2 packet at the requesters' ends of the lab's veths, in the order of
 * cause and effect, and loses packets that it is told to lose. For the demo and the tests.
 *
 * Its XDP program takes the place of the one on the interface and gives it back at the end; "# tapping"
 * on stdout says that everything is in place. It ends by SIGTERM or SIGINT, after what the kernel has
 * seen by then is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "decode.h"
#include "wiretap.skel.h"
#include "xatomic/wire.h"

#define MAX_TAPS 16

struct tap {
	char netns[64], iface[IFNAMSIZ], name[32];
	struct wiretap_bpf *bpf;
	int netns_fd, ifindex;
	int before; /* the XDP program that was there, -1: none */
	bool xdp, egress;
	unsigned long seen[2], lost[2], shown, hidden;
};

static struct tap taps[MAX_TAPS];
static int tap_count;
static struct wiretap_plan plans[WIRETAP_PLANS];
static int plan_count;
static unsigned long head = -1ul;
static const char *remote = "resp";
static FILE *pcap;
static uint64_t first_ns;
static int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
static volatile sig_atomic_t stop;

static void print_record(const struct wiretap_record *r, const struct tap *t)
{
	const char *from = r->way == WIRETAP_OUT ? t->name : remote;
	const char *to = r->way == WIRETAP_OUT ? remote : t->name;

	printf("%10.3f ms  %-5s -> %-5s  ", (r->time_ns - first_ns) / 1e6, from, to);
	decode_print(r);
	puts(r->lost ? "  LOST" : "");
}

/* The classic format with nanoseconds, so that any decoder reads it; lost packets are in it too. */
static void write_pcap(const struct wiretap_record *r)
{
	uint64_t ns = r->time_ns + realtime_offset;
	uint32_t kept = r->length < WIRETAP_SNAP ? r->length : WIRETAP_SNAP;
	uint32_t packet[4] = {ns / 1000000000, ns % 1000000000, kept, r->length};

	fwrite(packet, sizeof(packet), 1, pcap);
	fwrite(r->frame, kept, 1, pcap);
}

static bool open_pcap(const char *path)
{
	const uint16_t version[2] = {2, 4};
	const uint32_t magic = 0xa1b23c4d, rest[4] = {0, 0, WIRETAP_SNAP, 1 /* Ethernet */};

	pcap = fopen(path, "we");
	if (!pcap)
		return false;
	fwrite(&magic, sizeof(magic), 1, pcap);
	fwrite(version, sizeof(version), 1, pcap);
	fwrite(rest, sizeof(rest), 1, pcap);
	return true;
}

static int on_record(void *unused __attribute__((unused)), void *data, size_t size)
{
	const struct wiretap_record *r = data;
	struct tap *t;

	if (size < sizeof(*r) || r->tap >= (uint32_t)tap_count)
		return 0;
	t = &taps[r->tap];
	first_ns = first_ns ?: r->time_ns;
	t->seen[r->way]++;
	t->lost[r->way] += r->lost;
	if (t->shown < head) {
		t->shown++;
		print_record(r, t);
	} else {
		t->hidden++;
	}
	if (pcap)
		write_pcap(r);
	return 0;
}

static bool enter(struct tap *t)
{
	return setns(t->netns_fd, CLONE_NEWNET) == 0;
}

static void fail(const struct tap *t, const char *what, int error)
{
	fprintf(stderr, "wiretap: cannot %s on %s in namespace %s: %s\n", what, t->iface, t->netns,
		strerror(error));
}

/* All taps write into the ring and follow the plan of the first. */
static int load(struct tap *t, struct wiretap_bpf *first)
{
	int err;

	t->bpf = wiretap_bpf__open();
	if (!t->bpf)
		return -errno;
	t->bpf->rodata->tap = t - taps;
	if (first) {
		err = bpf_map__reuse_fd(t->bpf->maps.packets, bpf_map__fd(first->maps.packets));
		err = err ?: bpf_map__reuse_fd(t->bpf->maps.plan, bpf_map__fd(first->maps.plan));
		if (err)
			return err;
	}
	return wiretap_bpf__load(t->bpf);
}

static int attach_xdp(struct tap *t)
{
	__u32 id = 0;
	int err = bpf_xdp_query_id(t->ifindex, XDP_FLAGS_DRV_MODE, &id);

	if (err)
		return err;
	if (id) {
		t->before = bpf_prog_get_fd_by_id(id);
		if (t->before < 0)
			return t->before;
	}
	err = bpf_xdp_attach(t->ifindex, bpf_program__fd(t->bpf->progs.wiretap_in),
			     XDP_FLAGS_DRV_MODE, NULL);
	t->xdp = !err;
	return err;
}

static int attach_egress(struct tap *t)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = t->ifindex, .attach_point = BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = bpf_program__fd(t->bpf->progs.wiretap_out),
		    .handle = 1, .priority = 1, .flags = BPF_TC_F_REPLACE);
	int err = bpf_tc_hook_create(&hook);

	if (err && err != -EEXIST)
		return err;
	err = bpf_tc_attach(&hook, &opts);
	t->egress = !err;
	return err;
}

static bool attach(struct tap *t, struct wiretap_bpf *first)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), "/run/netns/%.63s", t->netns);
	t->netns_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (t->netns_fd < 0 || !enter(t))
		return fail(t, "enter the namespace", errno), false;
	t->ifindex = if_nametoindex(t->iface);
	if (!t->ifindex)
		return fail(t, "find the interface", errno), false;
	err = load(t, first);
	if (err)
		return fail(t, "load the BPF program", -err), false;
	err = attach_xdp(t);
	if (err)
		return fail(t, "attach at ingress", -err), false;
	err = attach_egress(t);
	if (err)
		return fail(t, "attach at egress", -err), false;
	return true;
}

/* The interface may be gone by now, so there is nothing to do about an error. */
static void detach(struct tap *t)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = t->ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	if (t->netns_fd >= 0 && enter(t)) {
		if (t->xdp)
			bpf_xdp_attach(t->ifindex, t->before, XDP_FLAGS_DRV_MODE, NULL);
		if (t->egress)
			bpf_tc_hook_destroy(&hook);
	}
	wiretap_bpf__destroy(t->bpf);
	if (t->before >= 0)
		close(t->before);
	if (t->netns_fd >= 0)
		close(t->netns_fd);
}

static bool set_plans(void)
{
	for (__u32 i = 0; i < (__u32)plan_count; i++)
		if (bpf_map_update_elem(bpf_map__fd(taps[0].bpf->maps.plan), &i, &plans[i],
					BPF_ANY))
			return fail(&taps[0], "set the packets to lose", errno), false;
	return true;
}

static void print_totals(void)
{
	for (struct tap *t = taps; t < taps + tap_count; t++) {
		printf("# %s: %lu sent, %lu lost; %lu received, %lu lost", t->name,
		       t->seen[WIRETAP_OUT], t->lost[WIRETAP_OUT], t->seen[WIRETAP_IN],
		       t->lost[WIRETAP_IN]);
		printf(t->hidden ? "; %lu packets not shown\n" : "\n", t->hidden);
		if (t->bpf->bss->missed)
			printf("# %s: %llu packets missed\n", t->name, t->bpf->bss->missed);
	}
}

static void on_signal(int number __attribute__((unused)))
{
	stop = 1;
}

static bool listen_to_ring(void)
{
	struct ring_buffer *ring;

	ring = ring_buffer__new(bpf_map__fd(taps[0].bpf->maps.packets), on_record, NULL, NULL);
	if (!ring)
		return fail(&taps[0], "read the ring buffer", errno), false;
	puts("# tapping");
	fflush(stdout);
	while (!stop) {
		ring_buffer__poll(ring, 50);
		fflush(stdout);
	}
	ring_buffer__consume(ring);
	print_totals();
	ring_buffer__free(ring);
	return true;
}

static bool run(void)
{
	for (struct tap *t = taps; t < taps + tap_count; t++)
		if (!attach(t, t == taps ? NULL : taps[0].bpf))
			return false;
	return set_plans() && listen_to_ring();
}

/* NETNS/IFACE=NAME */
static bool parse_tap(const char *text)
{
	struct tap *t = &taps[tap_count];

	if (tap_count == MAX_TAPS ||
	    sscanf(text, "%63[^/]/%15[^=]=%31s", t->netns, t->iface, t->name) != 3)
		return false;
	t->netns_fd = t->before = -1;
	tap_count++;
	return true;
}

/* OPCODE:PSN[:TIMES], the opcode by its name in the output or as a number. */
static bool parse_plan(const char *text)
{
	struct wiretap_plan *p = &plans[plan_count];
	char name[32];
	int opcode;

	if (plan_count == WIRETAP_PLANS)
		return false;
	p->times = 1;
	if (sscanf(text, "%31[^:]:%i:%u", name, (int *)&p->psn, &p->times) < 2 ||
	    p->psn > XA_PSN_MASK)
		return false;
	opcode = decode_opcode(name);
	p->opcode = opcode;
	plan_count++;
	return opcode >= 0;
}

static int usage(int status)
{
	fprintf(status ? stderr : stdout,
		"Usage: wiretap [OPTION]... NETNS/IFACE=NAME...\n"
		"  -l, --lose OPCODE:PSN[:TIMES]  lose the first TIMES (default 1) such packets\n"
		"  -n, --head N                   print only the first N packets of each "
		"interface\n"
		"  -r, --remote NAME              what to call the other end (default resp)\n"
		"  -w, --pcap FILE                also write the packets to FILE, lost ones too\n");
	return status;
}

static bool parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"lose", required_argument, NULL, 'l'},   {"head", required_argument, NULL, 'n'},
		{"remote", required_argument, NULL, 'r'}, {"pcap", required_argument, NULL, 'w'},
		{"help", no_argument, NULL, 'h'},         {},
	};
	int c;

	while ((c = getopt_long(argc, argv, "l:n:r:w:h", options, NULL)) != -1) {
		if (c == 'h')
			exit(usage(0));
		if (c == '?' || (c == 'l' && !parse_plan(optarg)) ||
		    (c == 'w' && !open_pcap(optarg)))
			return false;
		if (c == 'n')
			head = strtoul(optarg, NULL, 0);
		if (c == 'r')
			remote = optarg;
	}
	while (optind < argc)
		if (!parse_tap(argv[optind++]))
			return false;
	return tap_count > 0;
}

static int silent(enum libbpf_print_level level __attribute__((unused)),
		  const char *format __attribute__((unused)), va_list args __attribute__((unused)))
{
	return 0;
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	bool ok;

	if (!parse(argc, argv))
		return usage(2);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	libbpf_set_print(silent);
	realtime_offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	ok = run();
	for (struct tap *t = taps; t < taps + tap_count; t++)
		detach(t);
	if (pcap && fclose(pcap))
		ok = false;
	return ok ? 0 : 1;
}
