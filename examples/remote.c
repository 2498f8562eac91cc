/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote.h"

#include <err.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdlib.h>

#include "offer.h"

struct remote {
	struct rdma_cm_id *id;
	struct ibv_mr *mr; /* of `reply` */
	struct region region;
	uint64_t reply; /* where the adapter puts original values */
	bool silent;    /* the other side does not answer any more */
};

static const char *const port = "18516";

static int make_endpoint(struct remote *remote, const char *host)
{
	struct rdma_addrinfo *address, hints = {.ai_port_space = RDMA_PS_TCP};
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
	int status;

	if (rdma_getaddrinfo(host, port, &hints, &address)) {
		warn("%s", host);
		return -1;
	}
	status = rdma_create_ep(&remote->id, address, NULL, &attr);
	rdma_freeaddrinfo(address);
	if (status) {
		warn("no RDMA device leads to %s", host);
		return -1;
	}
	remote->mr = rdma_reg_msgs(remote->id, &remote->reply, sizeof(remote->reply));
	if (!remote->mr)
		warn("no memory for replies");
	return remote->mr ? 0 : -1;
}

static void say_why(const struct rdma_cm_id *id, const char *host)
{
	const struct rdma_cm_event *event = id->event;
	const char *text = NULL;

	if (event && event->event == RDMA_CM_EVENT_REJECTED)
		text = offer_refused(event->param.conn.private_data,
				     event->param.conn.private_data_len);
	if (text)
		warnx("%s refuses: %.140s", host, text);
	else
		warn("no connection to %s", host);
}

/*
 * A lost packet is sent again after 4.096 us * 2^16, 268 ms, and the other side may be silent for almost two
 * seconds altogether; by default it would be seconds each. Six retries are the most that soft-RoCE counts: 7
 * means endless there.
 */
static int connect_to(struct remote *remote, const char *host, const char *region)
{
	struct offer_wish wish;
	struct rdma_conn_param param = {.private_data = &wish,
					.private_data_len = sizeof(wish),
					.initiator_depth = 1,
					.retry_count = 6,
					.rnr_retry_count = 6};
	uint8_t timeout = 16;

	if (offer_wish(&wish, region)) {
		warnx("no region can be called '%s'; a name has at most %zu characters", region,
		      sizeof(wish.name));
		return -1;
	}
	rdma_set_option(remote->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			sizeof(timeout));
	if (rdma_connect(remote->id, &param)) {
		say_why(remote->id, host);
		return -1;
	}
	if (offer_read(&remote->region, remote->id->event->param.conn.private_data,
		       remote->id->event->param.conn.private_data_len)) {
		warnx("what answers at %s is no 'xatomic serve'", host);
		return -1;
	}
	return 0;
}

struct remote *remote_open(const char *host, const char *region)
{
	struct remote *remote = calloc(1, sizeof(*remote));

	if (!remote) {
		warn("%s", host);
		return NULL;
	}
	if (!make_endpoint(remote, host) && !connect_to(remote, host, region))
		return remote;
	remote_close(remote);
	return NULL;
}

void remote_close(struct remote *remote)
{
	if (!remote)
		return;
	/* Waits for an answer, which is of no use when there is nobody. */
	if (remote->region.bytes && !remote->silent)
		rdma_disconnect(remote->id);
	if (remote->mr)
		rdma_dereg_mr(remote->mr);
	if (remote->id)
		rdma_destroy_ep(remote->id);
	free(remote);
}

uint64_t remote_words(const struct remote *remote)
{
	return remote->region.bytes / sizeof(uint64_t);
}

/* Posts one request and sleeps until it is complete. */
static int execute(struct remote *remote, struct ibv_send_wr *wr, uint64_t word, uint64_t *before)
{
	struct ibv_sge reply = {.addr = (uintptr_t)&remote->reply,
				.length = sizeof(remote->reply),
				.lkey = remote->mr->lkey};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr->sg_list = &reply;
	wr->num_sge = 1;
	wr->wr.atomic.remote_addr = remote->region.iova + word * sizeof(uint64_t);
	wr->wr.atomic.rkey = remote->region.rkey;
	if (ibv_post_send(remote->id->qp, wr, &bad) || rdma_get_send_comp(remote->id, &wc) < 1) {
		warn("the request could not be made");
		return -1;
	}
	if (wc.status != IBV_WC_SUCCESS) {
		remote->silent = wc.status == IBV_WC_RETRY_EXC_ERR;
		warnx("the request failed: %s", ibv_wc_status_str(wc.status));
		return -1;
	}
	*before = remote->reply;
	return 0;
}

int remote_fetch_add(struct remote *remote, uint64_t word, uint64_t add, uint64_t *before)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};

	wr.wr.atomic.compare_add = add;
	return execute(remote, &wr, word, before);
}

int remote_compare_swap(struct remote *remote, uint64_t word, uint64_t expected, uint64_t desired,
			uint64_t *before)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP};

	wr.wr.atomic.compare_add = expected;
	wr.wr.atomic.swap = desired;
	return execute(remote, &wr, word, before);
}
