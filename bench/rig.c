/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/rig.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/frames.h"
#include "lib/icrc.h"
#include "responder.skel.h"

enum { GENERATION = 5, KEY = 0xab, LRU_BATCH = 128, MRS_AT_ONCE = 4096 };

static int fail(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	return -1;
}

/* The namespace has no name, so that nothing is left of it when the process ends, however it ends. */
static int make_links(struct rig *rig)
{
	char command[512], name[16];

	if (unshare(CLONE_NEWNET))
		return fail("cannot make a network namespace; run as root");
	for (int i = 0; i < RIG_PAIRS; i++) {
		snprintf(command, sizeof(command),
			 "ip link add resp%d address 02:00:00:00:01:01 type veth "
			 "peer name node%d address 02:00:00:00:01:02 && "
			 "ip link set resp%d addrgenmode none && ip link set node%d addrgenmode "
			 "none && "
			 "ip link set resp%d up && ip link set node%d up",
			 i, i, i, i, i, i);
		if (system(command))
			return fail("cannot make a veth pair");
		snprintf(name, sizeof(name), "resp%d", i);
		rig->resp_if[i] = if_nametoindex(name);
		snprintf(name, sizeof(name), "node%d", i);
		rig->node_if[i] = if_nametoindex(name);
	}
	return 0;
}

static int load_responder(struct rig *rig)
{
	uint32_t windows = rig->max_qps + LRU_BATCH * (libbpf_num_possible_cpus() + 1);
	struct responder_bpf *responder = responder_bpf__open();

	rig->responder = responder;
	if (!responder)
		return fail("cannot open the responder");
	bpf_map__set_max_entries(responder->maps.qps, rig->max_qps);
	bpf_map__set_max_entries(responder->maps.mrs, rig->max_mrs);
	bpf_map__set_max_entries(responder->maps.mr_words, rig->max_mrs);
	bpf_map__set_max_entries(responder->maps.replay, windows);
	responder->rodata->qp_mask = rig->max_qps - 1;
	return responder_bpf__load(responder) ? fail("cannot load the responder") : 0;
}

int rig_open(struct rig *rig, uint32_t max_qps, uint32_t max_mrs)
{
	memset(rig, 0, sizeof(*rig));
	rig->max_qps = max_qps;
	rig->max_mrs = max_mrs;
	if (make_links(rig) || load_responder(rig))
		return -1;
	rig->qps = mmap(NULL, max_qps * sizeof(struct xa_qp), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(rig->responder->maps.qps), 0);
	if (rig->qps == MAP_FAILED)
		return fail("cannot map the QPs");
	return 0;
}

void rig_close(struct rig *rig)
{
	munmap(rig->qps, rig->max_qps * sizeof(struct xa_qp));
	responder_bpf__destroy(rig->responder);
}

static int create_words(uint64_t words)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "bench_mr", 4, 8, words, &opts);
}

/* A change of mr_words waits for an RCU grace period, so many are put in with one call. */
static int publish_words(struct rig *rig, uint32_t first, const int *fds, uint32_t count)
{
	uint32_t indices[MRS_AT_ONCE];

	for (uint32_t i = 0; i < count; i++)
		indices[i] = first + i;
	return bpf_map_update_batch(bpf_map__fd(rig->responder->maps.mr_words), indices, fds,
				    &count, NULL);
}

static int describe_mr(struct rig *rig, uint32_t index, uint64_t words)
{
	struct xa_mr value = {
		.length = words * 8,
		.rkey = index << 8 | KEY,
		.state = XA_MR_VALID,
		.access = XA_ACCESS_ATOMIC,
		.key_step = 1,
		.name = "bench",
	};

	return bpf_map_update_elem(bpf_map__fd(rig->responder->maps.mrs), &index, &value, 0);
}

/* Returns the words' file descriptor when there is one MR, else 0; -1 on failure. */
static int register_mrs(struct rig *rig, uint32_t first, uint32_t count, uint64_t words)
{
	int fds[MRS_AT_ONCE], failed = 0;
	uint32_t made = 0;

	while (!failed && made < count) {
		fds[made] = create_words(words);
		failed = fds[made] < 0 || describe_mr(rig, first + made, words);
		made++;
	}
	failed = failed || publish_words(rig, first, fds, count);
	if (failed)
		return fail("cannot register an MR");
	for (uint32_t i = 0; count > 1 && i < count; i++)
		close(fds[i]);
	return count > 1 ? 0 : fds[0];
}

int rig_add_mrs(struct rig *rig, uint32_t first, uint32_t count, uint64_t words,
		struct rig_mrs *mrs)
{
	*mrs = (struct rig_mrs){.rig = rig, .first = first, .count = count, .words = words};
	for (uint32_t i = 0; i < count; i += MRS_AT_ONCE) {
		uint32_t some = count - i < MRS_AT_ONCE ? count - i : MRS_AT_ONCE;

		mrs->fd = register_mrs(rig, first + i, some, words);
		if (mrs->fd < 0)
			return -1;
	}
	if (count > 1)
		return 0;
	mrs->mapped = mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_SHARED, mrs->fd, 0);
	return mrs->mapped == MAP_FAILED ? fail("cannot map the words of an MR") : 0;
}

/* Words of many MRs stay until others take their place: taking each out would wait as long as putting in. */
void rig_del_mrs(struct rig_mrs *mrs)
{
	const struct responder_bpf *responder = mrs->rig->responder;
	struct xa_mr none = {0};

	for (uint32_t i = 0; i < mrs->count; i++) {
		uint32_t index = mrs->first + i;

		bpf_map_update_elem(bpf_map__fd(responder->maps.mrs), &index, &none, 0);
	}
	if (!mrs->mapped)
		return;
	bpf_map_delete_elem(bpf_map__fd(responder->maps.mr_words), &mrs->first);
	munmap(mrs->mapped, mrs->words * 8);
	close(mrs->fd);
}

uint32_t rig_rkey(const struct rig_mrs *mrs)
{
	return mrs->first << 8 | KEY;
}

/* So many MRs would need more open files than a process may have: each is opened by its id. */
static uint64_t unmapped_word(const struct rig_mrs *mrs, uint32_t mr, uint64_t word)
{
	uint32_t slot = mrs->first + mr, index = word, id;
	uint64_t value = 0;
	int fd;

	if (bpf_map_lookup_elem(bpf_map__fd(mrs->rig->responder->maps.mr_words), &slot, &id))
		return 0;
	fd = bpf_map_get_fd_by_id(id);
	bpf_map_lookup_elem(fd, &index, &value);
	close(fd);
	return value;
}

uint64_t rig_word(const struct rig_mrs *mrs, uint32_t mr, uint64_t word)
{
	return mrs->mapped ? mrs->mapped[word] : unmapped_word(mrs, mr, word);
}

uint64_t rig_sum(const struct rig_mrs *mrs)
{
	uint64_t sum = 0;

	for (uint32_t mr = 0; mr < mrs->count; mr++)
		for (uint64_t word = 0; word < mrs->words; word++)
			sum += rig_word(mrs, mr, word);
	return sum;
}

uint32_t rig_qpn(const struct rig *rig, uint32_t index)
{
	return GENERATION * rig->max_qps + index;
}

int rig_add_qp(struct rig *rig, uint32_t index, enum xa_family family, uint8_t depth)
{
	static const struct xa_window empty;
	struct xa_qp qp = {
		.ctl.state = XA_QP_RTR,
		.qpn = rig_qpn(rig, index),
		.rqpn = rig_qpn(rig, index),
		.access = XA_ACCESS_ATOMIC,
		.family = family,
		.depth = depth,
		.qpn_step = 1,
	};

	frame_gid(family, 1, qp.peer);
	frame_gid(family, 0, qp.local);
	xa_icrc_prefixes(&qp);
	if (bpf_map_update_elem(bpf_map__fd(rig->responder->maps.replay), &qp.qpn, &empty, 0) ||
	    bpf_map_update_elem(bpf_map__fd(rig->responder->maps.qps), &index, &qp, 0))
		return fail("cannot make a QP");
	return 0;
}

uint64_t rig_count(struct rig *rig, enum xa_class class, enum xa_reason reason)
{
	int cpus = libbpf_num_possible_cpus();
	struct xa_stats *stats = calloc(cpus, sizeof(*stats));
	uint32_t zero = 0;
	uint64_t sum = 0;

	if (stats && !bpf_map_lookup_elem(bpf_map__fd(rig->responder->maps.stats), &zero, stats))
		for (int cpu = 0; cpu < cpus; cpu++)
			sum += ((uint64_t *)&stats[cpu])[class * XA_REASON_COUNT + reason];
	free(stats);
	return sum;
}

int rig_attach(int ifindex, int prog_fd)
{
	if (bpf_xdp_attach(ifindex, prog_fd, XDP_FLAGS_DRV_MODE, NULL) && prog_fd >= 0)
		return fail("cannot attach an XDP program to a veth");
	return 0;
}
