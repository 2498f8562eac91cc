/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cm_server.c - a server of librdmacm with some words in its memory, for requesters of any kind.
 *
 * Usage: cm_server PORT WAY...
 *
 * Takes one connection for each WAY, one after the other, and ends:
 *	offer	accepts, and tells of the words as `xatomic serve` does
 *	plain	accepts without private data
 *	refuse	rejects with a text as `xatomic serve` does
 *	reject	rejects without private data
 *	leave	accepts as "offer", and disconnects when word 0 has become 100
 *	die	accepts as "offer", and ends without a word when word 0 has become 100
 *
 * A line for what happens; "listening" is the first one, and "accepted" has the rkey and the address of the words.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm/wire.h"

enum { WORDS = 512, ENOUGH = 100, STEP_US = 1000 };

static uint64_t words[WORDS] __attribute__((aligned(4096)));

static void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* For both families. */
static struct rdma_cm_id *listen_on(const char *port)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE}, *list;
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *listener;

	if (rdma_getaddrinfo("::", port, &hints, &list))
		die("rdma_getaddrinfo");
	if (rdma_create_ep(&listener, list, NULL, &attr) || rdma_listen(listener, 8))
		die("rdma_listen");
	rdma_freeaddrinfo(list);
	return listener;
}

static void put_header(struct cm_data_header *header, enum cm_data_kind kind, size_t len)
{
	*header = (struct cm_data_header){htobe32(CM_MAGIC), CM_DATA_VERSION, kind, htobe16(len)};
}

static void reject(struct rdma_cm_id *id, const char *text)
{
	struct cm_refusal refusal = {0};

	put_header(&refusal.header, CM_DATA_REFUSAL, sizeof(refusal));
	strcpy(refusal.text, text);
	if (rdma_reject(id, *text ? &refusal : NULL, *text ? sizeof(refusal) : 0))
		die("rdma_reject");
	puts("rejected");
}

/*
 * librdmacm has one protection domain for all connections of a device as long as there is one, and main keeps the
 * first: so the words keep their rkey.
 */
static uint32_t rkey_of_words(struct rdma_cm_id *id)
{
	static struct ibv_mr *mr;

	if (!mr)
		mr = ibv_reg_mr(id->pd, words, sizeof(words),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		die("ibv_reg_mr");
	return mr->rkey;
}

/* Takes what the peer asks for, as many in flight as it wants. */
static void take(struct rdma_cm_id *id, bool tell)
{
	struct cm_offer_data offer = {.iova = htobe64((uintptr_t)words),
				      .bytes = htobe64(sizeof(words)),
				      .rkey = htobe32(rkey_of_words(id)),
				      .access = IBV_ACCESS_REMOTE_ATOMIC,
				      .name = "guest"};
	struct rdma_conn_param param = {.responder_resources =
						id->event->param.conn.responder_resources,
					.rnr_retry_count = 7};

	put_header(&offer.header, CM_DATA_OFFER, sizeof(offer));
	if (tell) {
		param.private_data = &offer;
		param.private_data_len = sizeof(offer);
	}
	if (rdma_accept(id, &param))
		die("rdma_accept");
	printf("accepted %" PRIu32 " %" PRIuPTR "\n", rkey_of_words(id), (uintptr_t)words);
}

static void wait_for_words(void)
{
	while (*(volatile uint64_t *)words < ENOUGH)
		usleep(STEP_US);
}

/* The ends of the connection, whoever begins with it. */
static void wait_for_end(struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	do {
		if (rdma_get_cm_event(id->channel, &event))
			die("rdma_get_cm_event");
		type = event->event;
		puts(rdma_event_str(type));
		rdma_ack_cm_event(event);
	} while (type != RDMA_CM_EVENT_DISCONNECTED);
}

static void serve(struct rdma_cm_id *id, const char *way)
{
	if (!strcmp(way, "refuse") || !strcmp(way, "reject")) {
		reject(id, !strcmp(way, "refuse") ? "the shop is closed" : "");
		return;
	}
	memset(words, 0, sizeof(words));
	take(id, strcmp(way, "plain"));
	if (!strcmp(way, "leave") || !strcmp(way, "die"))
		wait_for_words();
	if (!strcmp(way, "die"))
		_exit(0);
	if (strcmp(way, "leave"))
		wait_for_end(id);
	printf("words %" PRIu64 " %" PRIu64 "\n", words[0], words[1]);
	rdma_disconnect(id);
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener, *id;

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	listener = listen_on(argv[1]);
	puts("listening");
	for (int i = 2; i < argc; i++) {
		if (rdma_get_request(listener, &id))
			die("rdma_get_request");
		printf("request depth %u\n", id->event->param.conn.responder_resources);
		serve(id, argv[i]);
		if (i > 2)
			rdma_destroy_ep(id);
	}
	rdma_destroy_ep(listener);
	return 0;
}
