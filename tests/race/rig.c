/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lib/attach.h"
#include "lib/bpffs.h"
#include "responder.skel.h"
#include "tests/lib/responder.h"
#include "xatomic/error.h"

#define DIR_OF_INSTANCE XA_DEFAULT_BPFFS "/race"

static const uint8_t peer[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
static const uint8_t local[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
static int cpus[RACERS];

void race_must(int status, const char *what)
{
	if (!status)
		return;
	printf("Bail out! %s: %s; %s\n", what, strerror(errno), xatomic_error());
	exit(1);
}

static bool find_cpus(void)
{
	cpu_set_t set;
	int found = 0;

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE && found < RACERS; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[found++] = cpu;
	return found == RACERS;
}

bool race_init(const char **why)
{
	*why = "it takes two CPUs to race";
	if (!find_cpus())
		return false;
	*why = "namespaces and a bpffs of one's own need root";
	return geteuid() == 0 && !unshare(CLONE_NEWNS | CLONE_NEWNET) &&
	       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("bpf", XA_DEFAULT_BPFFS, "bpf", 0, NULL);
}

/* The program of another object file, over the maps of the instance. */
static void load_variant(struct race_rig *rig, const char *path)
{
	struct responder_bpf *skel = responder_open_object(path, &rig->object);

	race_must(!skel, path);
	for (int i = 0; i < XA_MAP_COUNT; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, xa_map_names[i]);

		race_must(bpf_map__reuse_fd(map, rig->instance.maps[i]), xa_map_names[i]);
	}
	skel->rodata->qp_mask = rig->instance.config.max_qps - 1;
	skel->rodata->unknown_qp = rig->instance.config.unknown_qp;
	race_must(responder_bpf__load(skel), path);
	rig->variant = skel;
	rig->prog = bpf_program__fd(skel->progs.xatomic_rx);
}

void race_open(struct race_rig *rig, const struct race_limits *limits, const char *object)
{
	struct xa_config config = {
		.layout_version = XA_LAYOUT_VERSION,
		.max_qps = limits->max_qps,
		.max_mrs = limits->max_mrs,
		.replay_windows = limits->replay_windows,
	};

	if (!config.replay_windows)
		config.replay_windows =
			xa_default_windows(config.max_qps, libbpf_num_possible_cpus());
	memset(rig, 0, sizeof(*rig));
	race_must(xa_instance_create(DIR_OF_INSTANCE, &config), "an instance");
	race_must(xa_instance_open_dir(&rig->instance, "race", DIR_OF_INSTANCE), "the instance");
	rig->prog = rig->instance.prog;
	if (!object)
		object = getenv("XATOMIC_TEST_OBJECT");
	if (object)
		load_variant(rig, object);
}

void race_close(struct race_rig *rig)
{
	responder_bpf__destroy(rig->variant);
	free(rig->object);
	xa_instance_close(&rig->instance);
	race_must(xa_remove_tree(DIR_OF_INSTANCE), "removal of the instance");
}

void race_add_qp(struct race_rig *rig, uint32_t rqpn, uint32_t rq_psn, struct xa_qp *qp)
{
	struct xa_qp_request request = {
		.rqpn = rqpn,
		.rq_psn = rq_psn,
		.depth = RACE_DEPTH,
		.access = XA_ACCESS_ATOMIC,
	};

	request.peer.family = request.local.family = XA_IPV4;
	memcpy(request.peer.gid, peer, sizeof(peer));
	memcpy(request.local.gid, local, sizeof(local));
	race_must(xa_qp_add(&rig->instance, &request, qp), "qp add");
}

void race_add_mr(struct race_rig *rig, const char *name, uint32_t words, struct race_mr *mr)
{
	struct xa_mr_request request = {
		.name = name,
		.words = words,
		.access = XA_ACCESS_ATOMIC,
		.owner = -1,
		.group = -1,
		.perm = 0600,
	};
	char path[PATH_MAX];

	race_must(xa_mr_add(&rig->instance, &request, &mr->mr), "mr add");
	race_must(xa_instance_path(&rig->instance, "mr", name, path), "the MR's pin");
	mr->fd = bpf_obj_get(path);
	race_must(mr->fd < 0, path);
	mr->word = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, mr->fd, 0);
	race_must(mr->word == MAP_FAILED, "the MR's words");
}

void race_forget_mr(struct race_mr *mr)
{
	munmap(mr->word, sysconf(_SC_PAGESIZE));
	close(mr->fd);
}

void race_packet(struct packet *p, uint32_t qpn, const struct race_mr *mr)
{
	packet_init(p, XA_IPV4);
	memcpy(p->src, peer, sizeof(peer));
	memcpy(p->dst, local, sizeof(local));
	p->qpn = qpn;
	p->rkey = mr->mr.rkey;
	p->swap_add = 1;
}

int race_run(int prog, const uint8_t *frame, size_t len, struct answer *answer)
{
	uint8_t reply[PACKET_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = len,
		    .data_out = reply, .data_size_out = sizeof(reply), .repeat = 1);

	race_must(bpf_prog_test_run_opts(prog, &opts), "BPF_PROG_TEST_RUN");
	if (opts.retval == XDP_TX)
		answer_parse(reply, answer);
	return opts.retval;
}

int race_ask(const struct race_rig *rig, const struct packet *packet, struct answer *answer)
{
	uint8_t frame[PACKET_MAX];
	size_t len = packet_build(packet, frame);

	return race_run(rig->prog, frame, len, answer);
}

void race_start(pthread_t *thread, int racer, void *(*body)(void *), void *data)
{
	pthread_attr_t attr;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpus[racer], &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	race_must(pthread_create(thread, &attr, body, data), "a thread");
	pthread_attr_destroy(&attr);
}

uint64_t race_count(const struct race_rig *rig, enum xa_class class, enum xa_reason reason)
{
	int possible = libbpf_num_possible_cpus();
	struct xa_stats per_cpu[possible];
	uint32_t first = 0;
	uint64_t sum = 0;

	race_must(bpf_map_lookup_elem(rig->instance.maps[XA_MAP_STATS], &first, per_cpu), "stats");
	for (int cpu = 0; cpu < possible; cpu++)
		sum += ((uint64_t *)&per_cpu[cpu])[class * XA_REASON_COUNT + reason];
	return sum;
}
