/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target on the host: the BPF program's source compiled natively, over plain memory, so that the
 * sanitizers see every access that it makes. There is one instance, of the sizes that the source names.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/bpf.h>
#include "bpf/responder.bpf.c"
#include "target.h"

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

enum { WINDOWS = 2 * MODEL_QPS, ARENA = 8192, HEADROOM = 256, TAILROOM = 256 };

struct native_words {
	bool mapped;
	uint32_t count;
	uint64_t words[MODEL_WORDS];
};

struct native_window {
	uint32_t qpn; /* 0: free */
	struct xa_window window;
};

struct target {
	struct target_limits limits;
	struct xa_qp qps[XA_DEF_QPS];
	struct xa_mr mrs[XA_DEF_MRS];
	struct native_words words[MODEL_MRS];
	struct native_window windows[WINDOWS];
	struct xa_stats stats;
	struct xa_event event;
	bool has_event;
	struct xa_agent agent;
	struct xa_gsi_packet gsi[TARGET_GSI_ROOM];
	unsigned gsi_waiting;
	uint8_t *arena; /* below 4 GB: struct xdp_md has 32-bit pointers */
};

static struct target target;

/* ---- helpers ---- */

static struct native_window *find_window(uint32_t qpn)
{
	for (int i = 0; i < WINDOWS; i++)
		if (target.windows[i].qpn == qpn)
			return &target.windows[i];
	return NULL;
}

static struct native_words *find_words(uint32_t index)
{
	for (int i = 0; i < MODEL_MRS; i++)
		if (target.limits.mr_index[i] == index && target.words[i].mapped)
			return &target.words[i];
	return NULL;
}

void *bpf_map_lookup_elem(void *map, const void *key)
{
	uint32_t index = *(const uint32_t *)key;
	struct native_words *inner = map;
	struct native_window *window;

	if (map == &qps)
		return index < XA_DEF_QPS ? &target.qps[index] : NULL;
	if (map == &mrs)
		return index < target.limits.max_mrs ? &target.mrs[index] : NULL;
	if (map == &mr_words)
		return find_words(index);
	if (map == &stats)
		return index == 0 ? &target.stats : NULL;
	if (map == &agent)
		return index == 0 ? &target.agent : NULL;
	if (map == &replay) {
		window = index ? find_window(index) : NULL;
		return window ? &window->window : NULL;
	}
	return index < inner->count ? &inner->words[index] : NULL;
}

long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	uint32_t qpn = *(const uint32_t *)key;
	struct native_window *window = find_window(qpn);

	if (map != &replay)
		return -EINVAL;
	if (window && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!window)
		window = find_window(0);
	if (!window)
		return -ENOMEM;
	window->qpn = qpn;
	memcpy(&window->window, value, sizeof(window->window));
	return 0;
}

long bpf_loop(__u32 count, void *body, void *ctx, __u64 flags)
{
	long (*step)(__u32 i, void *ctx) = body;
	__u32 i = 0;

	(void)flags;
	while (i < count && step(i++, ctx) == 0)
		;
	return i;
}

__u64 bpf_ktime_get_ns(void)
{
	return 1;
}

void *bpf_ringbuf_reserve(void *ringbuf, __u64 size, __u64 flags)
{
	(void)flags;
	if (ringbuf == &events)
		return size == sizeof(target.event) ? &target.event : NULL;
	if (size != sizeof(target.gsi[0]) || target.gsi_waiting == TARGET_GSI_ROOM)
		return NULL;
	return &target.gsi[target.gsi_waiting];
}

void bpf_ringbuf_submit(void *record, __u64 flags)
{
	(void)flags;
	if (record == &target.event)
		target.has_event = true;
	else
		target.gsi_waiting++;
}

void bpf_ringbuf_discard(void *record, __u64 flags)
{
	(void)record;
	(void)flags;
}

static uint8_t *frame_at(__u32 address)
{
	return (uint8_t *)(uintptr_t)address;
}

/* A NAK is longer than the shortest request: a frame may also grow. */
long bpf_xdp_adjust_tail(struct xdp_md *ctx, int delta)
{
	if (delta > TAILROOM || (int)(ctx->data_end - ctx->data) + delta < ETH_HLEN)
		return -EINVAL;
	if (delta > 0) {
		ASAN_UNPOISON_MEMORY_REGION(frame_at(ctx->data_end), delta);
		memset(frame_at(ctx->data_end), 0, delta);
	} else {
		ASAN_POISON_MEMORY_REGION(frame_at(ctx->data_end + delta), -delta);
	}
	ctx->data_end += delta;
	return 0;
}

long bpf_xdp_load_bytes(struct xdp_md *ctx, __u32 offset, void *to, __u32 len)
{
	if (offset > ctx->data_end - ctx->data || len > ctx->data_end - ctx->data - offset)
		return -EINVAL;
	memcpy(to, frame_at(ctx->data + offset), len);
	return 0;
}

/* ---- what the fuzzer drives ---- */

struct target *target_open(const struct target_limits *limits, const char **why)
{
	if (limits->max_qps != XA_DEF_QPS || limits->unknown_qp != XA_UNKNOWN_QP_PASS) {
		*why = "the native program has no configuration but its defaults";
		return NULL;
	}
	target.limits = *limits;
	target.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (target.arena == MAP_FAILED) {
		*why = strerror(errno);
		return NULL;
	}
	return &target;
}

void target_close(struct target *t)
{
	munmap(t->arena, ARENA);
}

void target_reset(struct target *t)
{
	memset(t->qps, 0, sizeof(t->qps));
	memset(t->mrs, 0, sizeof(t->mrs));
	memset(&t->stats, 0, sizeof(t->stats));
	t->has_event = false;
	t->gsi_waiting = 0;
	target_agent(t, false);
	for (int i = 0; i < WINDOWS; i++)
		t->windows[i].qpn = 0;
	for (unsigned i = 0; i < MODEL_MRS; i++)
		target_mr_map(t, i, t->limits.mr_words[i]);
}

struct xa_qp *target_qp(struct target *t, uint32_t index)
{
	return &t->qps[index];
}

bool target_window_get(struct target *t, uint32_t qpn, struct xa_window *window)
{
	const struct native_window *found = find_window(qpn);

	(void)t;
	if (found)
		memcpy(window, &found->window, sizeof(*window));
	return found;
}

void target_window_put(struct target *t, uint32_t qpn, const struct xa_window *window)
{
	(void)t;
	bpf_map_update_elem(&replay, &qpn, window, BPF_ANY);
}

void target_window_del(struct target *t, uint32_t qpn)
{
	struct native_window *found = find_window(qpn);

	(void)t;
	if (found)
		found->qpn = 0;
}

void target_mr_get(struct target *t, unsigned slot, struct xa_mr *mr)
{
	*mr = t->mrs[t->limits.mr_index[slot]];
}

void target_mr_put(struct target *t, unsigned slot, const struct xa_mr *mr)
{
	t->mrs[t->limits.mr_index[slot]] = *mr;
}

uint64_t *target_mr_words(struct target *t, unsigned slot)
{
	return t->words[slot].mapped ? t->words[slot].words : NULL;
}

/* What is behind the last word is poisoned. */
void target_mr_map(struct target *t, unsigned slot, uint32_t words)
{
	struct native_words *mr = &t->words[slot];

	ASAN_UNPOISON_MEMORY_REGION(mr->words, sizeof(mr->words));
	memset(mr->words, 0, sizeof(mr->words));
	ASAN_POISON_MEMORY_REGION(mr->words + words, (MODEL_WORDS - words) * sizeof(uint64_t));
	mr->count = words;
	mr->mapped = true;
}

void target_mr_unmap(struct target *t, unsigned slot)
{
	t->words[slot].mapped = false;
}

void target_stats(struct target *t, struct xa_stats *sum)
{
	*sum = t->stats;
}

bool target_event(struct target *t, struct xa_event *event)
{
	bool has_event = t->has_event;

	*event = t->event;
	t->has_event = false;
	return has_event;
}

void target_agent(struct target *t, bool alive)
{
	t->agent.alive_until_ns = alive ? UINT64_MAX : 1;
}

bool target_gsi(struct target *t, struct xa_gsi_packet *packet)
{
	if (!t->gsi_waiting)
		return false;
	*packet = t->gsi[0];
	memmove(t->gsi, t->gsi + 1, --t->gsi_waiting * sizeof(t->gsi[0]));
	return true;
}

/* Everything around the frame is poisoned. */
void target_run(struct target *t, const uint8_t *frame, size_t len, struct target_reply *reply)
{
	uint8_t *data = t->arena + HEADROOM;
	struct xdp_md ctx = {
		.data = (uintptr_t)data,
		.data_end = (uintptr_t)data + len,
		.ingress_ifindex = 1,
	};

	ASAN_UNPOISON_MEMORY_REGION(t->arena, ARENA);
	memcpy(data, frame, len);
	ASAN_POISON_MEMORY_REGION(t->arena, HEADROOM);
	ASAN_POISON_MEMORY_REGION(data + len, ARENA - HEADROOM - len);
	reply->action = xatomic_rx(&ctx);
	reply->len = ctx.data_end - ctx.data;
	memcpy(reply->frame, frame_at(ctx.data), reply->len);
}
