/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cm_client.c - a client of librdmacm that knows an address and a port and nothing else: the memory region comes with
 * the private data of the answer.
 *
 * Usage: cm_client [options] HOST PORT
 *	-c N	connections at once; all are there before any of them works
 *	-r N	rounds, each with new connections
 *	-n N	operations of each kind on each connection
 *	-m NAME	the memory region that is wanted
 *	-b FILE	goes on with FETCH_ADDs until the file is there
 *	-i FILE	waits until the file is there, without any traffic, and then works
 *	-e FILE	keeps the connections until the file is there
 *
 * Word 0 of the region is counted up by FETCH_ADD and word 1 by CMP_SWAP, by all connections; the nth connection of a
 * round counts up word 2 + n by CMP_SWAP, which nobody else touches. Every original value is checked. Prints how
 * many connections there were and how often both words were counted up; a complaint on stderr for each failure.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm/wire.h"

enum { ADDED, SWAPPED, FIRST_OWN, WORD = 8, DEPTH = 16, MOST = 512, STEP_US = 20000 };

static struct {
	const char *host, *port, *mr, *busy_until, *idle_until, *end_at;
	unsigned int connections, rounds;
	uint64_t operations;
} settings = {.connections = 1, .rounds = 1, .operations = 10};

struct connection {
	unsigned int nth;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint64_t results[DEPTH];
	uint64_t iova, length;
	uint32_t rkey;
	unsigned int depth;
	uint64_t added, swapped;
	bool connected, failed;
};

static struct connection connections[MOST];
static pthread_barrier_t all_here;

__attribute__((format(printf, 2, 3))) static bool complain(struct connection *c, const char *format,
							   ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "connection %u: %s\n", c->nth, text);
	c->failed = true;
	return false;
}

/* ---- operations ---- */

static bool post(struct connection *c, unsigned int slot, unsigned int word, struct ibv_send_wr *wr)
{
	struct ibv_sge sge = {(uintptr_t)&c->results[slot], WORD, c->mr->lkey};
	struct ibv_send_wr *bad;

	wr->wr_id = slot;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->wr.atomic.remote_addr = c->iova + WORD * word;
	wr->wr.atomic.rkey = c->rkey;
	return !ibv_post_send(c->id->qp, wr, &bad) || complain(c, "post: %s", strerror(errno));
}

static bool complete(struct connection *c, unsigned int slot)
{
	struct ibv_wc wc;

	if (rdma_get_send_comp(c->id, &wc) != 1)
		return complain(c, "no completion: %s", strerror(errno));
	if (wc.status)
		return complain(c, "completion: %s", ibv_wc_status_str(wc.status));
	return wc.wr_id == slot || complain(c, "completion %" PRIu64 " before %u", wc.wr_id, slot);
}

static bool fetch_add(struct connection *c, unsigned int slot, unsigned int word, uint64_t add)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};

	wr.wr.atomic.compare_add = add;
	return post(c, slot, word, &wr);
}

static bool cmp_swap(struct connection *c, unsigned int word, uint64_t compare, uint64_t swap)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP};

	wr.wr.atomic.compare_add = compare;
	wr.wr.atomic.swap = swap;
	return post(c, 0, word, &wr) && complete(c, 0);
}

/* `n` at once. Others add as well, so the originals of one connection go up, but not by one. */
static bool add_some(struct connection *c, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!fetch_add(c, i, ADDED, 1))
			return false;
	for (unsigned int i = 0; i < n; i++)
		if (!complete(c, i))
			return false;
	for (unsigned int i = 1; i < n; i++)
		if (c->results[i] <= c->results[i - 1])
			return complain(c, "%" PRIu64 " came after %" PRIu64, c->results[i],
					c->results[i - 1]);
	c->added += n;
	return true;
}

static bool add_many(struct connection *c, uint64_t n)
{
	uint64_t some;

	for (; n; n -= some) {
		some = n < c->depth ? n : c->depth;
		if (!add_some(c, some))
			return false;
	}
	return true;
}

/* What all count up: each attempt tells the value to try with next. */
static bool swap_shared(struct connection *c, uint64_t n)
{
	uint64_t guess = 0;

	while (n) {
		if (!cmp_swap(c, SWAPPED, guess, guess + 1))
			return false;
		if (c->results[0] == guess) {
			c->swapped++;
			n--;
		}
		guess = c->results[0] + (c->results[0] == guess);
	}
	return true;
}

static bool swap_own(struct connection *c, uint64_t n)
{
	unsigned int word = FIRST_OWN + c->nth;
	uint64_t first;

	if (!fetch_add(c, 0, word, 0) || !complete(c, 0))
		return false;
	first = c->results[0];
	for (uint64_t i = 0; i < n; i++) {
		if (!cmp_swap(c, word, first + i, first + i + 1))
			return false;
		if (c->results[0] != first + i)
			return complain(c, "own word: %" PRIu64 " instead of %" PRIu64,
					c->results[0], first + i);
	}
	return true;
}

static void wait_for_file(const char *path)
{
	while (path && access(path, F_OK))
		usleep(STEP_US);
}

static bool work(struct connection *c)
{
	wait_for_file(settings.idle_until);
	while (settings.busy_until && access(settings.busy_until, F_OK))
		if (!add_many(c, c->depth))
			return false;
	return add_many(c, settings.operations) && swap_shared(c, settings.operations) &&
	       swap_own(c, settings.operations);
}

/* ---- the connection ---- */

static bool refused(struct connection *c, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct cm_refusal refusal = {0};

	if (param->private_data && param->private_data_len >= sizeof(refusal))
		memcpy(&refusal, param->private_data, sizeof(refusal));
	if (refusal.header.magic != htobe32(CM_MAGIC))
		memset(&refusal, 0, sizeof(refusal));
	return complain(c, "%s %d %.*s", rdma_event_str(event->event), event->status,
			CM_REFUSAL_TEXT, refusal.text);
}

static bool read_offer(struct connection *c, const struct rdma_conn_param *param)
{
	struct cm_offer_data offer = {0};

	if (param->private_data && param->private_data_len >= sizeof(offer))
		memcpy(&offer, param->private_data, sizeof(offer));
	if (offer.header.magic != htobe32(CM_MAGIC) || offer.header.version != CM_DATA_VERSION ||
	    offer.header.kind != CM_DATA_OFFER)
		return complain(c, "no offer in the private data");
	if (settings.mr && strncmp(offer.name, settings.mr, sizeof(offer.name)))
		return complain(c, "%.64s is offered instead of %s", offer.name, settings.mr);
	c->iova = be64toh(offer.iova);
	c->length = be64toh(offer.bytes);
	c->rkey = be32toh(offer.rkey);
	c->depth = param->initiator_depth < DEPTH ? param->initiator_depth : DEPTH;
	if (!c->depth || c->length < WORD * (FIRST_OWN + settings.connections))
		return complain(c, "%u in flight and %" PRIu64 " bytes are too few", c->depth,
				c->length);
	return true;
}

static bool create(struct connection *c)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *list;

	if (rdma_getaddrinfo(settings.host, settings.port, &hints, &list))
		return complain(c, "%s: %s", settings.host, strerror(errno));
	if (rdma_create_ep(&c->id, list, NULL, &attr))
		c->id = NULL;
	rdma_freeaddrinfo(list);
	if (!c->id)
		return complain(c, "rdma_create_ep: %s", strerror(errno));
	c->mr = ibv_reg_mr(c->id->pd, c->results, sizeof(c->results), IBV_ACCESS_LOCAL_WRITE);
	return c->mr || complain(c, "ibv_reg_mr: %s", strerror(errno));
}

static bool connect_one(struct connection *c)
{
	struct rdma_conn_param param = {
		.initiator_depth = DEPTH, .retry_count = 7, .rnr_retry_count = 7};
	struct cm_wish wish = {.header = {htobe32(CM_MAGIC), CM_DATA_VERSION, CM_DATA_WISH,
					  htobe16(sizeof(wish))}};

	if (!create(c))
		return false;
	if (settings.mr) {
		memcpy(wish.name, settings.mr, strnlen(settings.mr, sizeof(wish.name)));
		param.private_data = &wish;
		param.private_data_len = sizeof(wish);
	}
	if (!rdma_connect(c->id, &param)) {
		c->connected = true;
		return read_offer(c, &c->id->event->param.conn);
	}
	if (c->id->event)
		return refused(c, c->id->event);
	return complain(c, "rdma_connect: %s", strerror(errno));
}

static void *run(void *data)
{
	struct connection *c = data;
	bool ready = connect_one(c);

	pthread_barrier_wait(&all_here);
	if (ready && work(c))
		wait_for_file(settings.end_at);
	if (c->connected && rdma_disconnect(c->id))
		complain(c, "rdma_disconnect: %s", strerror(errno));
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->id)
		rdma_destroy_ep(c->id);
	return NULL;
}

/* ---- rounds ---- */

static void run_round(void)
{
	pthread_t threads[MOST];

	memset(connections, 0, sizeof(connections));
	pthread_barrier_init(&all_here, NULL, settings.connections);
	for (unsigned int i = 0; i < settings.connections; i++) {
		connections[i].nth = i;
		if (pthread_create(&threads[i], NULL, run, &connections[i]))
			exit(1);
	}
	for (unsigned int i = 0; i < settings.connections; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_here);
}

static int run_rounds(void)
{
	uint64_t added = 0, swapped = 0;
	unsigned int connected = 0, failed = 0;

	for (unsigned int round = 0; round < settings.rounds && !failed; round++) {
		run_round();
		for (unsigned int i = 0; i < settings.connections; i++) {
			connected += connections[i].connected;
			failed += connections[i].failed;
			added += connections[i].added;
			swapped += connections[i].swapped;
		}
	}
	printf("connected %u added %" PRIu64 " swapped %" PRIu64 "\n", connected, added, swapped);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "c:r:n:m:b:i:e:")) != -1) {
		switch (option) {
		case 'c':
			settings.connections = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			settings.rounds = strtoul(optarg, NULL, 0);
			break;
		case 'n':
			settings.operations = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			settings.mr = optarg;
			break;
		case 'b':
			settings.busy_until = optarg;
			break;
		case 'i':
			settings.idle_until = optarg;
			break;
		case 'e':
			settings.end_at = optarg;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 2 || !settings.connections || settings.connections > MOST)
		return 2;
	settings.host = argv[optind];
	settings.port = argv[optind + 1];
	return run_rounds();
}
