/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.c - plain verbs with an exchange of one's own: no connection manager and no daemon. The queue pair of
 * the other side is made by running `xatomic` there, and the numbers come back as its JSON.
 *
 *	exchange DEVICE GID_INDEX REGION COMMAND
 *	exchange mlx5_0 3 counters 'ssh root@192.0.2.1 xatomic'
 *
 * Adds 1 to the first word of the region, takes the second one from 0 to 1 if it is 0, and prints what they held
 * before. Both requests are posted at once, and executed in this order.
 *
 * Build: cc -o exchange exchange.c -libverbs -ljson-c
 */
#include <arpa/inet.h>
#include <err.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

enum { PORT = 1, DEPTH = 2, COUNTER = 0, LOCK = 1 };

struct own {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	union ibv_gid gid;
	uint8_t gid_index;
	uint64_t replies[DEPTH]; /* where the adapter puts original values */
};

struct peer {
	const char *command; /* runs xatomic there */
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
	uint32_t rkey;
	uint64_t iova;
};

/* ---- the exchange ---- */

/* What a command of xatomic at the other side prints; NULL: nothing that is JSON. */
static struct json_object *ask(const struct peer *peer, const char *format, ...)
{
	struct json_object *answer;
	char words[256], line[1024];
	va_list args;
	FILE *pipe;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (snprintf(line, sizeof(line), "%s --json %s", peer->command, words) >= (int)sizeof(line))
		errx(2, "COMMAND is too long");
	pipe = popen(line, "r");
	if (!pipe)
		err(EXIT_FAILURE, "%s", line);
	answer = json_object_from_fd(fileno(pipe));
	if (pclose(pipe) && answer) {
		json_object_put(answer);
		answer = NULL;
	}
	return answer;
}

static uint64_t member(struct json_object *object, const char *key)
{
	return json_object_get_uint64(json_object_object_get(object, key));
}

/* IPv4 addresses are mapped into GIDs, as ::ffff:192.0.2.1. */
static void gid_to_text(const union ibv_gid *gid, char *text)
{
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid->raw))
		inet_ntop(AF_INET, gid->raw + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, gid->raw, text, INET6_ADDRSTRLEN);
}

static bool text_to_gid(const char *text, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (!text)
		return false;
	if (inet_pton(AF_INET6, text, gid->raw) == 1)
		return true;
	memset(gid->raw + 10, 0xff, 2);
	return inet_pton(AF_INET, text, gid->raw + 12) == 1;
}

/* A queue pair for ours at the other side, and where the region is. */
static int meet(const struct own *own, struct peer *peer, const char *region)
{
	struct json_object *qp, *mr;
	char address[INET6_ADDRSTRLEN];
	bool good;

	mr = ask(peer, "mr show %s", region);
	if (!mr)
		return -1;
	peer->rkey = member(mr, "rkey");
	peer->iova = member(mr, "iova");
	json_object_put(mr);
	gid_to_text(&own->gid, address);
	qp = ask(peer, "qp add --peer %s --rqpn %" PRIu32 " --depth %d", address, own->qp->qp_num,
		 DEPTH);
	if (!qp)
		return -1;
	peer->qpn = member(qp, "lqpn");
	peer->psn = member(qp, "rq-psn");
	good = text_to_gid(json_object_get_string(json_object_object_get(qp, "local")), &peer->gid);
	json_object_put(qp);
	return good ? 0 : -1;
}

/* The queue pair at the other side does not go by itself, as no connection manager knows of it. */
static void part(const struct peer *peer)
{
	if (peer->qpn)
		json_object_put(ask(peer, "qp del %" PRIu32, peer->qpn));
}

/* ---- this side ---- */

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

static int open_own(struct own *own, const char *device)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = DEPTH, .max_send_sge = 1},
		.sq_sig_all = 1,
	};

	own->context = open_device(device);
	if (!own->context || ibv_query_gid(own->context, PORT, own->gid_index, &own->gid))
		return -1;
	own->pd = ibv_alloc_pd(own->context);
	own->cq = ibv_create_cq(own->context, DEPTH, NULL, NULL, 0);
	if (!own->pd || !own->cq)
		return -1;
	own->mr = ibv_reg_mr(own->pd, own->replies, sizeof(own->replies), IBV_ACCESS_LOCAL_WRITE);
	attr.send_cq = attr.recv_cq = own->cq;
	own->qp = ibv_create_qp(own->pd, &attr);
	return own->mr && own->qp ? 0 : -1;
}

static void close_own(struct own *own)
{
	if (own->qp)
		ibv_destroy_qp(own->qp);
	if (own->mr)
		ibv_dereg_mr(own->mr);
	if (own->cq)
		ibv_destroy_cq(own->cq);
	if (own->pd)
		ibv_dealloc_pd(own->pd);
	if (own->context)
		ibv_close_device(own->context);
}

static int to_init(struct own *own)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = PORT};

	return ibv_modify_qp(own->qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* What concerns requests of the other side (rq_psn, max_dest_rd_atomic) has no meaning: it sends none. */
static int to_rtr(struct own *own, const struct peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_256, /* an atomic is shorter than any */
		.dest_qp_num = peer->qpn,
		.max_dest_rd_atomic = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = PORT,
			    .grh = {.dgid = peer->gid,
				    .sgid_index = own->gid_index,
				    .hop_limit = 64}},
	};

	return ibv_modify_qp(own->qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

/* Six retries, each after 4.096 us * 2^14; seven would be endless with soft-RoCE. */
static int to_rts(struct own *own, const struct peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = peer->psn,
		.max_rd_atomic = DEPTH, /* no more than the other side's depth */
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 6,
	};

	return ibv_modify_qp(own->qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC |
				     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
}

/* ---- atomics ---- */

static int post(struct own *own, const struct peer *peer)
{
	struct ibv_sge sge[DEPTH];
	struct ibv_send_wr *bad, wr[DEPTH] = {{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD},
					      {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP}};

	for (int i = 0; i < DEPTH; i++) {
		sge[i] = (struct ibv_sge){.addr = (uintptr_t)&own->replies[i],
					  .length = sizeof(own->replies[i]),
					  .lkey = own->mr->lkey};
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].wr.atomic.remote_addr = peer->iova + i * sizeof(uint64_t);
		wr[i].wr.atomic.rkey = peer->rkey;
	}
	wr[COUNTER].next = &wr[LOCK];
	wr[COUNTER].wr.atomic.compare_add = 1;
	wr[LOCK].wr.atomic.compare_add = 0;
	wr[LOCK].wr.atomic.swap = 1;
	return ibv_post_send(own->qp, wr, &bad);
}

static int complete(struct own *own)
{
	struct ibv_wc wc;
	int n, left = DEPTH;

	while (left) {
		n = ibv_poll_cq(own->cq, 1, &wc);
		if (n < 0)
			return -1;
		if (n && wc.status != IBV_WC_SUCCESS) {
			warnx("the request failed: %s", ibv_wc_status_str(wc.status));
			return -1;
		}
		left -= n;
	}
	return 0;
}

static int execute(struct own *own, const struct peer *peer)
{
	if (to_init(own) || to_rtr(own, peer) || to_rts(own, peer)) {
		warn("the queue pair cannot be connected");
		return -1;
	}
	if (post(own, peer)) {
		warn("the requests could not be made");
		return -1;
	}
	return complete(own);
}

int main(int argc, char **argv)
{
	struct own own = {0};
	struct peer peer = {0};
	int status = EXIT_FAILURE;

	if (argc != 5)
		errx(2, "usage: exchange DEVICE GID_INDEX REGION COMMAND");
	own.gid_index = number("GID_INDEX", argv[2], 0, UINT8_MAX);
	peer.command = argv[4];
	if (open_own(&own, argv[1]))
		warn("%s with GID %u is of no use", argv[1], own.gid_index);
	else if (meet(&own, &peer, argv[3]))
		warnx("the other side has no queue pair for us");
	else if (!execute(&own, &peer))
		status = EXIT_SUCCESS;
	if (!status)
		printf("counter %" PRIu64 "\nlock %" PRIu64 "\n", own.replies[COUNTER],
		       own.replies[LOCK]);
	part(&peer);
	close_own(&own);
	return status;
}
