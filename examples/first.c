/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * first.c - the shortest client of librdmacm: connects to `xatomic serve`, adds 1 to the first word of the
 * region that it is offered, prints what the word held before, and disconnects.
 *
 *	first HOST [PORT]
 *
 * Build: cc -o first first.c -lrdmacm -libverbs
 */
#include <err.h>
#include <inttypes.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>

#include "offer.h"

/* A queue pair for one atomic at a time, on the RDMA device that routing chooses. Exits when there is none. */
static struct rdma_cm_id *endpoint_for(const char *host, const char *port)
{
	struct rdma_addrinfo *address, hints = {.ai_port_space = RDMA_PS_TCP};
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(host, port, &hints, &address))
		err(EXIT_FAILURE, "%s port %s", host, port);
	if (rdma_create_ep(&id, address, NULL, &attr))
		err(EXIT_FAILURE, "no RDMA device leads to %s", host);
	rdma_freeaddrinfo(address);
	return id;
}

/* Queue pair numbers, PSNs and the depth are the library's matter; the region comes in the private data. */
static void connect_to(struct rdma_cm_id *id, struct region *region)
{
	struct rdma_conn_param param = {.initiator_depth = 1, .retry_count = 6};
	const struct rdma_conn_param *answer;

	if (rdma_connect(id, &param))
		err(EXIT_FAILURE, "no connection");
	answer = &id->event->param.conn;
	if (offer_read(region, answer->private_data, answer->private_data_len))
		errx(EXIT_FAILURE, "what answers there is no 'xatomic serve'");
}

static uint64_t fetch_add(struct rdma_cm_id *id, const struct region *region, uint64_t add)
{
	uint64_t before;
	struct ibv_mr *mr = rdma_reg_msgs(id, &before, sizeof(before));
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .num_sge = 1};
	struct ibv_sge reply = {.addr = (uintptr_t)&before, .length = sizeof(before)};
	struct ibv_wc wc;

	if (!mr)
		err(EXIT_FAILURE, "no memory for the reply");
	reply.lkey = mr->lkey;
	wr.sg_list = &reply;
	wr.wr.atomic.remote_addr = region->iova;
	wr.wr.atomic.rkey = region->rkey;
	wr.wr.atomic.compare_add = add;
	if (ibv_post_send(id->qp, &wr, &bad) || rdma_get_send_comp(id, &wc) < 1)
		err(EXIT_FAILURE, "the request could not be made");
	if (wc.status != IBV_WC_SUCCESS)
		errx(EXIT_FAILURE, "FETCH_ADD: %s", ibv_wc_status_str(wc.status));
	rdma_dereg_mr(mr);
	return before;
}

int main(int argc, char **argv)
{
	struct region region;
	struct rdma_cm_id *id;

	if (argc < 2 || argc > 3)
		errx(2, "usage: first HOST [PORT]");
	id = endpoint_for(argv[1], argc == 3 ? argv[2] : "18516");
	connect_to(id, &region);
	printf("%" PRIu64 "\n", fetch_add(id, &region, 1));
	rdma_disconnect(id);
	rdma_destroy_ep(id);
	return EXIT_SUCCESS;
}
