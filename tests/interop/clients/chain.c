/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chain - atomics on one word that make a chain: operation n must find n there and leave n + 1.
 *
 * Usage: chain request DEVICE OWN PEER
 *	prints its QPN and reads "QPN PSN RKEY ADDRESS" of the responder, whose word must be 0. Then for each line
 *	"faa|cas COUNT WINDOW" that it reads it sends COUNT operations, WINDOW of them in flight, checks each original
 *	value, and prints how many have been right since it began.
 *
 *	  chain respond DEVICE OWN PEER
 *	is such a responder on an RDMA device: prints its numbers, reads the requester's QPN, prints "ready", and at
 *	the end of its input the word. It takes no further part; the device answers.
 *
 * OWN and PEER are IPv4 addresses. Exit status 0; 1 with a sentence on stderr.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WINDOW_MAX = 128,
	FIRST_PSN = 0xffff80, /* soon wraps */
	TIMEOUT = 17,         /* 4.096 us * 2^17, half a second: an emulated machine may be slow */
	RETRIES = 7,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
};

struct end {
	struct ibv_context *device;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	int gid_index;
	union ibv_gid peer;
	uint64_t words[WINDOW_MAX];
};

struct target {
	uint32_t qpn, psn, rkey;
	uint64_t addr;
};

struct job {
	enum ibv_wr_opcode opcode;
	uint64_t first, end; /* operations */
	unsigned int window;
};

static int fail(const char *what)
{
	fprintf(stderr, "chain: %s\n", what);
	return -1;
}

/* The GID of an IPv4 address is its IPv4-mapped IPv6 address (IBA annex A17). */
static int parse_gid(const char *text, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = gid->raw[11] = 0xff;
	return inet_pton(AF_INET, text, &gid->raw[12]) == 1 ? 0 : fail("that is no IPv4 address");
}

static int open_device(struct end *end, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++) {
		if (!strcmp(ibv_get_device_name(list[i]), name))
			end->device = ibv_open_device(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	return end->device ? 0 : fail("the RDMA device cannot be opened");
}

static int find_gid(struct end *end, const char *own)
{
	union ibv_gid wanted, gid;
	int err = parse_gid(own, &wanted);

	for (int i = 0; !err && !ibv_query_gid(end->device, 1, i, &gid); i++) {
		if (!memcmp(&gid, &wanted, sizeof(gid))) {
			end->gid_index = i;
			return 0;
		}
	}
	return err ? err : fail("the RDMA device has no such address");
}

static int make_qp(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = WINDOW_MAX,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ACCESS,
	};

	end->pd = ibv_alloc_pd(end->device);
	end->cq = ibv_create_cq(end->device, WINDOW_MAX, NULL, NULL, 0);
	if (!end->pd || !end->cq)
		return fail("no protection domain or completion queue");
	end->mr = ibv_reg_mr(end->pd, end->words, sizeof(end->words), ACCESS);
	init.send_cq = init.recv_cq = end->cq;
	end->qp = end->mr ? ibv_create_qp(end->pd, &init) : NULL;
	if (!end->qp ||
	    ibv_modify_qp(end->qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return fail("no memory region or queue pair");
	return 0;
}

static int open_end(struct end *end, char **argv)
{
	memset(end, 0, sizeof(*end));
	if (open_device(end, argv[0]) || find_gid(end, argv[1]) || parse_gid(argv[2], &end->peer))
		return -1;
	return make_qp(end);
}

static void close_end(struct end *end)
{
	if (end->qp)
		ibv_destroy_qp(end->qp);
	if (end->mr)
		ibv_dereg_mr(end->mr);
	if (end->cq)
		ibv_destroy_cq(end->cq);
	if (end->pd)
		ibv_dealloc_pd(end->pd);
	if (end->device)
		ibv_close_device(end->device);
}

static int ready_to_receive(struct end *end, uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = FIRST_PSN,
		.max_dest_rd_atomic = WINDOW_MAX,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1},
	};

	attr.ah_attr.grh.dgid = end->peer;
	attr.ah_attr.grh.sgid_index = end->gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	if (ibv_modify_qp(end->qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return fail("the queue pair does not become ready to receive");
	return 0;
}

static int ready_to_send(struct end *end, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = TIMEOUT,
		.retry_cnt = RETRIES,
		.rnr_retry = RETRIES,
		.sq_psn = psn,
		.max_rd_atomic = WINDOW_MAX,
	};

	if (ibv_modify_qp(end->qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		return fail("the queue pair does not become ready to send");
	return 0;
}

static int post(struct end *end, const struct target *target, const struct job *job, uint64_t n)
{
	unsigned int slot = n % job->window;
	struct ibv_sge sge = {
		.addr = (uintptr_t)&end->words[slot],
		.length = sizeof(end->words[slot]),
		.lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr =
				   {
					   .wr_id = n,
					   .sg_list = &sge,
					   .num_sge = 1,
					   .opcode = job->opcode,
					   .send_flags = IBV_SEND_SIGNALED,
				   },
			   *bad;

	wr.wr.atomic.remote_addr = target->addr;
	wr.wr.atomic.rkey = target->rkey;
	wr.wr.atomic.compare_add = job->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? n : 1;
	wr.wr.atomic.swap = n + 1;
	end->words[slot] = UINT64_MAX;
	return ibv_post_send(end->qp, &wr, &bad) ? fail("a request cannot be posted") : 0;
}

/* Waits for the completion of operation n, which must have found n in the word. */
static int check(struct end *end, const struct job *job, uint64_t n)
{
	uint64_t original;
	struct ibv_wc wc;
	int got;

	do {
		got = ibv_poll_cq(end->cq, 1, &wc);
	} while (!got);
	if (got < 0)
		return fail("the completion queue cannot be read");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "chain: operation %" PRIu64 ": %s\n", n,
			ibv_wc_status_str(wc.status));
		return -1;
	}
	original = end->words[n % job->window];
	if (wc.wr_id == n && original == n)
		return 0;
	fprintf(stderr, "chain: operation %" PRIu64 ", completion %" PRIu64 ": found %" PRIu64 "\n",
		n, wc.wr_id, original);
	return -1;
}

static int send_chain(struct end *end, const struct target *target, const struct job *job)
{
	uint64_t posted = job->first;

	for (uint64_t n = job->first; n < job->end; n++) {
		while (posted < job->end && posted < n + job->window) {
			if (post(end, target, job, posted++))
				return -1;
		}
		if (check(end, job, n))
			return -1;
	}
	return 0;
}

/* 1: there is one; 0: there are no more. */
static int read_job(struct job *job)
{
	char name[4];
	uint64_t count;
	int got = scanf("%3s %" SCNu64 " %u", name, &count, &job->window);

	if (got == EOF)
		return 0;
	if (got != 3 || !job->window || job->window > WINDOW_MAX)
		return fail("a line has faa or cas, COUNT, and WINDOW from 1 to 128");
	job->opcode = strcmp(name, "cas") ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
	job->first = job->end;
	job->end += count;
	return 1;
}

static int request(struct end *end)
{
	struct target target;
	struct job job = {0};
	int more;

	printf("%u\n", end->qp->qp_num);
	if (scanf("%u %u %u %" SCNu64, &target.qpn, &target.psn, &target.rkey, &target.addr) != 4)
		return fail("nobody tells the responder's QPN, PSN, rkey and address");
	if (ready_to_receive(end, target.qpn) || ready_to_send(end, target.psn))
		return -1;
	while ((more = read_job(&job)) > 0) {
		if (send_chain(end, &target, &job))
			return -1;
		printf("%" PRIu64 "\n", job.end);
	}
	return more;
}

static int respond(struct end *end)
{
	volatile uint64_t *word = end->words; /* the device adds to it */
	uint32_t qpn;

	printf("%u %u %u %" PRIuPTR "\n", end->qp->qp_num, FIRST_PSN, end->mr->rkey,
	       (uintptr_t)word);
	if (scanf("%u", &qpn) != 1)
		return fail("nobody tells the requester's QPN");
	if (ready_to_receive(end, qpn))
		return -1;
	printf("ready\n");
	while (getchar() != EOF)
		;
	printf("%" PRIu64 "\n", *word);
	return 0;
}

int main(int argc, char **argv)
{
	struct end end;
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 5 || (strcmp(argv[1], "request") && strcmp(argv[1], "respond"))) {
		fprintf(stderr, "usage: chain request|respond DEVICE OWN PEER\n");
		return 2;
	}
	err = open_end(&end, argv + 2);
	if (!err)
		err = strcmp(argv[1], "request") ? respond(&end) : request(&end);
	close_end(&end);
	return err ? 1 : 0;
}
