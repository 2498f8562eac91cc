// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * wire.bpf.c - a wire that loses, corrupts, duplicates and reorders packets.
 *
 * It runs at the ingress hook of both ends of a patch of wire in a namespace of its own and passes on what
 * comes in at one end to the other. What happens to the nth packet that comes in at a port is a function of
 * the seed, the port and n alone.
 *
 * BPF can clone a packet but not keep one. So a frame that is held back waits as bytes in a map, and later
 * takes the place of a packet that has been sent as a clone already.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "tests/hostile/wire.h"

struct held {
	__u64 due; /* the packet that it goes out behind; 0: empty */
	__u32 len;
	__u32 overtakes; /* it is a packet, not the copy of one */
	__u8 bytes[WIRE_FRAME_MAX];
};

struct lane {
	struct bpf_spin_lock lock;
	__u32 pad;
	__u64 packets;
	struct held held[WIRE_HELD];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRE_PORTS);
	__type(key, __u32);
	__type(value, struct lane);
} lanes SEC(".maps");

struct wire_port ports[WIRE_PORTS];
struct wire_settings settings;
struct wire_counters counters[WIRE_WAYS];

struct fate {
	__u64 state; /* of the generator (splitmix64) */
	bool lose, corrupt, duplicate, near, reorder;
};

static __always_inline __u64 draw(struct fate *fate)
{
	__u64 z = fate->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static __always_inline bool chance(struct fate *fate, __u32 of_2_32)
{
	return (draw(fate) & 0xffffffff) < of_2_32;
}

static __always_inline void decide(struct fate *fate, __u32 port, __u64 n)
{
	fate->state = settings.seed + ((__u64)port << 48) + n;
	fate->state = draw(fate);
	fate->lose = chance(fate, settings.lose);
	fate->corrupt = chance(fate, settings.corrupt);
	fate->duplicate = chance(fate, settings.duplicate);
	fate->near = chance(fate, 1u << 31);
	fate->reorder = chance(fate, settings.reorder);
}

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

static __always_inline void flip_bits(struct __sk_buff *skb, struct fate *fate)
{
	__u64 flips = 1 + draw(fate) % 3;

	for (__u64 i = 0; i < 3 && i < flips; i++) {
		__u64 random = draw(fate);
		__u32 at = (__u32)(random >> 32) % skb->len;
		__u8 byte;

		if (bpf_skb_load_bytes(skb, at, &byte, 1))
			return;
		byte ^= 1 << (random & 7);
		bpf_skb_store_bytes(skb, at, &byte, 1, 0);
	}
}

/* The verifier must see the bounds of a length on the register that is passed. */
static __always_inline bool is_frame(__u32 *len)
{
	asm volatile("" : "+r"(*len));
	return *len >= 14 && *len <= WIRE_FRAME_MAX;
}

static __always_inline bool hold(struct __sk_buff *skb, struct lane *lane, struct fate *fate,
				 __u64 n, bool overtakes)
{
	struct held frame = {.len = skb->len, .overtakes = overtakes};
	struct held *slot = &lane->held[draw(fate) % WIRE_HELD];
	__u32 len = frame.len;
	bool empty;

	if (!is_frame(&len) || bpf_skb_load_bytes(skb, 0, frame.bytes, len))
		return false;
	frame.due = n + 1 + draw(fate) % WIRE_DELAY;
	bpf_spin_lock(&lane->lock);
	empty = !slot->due;
	if (empty)
		*slot = frame;
	bpf_spin_unlock(&lane->lock);
	return empty;
}

/* Takes out the frame in this slot when its time has come. */
static __always_inline bool take(struct lane *lane, struct held *slot, __u64 n, struct held *frame)
{
	bool due;

	if (!slot->due || slot->due > n)
		return false;
	bpf_spin_lock(&lane->lock);
	due = slot->due && slot->due <= n;
	if (due) {
		*frame = *slot;
		slot->due = 0;
	}
	bpf_spin_unlock(&lane->lock);
	return due;
}

/* The packet itself has left as a clone, or never will; it lends its body. */
static __always_inline void send_held(struct __sk_buff *skb, const struct wire_port *port,
				      const struct held *frame)
{
	__u32 len = frame->len;

	if (!is_frame(&len) || bpf_skb_change_tail(skb, len, 0) ||
	    bpf_skb_store_bytes(skb, 0, frame->bytes, len, 0))
		return;
	if (frame->overtakes)
		count(&counters[port->way % WIRE_WAYS].reordered);
	bpf_clone_redirect(skb, port->out, 0);
}

static __always_inline void release(struct __sk_buff *skb, const struct wire_port *port,
				    struct lane *lane, __u64 n)
{
	struct held frame;

	for (int i = 0; i < WIRE_HELD; i++)
		if (take(lane, &lane->held[i], n, &frame))
			send_held(skb, port, &frame);
}

static __always_inline void pass_on(struct __sk_buff *skb, const struct wire_port *port,
				    struct lane *lane, __u64 n, struct fate *fate)
{
	struct wire_counters *counter = &counters[port->way % WIRE_WAYS];

	if (fate->corrupt) {
		count(&counter->corrupted);
		flip_bits(skb, fate);
	}
	if (!fate->reorder || !hold(skb, lane, fate, n, true))
		bpf_clone_redirect(skb, port->out, 0);
	if (!fate->duplicate)
		return;
	count(&counter->duplicated);
	if (fate->near || !hold(skb, lane, fate, n, false))
		bpf_clone_redirect(skb, port->out, 0);
}

static __always_inline const struct wire_port *find_port(struct __sk_buff *skb, __u32 *index)
{
	for (__u32 i = 0; i < WIRE_PORTS; i++) {
		*index = i;
		if (ports[i].ifindex == skb->ifindex)
			return &ports[i];
	}
	return NULL;
}

SEC("tc")
int wire(struct __sk_buff *skb)
{
	__u32 index;
	const struct wire_port *port = find_port(skb, &index);
	struct lane *lane = bpf_map_lookup_elem(&lanes, &index);
	struct fate fate;
	__u64 n;

	if (!port || !lane)
		return TC_ACT_SHOT;
	if (skb->len > WIRE_FRAME_MAX)
		return bpf_redirect(port->out, 0);
	n = __sync_fetch_and_add(&lane->packets, 1) + 1;
	decide(&fate, index, n);
	count(&counters[port->way % WIRE_WAYS].seen);
	if (fate.lose)
		count(&counters[port->way % WIRE_WAYS].lost);
	else
		pass_on(skb, port, lane, n, &fate);
	release(skb, port, lane, n);
	return TC_ACT_SHOT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
