// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * traffic.bpf.c - both CPUs send the same requests at the same instant, as fast as they can.
 *
 * `generate` runs on live frames at the responder's end of a veth. It reads which PSN the QP expects,
 * puts the request with that PSN into the frame and hands it to the program under test by a tail call; the
 * next frame is the same request again. So each PSN is sent by whichever CPU saw it expected, often by
 * both within the same nanoseconds, and at least once more as a duplicate. Requests add 1 to a word that
 * was 0 at PSN 0: the original value in every answer, the first and all later ones, is the PSN.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "traffic.h"
#include "xatomic/abi.h"
#include "xatomic/wire.h"

#define BTH_OFFSET (TWIN_FRAME - XA_ATOMIC_LEN)

const volatile __u32 qp_index;
const volatile bool by_life; /* false: as told above; true: see request_of_life() */

/* The instance's own. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XA_DEF_QPS);
	__type(key, __u32);
	__type(value, struct xa_qp);
} qps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TWIN_REQUESTS);
	__type(key, __u32);
	__type(value, struct twin_request);
} requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct twin_sender);
} senders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct twin_answers);
} answers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} under_test SEC(".maps");

/*
 * The life that the QP is in at this moment decides which request it is, and the grace period of a reset
 * covers that look and the request's execution: they are one run of BPF programs.
 */
static __always_inline __u32 request_of_life(const struct xa_qp *qp)
{
	struct xa_qp_ctl ctl = *(const volatile struct xa_qp_ctl *)&qp->ctl;

	return LIFE_REQUEST(ctl.life, ctl.state);
}

static __always_inline __u32 choose_request(void)
{
	__u32 first = 0, index = qp_index;
	struct twin_sender *sender = bpf_map_lookup_elem(&senders, &first);
	struct xa_qp *qp = bpf_map_lookup_elem(&qps, &index);

	if (!sender || !qp)
		return TWIN_REQUESTS;
	if (by_life)
		return request_of_life(qp);
	if (sender->turn++ % 2 == 0)
		sender->last = *(volatile __u32 *)&qp->ctl.epsn;
	return sender->last;
}

SEC("xdp")
int generate(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	__u32 number = choose_request();
	struct twin_request *request = bpf_map_lookup_elem(&requests, &number);

	if (!request || data + TWIN_FRAME > data_end)
		return XDP_DROP;
#pragma unroll
	for (int i = 0; i < TWIN_FRAME / 8; i++)
		*(__u64 *)(data + 8 * i) = request->bytes[i];
	__builtin_memcpy(data + TWIN_FRAME / 8 * 8, &request->bytes[TWIN_FRAME / 8],
			 TWIN_FRAME % 8);
	bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

/* The other end of the wire. Offsets of the AETH's and AtomicAckETH's fields from BTH are 12 and 16. */
SEC("xdp")
int collect(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	void *bth = data + BTH_OFFSET;
	__u32 first = 0, psn;
	struct twin_answers *a = bpf_map_lookup_elem(&answers, &first);
	__u64 original;

	if (!a || bth + XA_ATOMIC_ACK_LEN > data_end || *(__u8 *)bth != XA_OP_ATOMIC_ACKNOWLEDGE)
		return XDP_PASS;
	psn = bpf_ntohl(*(__be32 *)(bth + 8)) & XA_PSN_MASK;
	original = bpf_be64_to_cpu(*(__be64 *)(bth + 16));
	if (original == psn) {
		a->right++;
		return XDP_DROP;
	}
	a->wrong++;
	a->wrong_psn = psn;
	a->wrong_original = original;
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
