/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_client.c - a queue pair of plain verbs that does as it is told, for tests that exchange its numbers themselves
 * and want to see its completions.
 *
 * Usage: verbs_client LOCAL_IP PEER_IP	(both of one family)
 *
 * Reads commands from stdin, a line each, and answers each with a line, which begins with "error" when something went
 * wrong:
 *	open TIMEOUT			a new queue pair instead of the last one; TIMEOUT as in ibv_qp_attr, 0: never
 *					sends anything again. Answer: its QPN and the PSN of its first request
 *	connect QPN			ready to send, with this peer
 *	fetch_add VA RKEY VALUE		posts it
 *	cmp_swap VA RKEY COMPARE SWAP	likewise
 *	read VA RKEY			likewise, 8 bytes
 *	write VA RKEY			likewise
 *	wait				for the completion of the oldest one. Answer: its status as a number, as
 *					ibv_wc_status_str(3) has it, and what is in the buffer of that request
 *	state				of the queue pair, as a number of enum ibv_qp_state
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MOST = 16,
	WORD = 8,
	FIRST_PSN = 0xfffffe,
	STEP_US = 1000,
	PATIENCE = 120 * 1000,
	LINE = 256
};

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	union ibv_gid peer;
	int gid_index;
	uint8_t timeout;
	uint64_t buffer[MOST];
	uint64_t posted;
} v;

static void answer(const char *what)
{
	if (*what)
		printf("error: %s: %s\n", what, strerror(errno));
	else
		puts("ok");
}

/* ---- the device ---- */

static bool read_gid(union ibv_gid *gid, const char *text)
{
	struct in_addr v4;

	if (inet_pton(AF_INET6, text, gid->raw) == 1)
		return true;
	if (inet_pton(AF_INET, text, &v4) != 1)
		return false;
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, &v4, sizeof(v4));
	return true;
}

static int find_gid(struct ibv_context *context, const union ibv_gid *wanted)
{
	union ibv_gid gid;

	for (int i = 0; !ibv_query_gid(context, 1, i, &gid); i++)
		if (!memcmp(&gid, wanted, sizeof(gid)))
			return i;
	return -1;
}

static bool open_device(const char *local, const char *peer)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid gid;

	if (!list || !*list || !read_gid(&gid, local) || !read_gid(&v.peer, peer))
		return false;
	v.context = ibv_open_device(*list);
	ibv_free_device_list(list);
	if (!v.context)
		return false;
	v.gid_index = find_gid(v.context, &gid);
	v.pd = ibv_alloc_pd(v.context);
	v.cq = ibv_create_cq(v.context, MOST, NULL, NULL, 0);
	if (v.pd)
		v.mr = ibv_reg_mr(v.pd, v.buffer, sizeof(v.buffer), IBV_ACCESS_LOCAL_WRITE);
	return v.gid_index >= 0 && v.cq && v.mr;
}

/* ---- commands ---- */

static void do_open(const char *name, uint64_t *numbers)
{
	struct ibv_qp_init_attr init = {
		.send_cq = v.cq,
		.recv_cq = v.cq,
		.cap = {.max_send_wr = MOST,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	(void)name;
	if (v.qp)
		ibv_destroy_qp(v.qp);
	v.posted = 0;
	v.qp = ibv_create_qp(v.pd, &init);
	if (!v.qp ||
	    ibv_modify_qp(v.qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
		answer("the queue pair");
		return;
	}
	v.timeout = numbers[0];
	printf("%u %u\n", v.qp->qp_num, FIRST_PSN);
}

static bool to_rtr(uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.ah_attr = {.is_global = 1,
			    .grh = {.dgid = v.peer, .sgid_index = v.gid_index, .hop_limit = 64},
			    .port_num = 1},
	};

	return !ibv_modify_qp(v.qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);
}

static bool to_rts(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = v.timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = FIRST_PSN,
		.max_rd_atomic = MOST,
	};

	return !ibv_modify_qp(v.qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void do_connect(const char *name, uint64_t *numbers)
{
	(void)name;
	answer(!v.qp || !to_rtr(numbers[0]) || !to_rts() ? "connect" : "");
}

static void post(struct ibv_send_wr *wr)
{
	unsigned int slot = v.posted % MOST;
	struct ibv_sge sge = {(uintptr_t)&v.buffer[slot], WORD, v.mr->lkey};
	struct ibv_send_wr *bad;

	wr->wr_id = slot;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	v.buffer[slot] = 0;
	errno = v.qp ? ibv_post_send(v.qp, wr, &bad) : ENOTCONN;
	v.posted += !errno;
	answer(errno ? "post" : "");
}

static void do_atomic(const char *name, uint64_t *numbers)
{
	struct ibv_send_wr wr = {.opcode = strcmp(name, "cmp_swap") ? IBV_WR_ATOMIC_FETCH_AND_ADD
								    : IBV_WR_ATOMIC_CMP_AND_SWP};

	wr.wr.atomic.remote_addr = numbers[0];
	wr.wr.atomic.rkey = numbers[1];
	wr.wr.atomic.compare_add = numbers[2];
	wr.wr.atomic.swap = numbers[3];
	post(&wr);
}

static void do_rdma(const char *name, uint64_t *numbers)
{
	struct ibv_send_wr wr = {.opcode = strcmp(name, "read") ? IBV_WR_RDMA_WRITE
								: IBV_WR_RDMA_READ};

	wr.wr.rdma.remote_addr = numbers[0];
	wr.wr.rdma.rkey = numbers[1];
	post(&wr);
}

static void do_wait(const char *name, uint64_t *numbers)
{
	struct ibv_wc wc;
	int n, left = PATIENCE;

	(void)name;
	(void)numbers;
	while ((n = ibv_poll_cq(v.cq, 1, &wc)) == 0 && left--)
		usleep(STEP_US);
	errno = ETIMEDOUT;
	if (n != 1)
		answer("wait");
	else
		printf("%d %s %" PRIu64 "\n", wc.status, ibv_wc_status_str(wc.status),
		       v.buffer[wc.wr_id]);
}

static void do_state(const char *name, uint64_t *numbers)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	(void)name;
	(void)numbers;
	if (!v.qp || ibv_query_qp(v.qp, &attr, IBV_QP_STATE, &init))
		answer("state");
	else
		printf("%d\n", attr.qp_state);
}

static const struct {
	const char *name;
	void (*run)(const char *name, uint64_t *numbers);
} commands[] = {
	{"open", do_open},       {"connect", do_connect}, {"fetch_add", do_atomic},
	{"cmp_swap", do_atomic}, {"read", do_rdma},       {"write", do_rdma},
	{"wait", do_wait},       {"state", do_state},
};

static void run(char *line)
{
	char *rest = NULL, *name = strtok_r(line, " \n", &rest), *word;
	uint64_t numbers[4] = {0};

	for (int i = 0; i < 4 && (word = strtok_r(NULL, " \n", &rest)); i++)
		numbers[i] = strtoull(word, NULL, 0);
	for (size_t i = 0; name && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(name, commands[i].name)) {
			commands[i].run(name, numbers);
			return;
		}
	}
	puts("error: no such command");
}

int main(int argc, char **argv)
{
	char line[LINE];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3)
		return 2;
	if (!open_device(argv[1], argv[2])) {
		answer("the device");
		return 1;
	}
	while (fgets(line, sizeof(line), stdin))
		run(line);
	return 0;
}
