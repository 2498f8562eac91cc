/* SPDX-License-Identifier: BSD-2-Clause */
#include "responder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "packet.h"
#include "responder.skel.h"

enum { INNER_FLAGS = BPF_F_MMAPABLE | BPF_F_INNER_MAP };

static int fd_of(const struct bpf_map *map)
{
	return bpf_map__fd(map);
}

static size_t page_round(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static void *map_memory(int fd, size_t bytes)
{
	void *at = mmap(NULL, page_round(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int set_sizes(struct responder_bpf *skel, const struct responder_config *config)
{
	int err = bpf_map__set_max_entries(skel->maps.qps, config->max_qps);

	err = err ? err : bpf_map__set_max_entries(skel->maps.mrs, config->max_mrs);
	err = err ? err : bpf_map__set_max_entries(skel->maps.mr_words, config->max_mrs);
	err = err ? err : bpf_map__set_max_entries(skel->maps.replay, config->replay_windows);
	if (config->gsi_bytes)
		err = err ? err : bpf_map__set_max_entries(skel->maps.gsi, config->gsi_bytes);
	if (config->plain_replay)
		err = err ? err : bpf_map__set_type(skel->maps.replay, BPF_MAP_TYPE_HASH);
	skel->rodata->qp_mask = config->max_qps - 1;
	skel->rodata->unknown_qp = config->unknown_qp;
	return err;
}

static int take_event(void *ctx, void *data, size_t size)
{
	struct responder *r = ctx;

	if (size != sizeof(r->event))
		return -EPROTO;
	memcpy(&r->event, data, size);
	r->events++;
	return 0;
}

/* One at a time. */
static int take_gsi(void *ctx, void *data, size_t size)
{
	struct responder *r = ctx;

	if (size != sizeof(r->gsi))
		return -EPROTO;
	memcpy(&r->gsi, data, size);
	return -ECANCELED;
}

static int map_and_ring(struct responder *r)
{
	size_t qps_bytes = r->config.max_qps * sizeof(struct xa_qp);

	r->qps = map_memory(fd_of(r->skel->maps.qps), qps_bytes);
	if (!r->qps)
		return -errno;
	r->ring = ring_buffer__new(fd_of(r->skel->maps.events), take_event, r, NULL);
	r->gsi_ring = ring_buffer__new(fd_of(r->skel->maps.gsi), take_gsi, r, NULL);
	return r->ring && r->gsi_ring ? 0 : -errno;
}

/* The whole file in memory, to be freed; NULL with errno. */
static void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	void *data = NULL;
	struct stat st;

	if (!file)
		return NULL;
	if (!fstat(fileno(file), &st))
		data = malloc(st.st_size);
	if (data && fread(data, st.st_size, 1, file) != 1) {
		free(data);
		data = NULL;
	}
	*size = st.st_size;
	fclose(file);
	return data;
}

struct responder_bpf *responder_open_object(const char *path, void **object)
{
	struct responder_bpf *skel = calloc(1, sizeof(*skel));
	size_t size;

	*object = read_file(path, &size);
	if (!skel || !*object || responder_bpf__create_skeleton(skel))
		goto fail;
	skel->skeleton->data = *object;
	skel->skeleton->data_sz = size;
	if (!bpf_object__open_skeleton(skel->skeleton, NULL))
		return skel;
fail:
	responder_bpf__destroy(skel);
	return NULL;
}

static struct responder_bpf *open_skeleton(struct responder *r)
{
	const char *path = getenv("XATOMIC_TEST_OBJECT");

	return path ? responder_open_object(path, &r->object) : responder_bpf__open();
}

int responder_open(struct responder *r, const struct responder_config *config)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->config = *config;
	r->cpus = libbpf_num_possible_cpus();
	r->skel = open_skeleton(r);
	if (!r->skel) {
		err = -errno;
		free(r->object);
		return err;
	}
	err = set_sizes(r->skel, config);
	err = err ? err : responder_bpf__load(r->skel);
	err = err ? err : map_and_ring(r);
	if (err)
		responder_close(r);
	return err;
}

void responder_close(struct responder *r)
{
	ring_buffer__free(r->ring);
	ring_buffer__free(r->gsi_ring);
	if (r->qps)
		munmap(r->qps, page_round(r->config.max_qps * sizeof(struct xa_qp)));
	responder_bpf__destroy(r->skel);
	free(r->object);
	memset(r, 0, sizeof(*r));
}

int responder_prog_fd(const struct responder *r)
{
	return bpf_program__fd(r->skel->progs.xatomic_rx);
}

struct xa_qp *responder_qp(struct responder *r, uint32_t qpn)
{
	return &r->qps[qpn & (r->config.max_qps - 1)];
}

int responder_set_mr(struct responder *r, uint32_t index, const struct xa_mr *mr)
{
	return bpf_map_update_elem(fd_of(r->skel->maps.mrs), &index, mr, BPF_ANY);
}

int responder_get_mr(struct responder *r, uint32_t index, struct xa_mr *mr)
{
	return bpf_map_lookup_elem(fd_of(r->skel->maps.mrs), &index, mr);
}

int words_open(struct words *words, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = INNER_FLAGS);
	int err;

	words->count = count;
	words->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "words", sizeof(uint32_t), sizeof(uint64_t),
				   count, &opts);
	if (words->fd < 0)
		return words->fd;
	words->word = map_memory(words->fd, count * sizeof(uint64_t));
	if (words->word)
		return 0;
	err = -errno;
	close(words->fd);
	return err;
}

void words_close(struct words *words)
{
	munmap(words->word, page_round(words->count * sizeof(uint64_t)));
	close(words->fd);
}

int responder_set_words(struct responder *r, uint32_t index, const struct words *words)
{
	int outer = fd_of(r->skel->maps.mr_words), err;

	if (words)
		return bpf_map_update_elem(outer, &index, &words->fd, BPF_ANY);
	err = bpf_map_delete_elem(outer, &index);
	return err == -ENOENT ? 0 : err;
}

int responder_set_window(struct responder *r, uint32_t qpn, const struct xa_window *window)
{
	return bpf_map_update_elem(fd_of(r->skel->maps.replay), &qpn, window, BPF_ANY);
}

int responder_get_window(struct responder *r, uint32_t qpn, struct xa_window *window)
{
	return bpf_map_lookup_elem(fd_of(r->skel->maps.replay), &qpn, window);
}

int responder_del_window(struct responder *r, uint32_t qpn)
{
	int err = bpf_map_delete_elem(fd_of(r->skel->maps.replay), &qpn);

	return err == -ENOENT ? 0 : err;
}

int responder_set_agent(struct responder *r, uint64_t alive_until_ns)
{
	struct xa_agent agent = {.alive_until_ns = alive_until_ns};
	uint32_t first = 0;

	return bpf_map_update_elem(fd_of(r->skel->maps.agent), &first, &agent, BPF_ANY);
}

int responder_gsi(struct responder *r)
{
	int err = ring_buffer__consume(r->gsi_ring);

	return err == -ECANCELED ? 1 : err;
}

int responder_await_gsi(struct responder *r)
{
	int err = ring_buffer__poll(r->gsi_ring, 1000);

	return err == -ECANCELED ? 1 : err;
}

int responder_run(struct responder *r, const uint8_t *frame, size_t len, uint8_t *out,
		  size_t *out_len)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = len, .data_out = out,
		    .data_size_out = PACKET_MAX, .repeat = 1);
	int err = bpf_prog_test_run_opts(responder_prog_fd(r), &opts);

	if (err)
		return err;
	*out_len = opts.data_size_out;
	return opts.retval;
}

int responder_stats(struct responder *r, struct xa_stats *stats)
{
	struct xa_stats per_cpu[r->cpus];
	uint64_t *sum = (uint64_t *)stats;
	uint32_t key = 0;
	int err = bpf_map_lookup_elem(fd_of(r->skel->maps.stats), &key, per_cpu);

	memset(stats, 0, sizeof(*stats));
	for (int cpu = 0; !err && cpu < r->cpus; cpu++)
		for (size_t i = 0; i < sizeof(*stats) / sizeof(*sum); i++)
			sum[i] += ((uint64_t *)&per_cpu[cpu])[i];
	return err;
}

int responder_events(struct responder *r)
{
	int err;

	r->events = 0;
	err = ring_buffer__consume(r->ring);
	return err < 0 ? err : (int)r->events;
}

int responder_await_events(struct responder *r)
{
	int err;

	r->events = 0;
	err = ring_buffer__poll(r->ring, 1000);
	return err < 0 ? err : (int)r->events;
}
