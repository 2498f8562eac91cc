/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both sides of RDMA-CM on a fake wire and a fake clock: one responder, any number of requesters, and messages
 * that get lost, come twice, come late or are forged.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/active.h"
#include "cm/passive.h"

enum { MAX = 64, WIRE = 512, PORT = 18516, RKEY = 0x1234ab, HALF_OPEN = 8, RATE = 1000 };

static const uint64_t second = 1000ull * 1000 * 1000;

struct sent {
	struct cm_way way;
	struct cm_mad mad;
	bool to_responder;
};

/* The responder and what is around it. */
static struct {
	struct cm_passive passive;
	struct xa_connection connections[MAX];
	uint64_t requests[MAX]; /* of the queue pair; UINT64_MAX: there is none */
	uint32_t generation[MAX];
	uint8_t depth[MAX];
	unsigned int made, removed, reports;
	char last_word[32], last_reason[160];
	int refusal; /* what accept gives, 0: a queue pair */
	char wanted[64];
	struct cm_ports ports;
	uint64_t now;
	struct sent wire[WIRE];
	size_t count;
} w;

static void put_on_wire(const struct cm_way *way, const struct cm_mad *mad, bool to_responder)
{
	assert_true(w.count < WIRE);
	w.wire[w.count++] = (struct sent){*way, *mad, to_responder};
}

static void from_responder(void *data, const struct cm_way *way, const struct cm_mad *mad)
{
	(void)data;
	put_on_wire(way, mad, false);
}

static void from_requester(void *data, const struct cm_way *way, const struct cm_mad *mad)
{
	(void)data;
	put_on_wire(way, mad, true);
}

static uint32_t lqpn_of(uint32_t index)
{
	return (w.generation[index] + 1) * MAX + index;
}

static int accept_qp(void *data, const struct cm_asked *asked, struct cm_granted *granted,
		     char text[CM_REFUSAL_LEN])
{
	uint32_t index = 0;

	(void)data;
	snprintf(w.wanted, sizeof(w.wanted), "%s", asked->mr ? asked->mr : "");
	snprintf(text, CM_REFUSAL_LEN, "no");
	if (w.refusal)
		return w.refusal;
	while (index < MAX && w.requests[index] != UINT64_MAX)
		index++;
	if (index == MAX)
		return CM_REASON_NO_RESOURCES;
	w.generation[index]++;
	w.requests[index] = 0;
	w.made++;
	*granted = (struct cm_granted){
		.lqpn = lqpn_of(index),
		.psn = 0x123456,
		.depth = asked->depth < 16 ? asked->depth : 16,
		.access = XA_ACCESS_ATOMIC,
		.rkey = RKEY,
		.iova = 0x100002000,
		.length = 4096,
		.mr = "counters",
	};
	w.depth[index] = granted->depth;
	return 0;
}

static void remove_qp(void *data, uint32_t lqpn)
{
	(void)data;
	assert_int_equal(lqpn, lqpn_of(lqpn % MAX));
	assert_true(w.requests[lqpn % MAX] != UINT64_MAX);
	w.requests[lqpn % MAX] = UINT64_MAX;
	w.removed++;
}

static uint64_t count_requests(void *data, uint32_t lqpn, bool *gone)
{
	(void)data;
	*gone = w.requests[lqpn % MAX] == UINT64_MAX || lqpn != lqpn_of(lqpn % MAX);
	return *gone ? 0 : w.requests[lqpn % MAX];
}

static uint32_t number(void *data)
{
	static uint32_t last;

	(void)data;
	return last += 0x9e3779b1;
}

static void note(void *data, const struct cm_event *event)
{
	(void)data;
	w.reports++;
	snprintf(w.last_word, sizeof(w.last_word), "%s", event->word);
	snprintf(w.last_reason, sizeof(w.last_reason), "%s", event->reason ? event->reason : "");
}

static const struct cm_passive_ops ops = {accept_qp, remove_qp, count_requests, from_responder,
					  number};
static const struct cm_reporter reporter = {.report = note};

static void start_passive(void)
{
	const struct cm_passive_attr attr = {
		.ports = &w.ports,
		.max_half_open = HALF_OPEN,
		.requests_per_second = RATE,
		.ca_guid = 0xcafe,
		.max = MAX,
		.connections = w.connections,
		.ops = &ops,
		.reporter = &reporter,
	};

	assert_int_equal(cm_passive_init(&w.passive, &attr, w.now), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.now = 100 * second;
	w.ports = (struct cm_ports){.list = {PORT, PORT + 1}, .count = 2};
	memset(w.requests, 0xff, sizeof(w.requests));
	start_passive();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cm_passive_free(&w.passive);
	return 0;
}

/* ---- requesters ---- */

static struct cm_active_attr attr_of(unsigned int host, unsigned int nth)
{
	struct cm_active_attr attr = {
		.port = PORT,
		.lqpn = 0x100 + nth,
		.comm_id = 0x1000 * host + nth,
		.tid = 0x77000000ull + nth,
		.ca_guid = 0xbeef00 + host,
		.depth = 8,
		.timeout = 14,
		.retry_cnt = 7,
		.send = from_requester,
	};
	char text[64];

	attr.way.ifindex = 3;
	memcpy(attr.way.path.smac, "\2\0\0\0\0\1", 6);
	memcpy(attr.way.path.dmac, "\2\0\0\0\0\2", 6);
	snprintf(text, sizeof(text), host % 2 ? "10.0.0.%u" : "fd00::%u", host);
	assert_true(xa_ip_parse(&attr.way.path.local, text));
	assert_true(xa_ip_parse(&attr.way.path.peer, host % 2 ? "10.0.0.100" : "fd00::100"));
	cm_way_init(&attr.way);
	return attr;
}

static void begin(struct cm_active *active, unsigned int host, unsigned int nth)
{
	const struct cm_active_attr attr = attr_of(host, nth);

	cm_active_connect(active, &attr, w.now);
}

/* As the other end sees the way. */
static struct cm_way reversed(const struct cm_way *way)
{
	struct cm_way back = *way;

	back.path.local = way->path.peer;
	back.path.peer = way->path.local;
	memcpy(back.path.smac, way->path.dmac, 6);
	memcpy(back.path.dmac, way->path.smac, 6);
	return back;
}

/* What is on the wire arrives, and what that brings about; through real frames. */
static void deliver_one(const struct sent *sent, struct cm_active *active)
{
	uint8_t frame[XA_GSI_FRAME_MAX];
	size_t len = cm_datagram_build(&sent->way, &sent->mad, frame);
	struct cm_way way = {0};
	struct cm_mad mad;

	assert_true(cm_datagram_parse(frame, len, &way, &mad));
	way.ifindex = sent->way.ifindex;
	if (sent->to_responder)
		cm_passive_receive(&w.passive, w.now, &way, &mad);
	else if (active)
		cm_active_receive(active, w.now, &way, &mad);
}

static void deliver(struct cm_active *active)
{
	for (size_t i = 0; i < w.count; i++) {
		const struct sent sent = w.wire[i];

		deliver_one(&sent, active);
	}
	w.count = 0;
}

static enum cm_attribute on_wire(size_t nth)
{
	assert_true(nth < w.count);
	return cm_mad_attribute(&w.wire[nth].mad);
}

static void lose(enum cm_attribute attribute)
{
	assert_int_equal(w.count, 1);
	assert_int_equal(on_wire(0), attribute);
	w.count = 0;
}

static void connect_one(struct cm_active *active, unsigned int host, unsigned int nth)
{
	begin(active, host, nth);
	deliver(active);
	assert_int_equal(active->state, CM_ACTIVE_ESTABLISHED);
}

static const struct xa_connection *connection_of(const struct cm_active *active)
{
	return &w.connections[active->result.rqpn % MAX];
}

static unsigned int living(void)
{
	unsigned int count = 0;

	for (int i = 0; i < MAX; i++)
		count += w.connections[i].state != XA_CONNECTION_NONE;
	return count;
}

/* The responder's clock goes on, `seconds` of it, at every moment that it asks for; what it sends is lost. */
static void pass(unsigned int seconds)
{
	uint64_t end = w.now + seconds * second, next;

	do {
		next = cm_passive_timer(&w.passive, w.now);
		w.count = 0;
		w.now = next < end ? next : end;
	} while (w.now < end);
	cm_passive_timer(&w.passive, w.now);
	w.count = 0;
}

/* ---- connection and its end ---- */

static void test_connect_and_disconnect(void **state)
{
	struct cm_active active;

	(void)state;
	for (unsigned int host = 1; host <= 2; host++) {
		begin(&active, host, 1);
		assert_int_equal(on_wire(0), CM_REQ);
		deliver(&active);
		assert_int_equal(active.state, CM_ACTIVE_ESTABLISHED);
		assert_int_equal(active.result.psn, 0x123456);
		assert_int_equal(active.result.depth, 8);
		assert_true(active.result.has_offer);
		assert_int_equal(active.result.rkey, RKEY);
		assert_int_equal(active.result.iova, 0x100002000);
		assert_int_equal(active.result.length, 4096);
		assert_string_equal(active.result.mr, "counters");
		assert_int_equal(connection_of(&active)->state, XA_CONNECTION_ESTABLISHED);
		assert_int_equal(connection_of(&active)->rqpn, 0x101);
		assert_string_equal(w.last_word, "connected");
		cm_active_disconnect(&active, w.now);
		assert_int_equal(on_wire(0), CM_DREQ);
		deliver(&active);
		assert_int_equal(active.state, CM_ACTIVE_CLOSED);
		assert_int_equal(w.removed, host);
		assert_int_equal(living(), 0);
		assert_string_equal(w.last_word, "disconnected");
	}
}

/* The first expected PSN is the one in the REP, not the REQ's; depths are crossed. */
static void test_rep_fields(void **state)
{
	struct cm_active active;
	const struct cm_rep *rep = &w.wire[1].mad.rep;

	(void)state;
	begin(&active, 1, 1);
	deliver_one(&w.wire[0], NULL);
	assert_int_equal(on_wire(1), CM_REP);
	assert_int_equal(cm_mad_tid(&w.wire[1].mad), active.attr.tid);
	assert_int_equal(ntohl(rep->remote_comm_id), active.attr.comm_id);
	assert_int_equal(CM_HIGH24(ntohl(rep->psn_vendor)), 0x123456);
	assert_int_equal(rep->resources, 8);
	assert_int_equal(rep->depth, 0);
	assert_int_equal(be64toh(rep->ca_guid), 0xcafe);
	assert_int_equal(w.wire[1].way.ifindex, 3);
	assert_int_equal(w.depth[0], 8);
}

static void test_wish(void **state)
{
	struct cm_active_attr attr = attr_of(1, 1);
	struct cm_active active;

	(void)state;
	attr.mr = "locks";
	cm_active_connect(&active, &attr, w.now);
	deliver(&active);
	assert_string_equal(w.wanted, "locks");
	assert_int_equal(active.state, CM_ACTIVE_ESTABLISHED);
}

static void test_lost_req(void **state)
{
	struct cm_active active;

	(void)state;
	begin(&active, 1, 1);
	lose(CM_REQ);
	w.now += 2 * second;
	cm_active_timer(&active, w.now);
	deliver(&active);
	assert_int_equal(active.state, CM_ACTIVE_ESTABLISHED);
	assert_int_equal(w.made, 1);
}

/* The copy of the REQ brings a copy of the REP, the same to the byte, and no second queue pair. */
static void test_lost_rep(void **state)
{
	struct cm_active active;
	struct cm_mad first;

	(void)state;
	begin(&active, 1, 1);
	deliver_one(&w.wire[0], NULL);
	first = w.wire[1].mad;
	w.count = 0;
	w.now += 2 * second;
	cm_active_timer(&active, w.now);
	deliver_one(&w.wire[0], NULL);
	assert_int_equal(on_wire(1), CM_REP);
	assert_memory_equal(&w.wire[1].mad, &first, sizeof(first));
	deliver(&active);
	assert_int_equal(active.state, CM_ACTIVE_ESTABLISHED);
	assert_int_equal(w.made, 1);
	assert_int_equal(living(), 1);
}

/* The responder repeats the REP by itself, and the requester its RTU. */
static void test_lost_rtu(void **state)
{
	struct cm_active active;

	(void)state;
	begin(&active, 1, 1);
	deliver_one(&w.wire[0], NULL);
	deliver_one(&w.wire[1], &active);
	assert_int_equal(on_wire(2), CM_RTU);
	w.count = 0;
	assert_int_equal(connection_of(&active)->state, XA_CONNECTION_HALF_OPEN);
	w.now = cm_passive_timer(&w.passive, w.now);
	cm_passive_timer(&w.passive, w.now);
	assert_int_equal(on_wire(0), CM_REP);
	deliver(&active);
	assert_int_equal(connection_of(&active)->state, XA_CONNECTION_ESTABLISHED);
	assert_int_equal(w.made, 1);
}

static void test_first_request_stands_for_rtu(void **state)
{
	struct cm_active active;

	(void)state;
	begin(&active, 1, 1);
	deliver_one(&w.wire[0], NULL);
	deliver_one(&w.wire[1], &active);
	w.count = 0;
	w.requests[active.result.rqpn % MAX] = 1;
	w.now = cm_passive_timer(&w.passive, w.now);
	assert_true(cm_passive_timer(&w.passive, w.now) == XA_NEVER);
	assert_int_equal(w.count, 0);
	assert_int_equal(connection_of(&active)->state, XA_CONNECTION_ESTABLISHED);
}

static void test_lost_dreq_and_drep(void **state)
{
	struct cm_active active;

	(void)state;
	connect_one(&active, 1, 1);
	cm_active_disconnect(&active, w.now);
	lose(CM_DREQ);
	w.now += 2 * second;
	cm_active_timer(&active, w.now);
	deliver_one(&w.wire[0], NULL);
	assert_int_equal(living(), 0);
	w.count = 0; /* with the DREP */
	w.now += 2 * second;
	cm_active_timer(&active, w.now);
	deliver(&active);
	assert_int_equal(active.state, CM_ACTIVE_CLOSED);
	assert_int_equal(w.removed, 1);
}

static void test_nobody_answers_the_requester(void **state)
{
	struct cm_active active;
	unsigned int tries = 0;

	(void)state;
	begin(&active, 1, 1);
	while (active.state == CM_ACTIVE_CONNECTING) {
		assert_true(++tries < 100);
		w.now = active.deadline;
		cm_active_timer(&active, w.now);
	}
	assert_int_equal(active.state, CM_ACTIVE_FAILED);
	assert_int_equal(active.reason, 0);
	assert_int_equal(w.count, 8);
	assert_true(active.deadline == XA_NEVER);
}

static void test_responder_is_gone_at_the_end(void **state)
{
	struct cm_active active;

	(void)state;
	connect_one(&active, 1, 1);
	cm_active_disconnect(&active, w.now);
	while (active.state == CM_ACTIVE_CLOSING) {
		w.now = active.deadline;
		cm_active_timer(&active, w.now);
	}
	assert_int_equal(active.state, CM_ACTIVE_CLOSED);
	assert_int_equal(w.count, 4);
}

/* A requester that never answers: REP again and again, then REJ for timeout; the queue pair goes. */
static void test_requester_vanishes(void **state)
{
	struct cm_active active;
	unsigned int reps = 0;

	(void)state;
	begin(&active, 1, 1);
	deliver_one(&w.wire[0], NULL);
	w.count = 0;
	for (uint64_t next = cm_passive_timer(&w.passive, w.now); next != XA_NEVER;
	     next = cm_passive_timer(&w.passive, w.now)) {
		w.now = next;
		w.count = 0;
		cm_passive_timer(&w.passive, w.now);
		reps += w.count && on_wire(0) == CM_REP;
	}
	assert_int_equal(reps, 7);
	assert_int_equal(on_wire(0), CM_REJ);
	assert_int_equal(ntohs(w.wire[0].mad.rej.reason), CM_REASON_TIMEOUT);
	assert_int_equal(CM_MESSAGE(w.wire[0].mad.rej.message), CM_REJECTED_REP);
	assert_int_equal(w.removed, 1);
	assert_int_equal(living(), 0);
}

static void send_to_responder(const struct cm_active *active, struct cm_mad *mad)
{
	const struct cm_way back = reversed(&active->attr.way);

	cm_passive_receive(&w.passive, w.now, &back, mad);
}

static void make_answer(const struct cm_active *active, enum cm_attribute attribute,
			struct cm_mad *mad)
{
	cm_mad_init(mad, attribute, active->attr.tid);
	mad->ids.local_comm_id = htonl(active->attr.comm_id);
	mad->ids.remote_comm_id = htonl(connection_of(active)->local_comm_id);
}

/* Half-open, and the requester knows what the REP says but has not answered. */
static void open_half(struct cm_active *active, unsigned int host, unsigned int nth)
{
	begin(active, host, nth);
	deliver_one(&w.wire[0], NULL);
	deliver_one(&w.wire[1], active);
	w.count = 0;
	assert_int_equal(connection_of(active)->state, XA_CONNECTION_HALF_OPEN);
}

static void test_mra_gives_time(void **state)
{
	struct cm_active active;
	struct cm_mad mad;
	uint64_t before, after;

	(void)state;
	open_half(&active, 1, 1);
	before = cm_passive_timer(&w.passive, w.now);
	make_answer(&active, CM_MRA, &mad);
	mad.mra.message = CM_REJECTED_REP << 6;
	mad.mra.timeout = 22 << 3;
	send_to_responder(&active, &mad);
	after = cm_passive_timer(&w.passive, w.now);
	assert_true(after > before + 10 * second);
}

static void test_rej_of_the_rep(void **state)
{
	struct cm_active active;
	struct cm_mad mad;

	(void)state;
	open_half(&active, 1, 1);
	make_answer(&active, CM_REJ, &mad);
	mad.rej.message = CM_REJECTED_REP << 6;
	send_to_responder(&active, &mad);
	assert_int_equal(living(), 0);
	assert_int_equal(w.removed, 1);
}

static void test_mra_of_the_responder(void **state)
{
	struct cm_active active;
	struct cm_mad mad;
	uint64_t before;

	(void)state;
	begin(&active, 1, 1);
	before = active.deadline;
	cm_mad_init(&mad, CM_MRA, active.attr.tid);
	mad.mra.remote_comm_id = htonl(active.attr.comm_id);
	mad.mra.timeout = 20 << 3;
	cm_active_receive(&active, w.now, &active.attr.way, &mad);
	assert_true(active.deadline > before + 4 * second);
}

/* The responder ends it: answered, and known. */
static void test_dreq_of_the_responder(void **state)
{
	struct cm_active active;
	struct cm_mad mad;

	(void)state;
	connect_one(&active, 1, 1);
	cm_mad_init(&mad, CM_DREQ, 5);
	mad.dreq.local_comm_id = htonl(active.remote_comm_id);
	mad.dreq.remote_comm_id = htonl(active.attr.comm_id);
	mad.dreq.qpn = htonl((active.attr.lqpn + 1) << 8);
	cm_active_receive(&active, w.now, &active.attr.way, &mad);
	assert_int_equal(active.state, CM_ACTIVE_ESTABLISHED);
	mad.dreq.qpn = htonl(active.attr.lqpn << 8);
	cm_active_receive(&active, w.now, &active.attr.way, &mad);
	assert_int_equal(active.state, CM_ACTIVE_CLOSED);
	assert_int_equal(on_wire(0), CM_DREP);
	assert_int_equal(cm_mad_tid(&w.wire[0].mad), 5);
}

/* ---- refusals ---- */

/* The REQ of a requester, changed, must be refused for this reason, and no queue pair made. */
static void refused(struct cm_active *active, int reason)
{
	deliver(active);
	assert_int_equal(active->state, CM_ACTIVE_FAILED);
	assert_int_equal(active->reason, reason);
	assert_int_equal(w.made, 0);
	assert_int_equal(living(), 0);
	assert_string_equal(w.last_word, "refused");
}

static void test_refusals(void **state)
{
	struct cm_req *req = &w.wire[0].mad.req;
	struct cm_active active;

	(void)state;
	begin(&active, 1, 1);
	req->service_id = htobe64(CM_SERVICE(PORT + 2));
	refused(&active, CM_REASON_SERVICE_ID);
	begin(&active, 1, 2);
	req->service_id = htobe64(0x0000000001110000ull | PORT); /* RDMA_PS_UDP */
	refused(&active, CM_REASON_SERVICE_ID);
	begin(&active, 1, 3);
	req->eecn_timeout |= htonl(1 << 1); /* UC */
	refused(&active, CM_REASON_TRANSPORT);
	begin(&active, 1, 4);
	req->retries_srq |= 1; /* XRC */
	refused(&active, CM_REASON_TRANSPORT);
	begin(&active, 1, 5);
	req->local_gid[3] ^= htonl(1);
	refused(&active, CM_REASON_GID);
	begin(&active, 1, 6);
	req->ip.source[3] ^= htonl(1);
	refused(&active, CM_REASON_GID);
	begin(&active, 1, 7);
	req->ip.ip_version = 6 << 4;
	refused(&active, CM_REASON_GID);
	begin(&active, 1, 8);
	req->mtu_rnr = 6 << 4;
	refused(&active, CM_REASON_MTU);
	begin(&active, 1, 9);
	req->mtu_rnr = 0;
	refused(&active, CM_REASON_MTU);
	begin(&active, 1, 10);
	req->pkey = htons(0x8001);
	refused(&active, CM_REASON_UNSUPPORTED);
	begin(&active, 1, 11);
	req->qpn_resources = htonl(1 << 8);
	refused(&active, CM_REASON_UNSUPPORTED);
}

static void test_refusal_with_words(void **state)
{
	struct cm_active active;

	(void)state;
	w.refusal = CM_REASON_CONSUMER;
	begin(&active, 1, 1);
	refused(&active, CM_REASON_CONSUMER);
	assert_string_equal(active.text, "no");
	w.refusal = CM_REASON_NO_RESOURCES;
	begin(&active, 1, 2);
	refused(&active, CM_REASON_NO_RESOURCES);
	assert_string_equal(active.text, "");
}

/* ---- what a stranger can send ---- */

static void test_forged_messages_end_nothing(void **state)
{
	static const enum cm_attribute all[] = {CM_RTU, CM_REJ, CM_MRA, CM_DREQ, CM_DREP, CM_REP};
	struct cm_active active, stranger;
	struct cm_mad mad;

	(void)state;
	connect_one(&active, 1, 1);
	begin(&stranger, 3, 9);
	w.count = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		make_answer(&active, all[i], &mad);
		mad.dreq.qpn = htonl(active.result.rqpn << 8);
		/* From elsewhere, with either id wrong, and for another queue pair. */
		send_to_responder(&stranger, &mad);
		mad.ids.local_comm_id ^= htonl(1);
		send_to_responder(&active, &mad);
		mad.ids.local_comm_id ^= htonl(1);
		mad.ids.remote_comm_id ^= htonl(1);
		send_to_responder(&active, &mad);
		mad.ids.remote_comm_id ^= htonl(1);
		if (all[i] != CM_DREQ)
			continue;
		w.count = 0;
		mad.dreq.qpn ^= htonl(1 << 8);
		send_to_responder(&active, &mad);
		assert_int_equal(w.count, 0);
	}
	/* A REJ out of the blue does not end what is established. */
	make_answer(&active, CM_REJ, &mad);
	send_to_responder(&active, &mad);
	assert_int_equal(connection_of(&active)->state, XA_CONNECTION_ESTABLISHED);
	assert_int_equal(w.removed, 0);
}

/* A DREQ for what is not there is answered, so that the requester is done with it. */
static void test_unknown_dreq(void **state)
{
	struct cm_active active;
	struct cm_mad mad;

	(void)state;
	begin(&active, 1, 1);
	w.count = 0;
	make_answer(&active, CM_DREQ, &mad);
	mad.dreq.remote_comm_id = htonl(0x55);
	send_to_responder(&active, &mad);
	assert_int_equal(on_wire(0), CM_DREP);
	assert_int_equal(cm_mad_local_id(&w.wire[0].mad), 0x55);
	assert_int_equal(cm_mad_remote_id(&w.wire[0].mad), active.attr.comm_id);
	assert_int_equal(cm_mad_tid(&w.wire[0].mad), active.attr.tid);
}

/* A late copy of a REQ whose connection is over makes no new one. */
static void test_late_req(void **state)
{
	struct cm_active active;
	struct sent req;

	(void)state;
	begin(&active, 1, 1);
	req = w.wire[0];
	deliver(&active);
	cm_active_disconnect(&active, w.now);
	deliver(&active);
	deliver_one(&req, NULL);
	assert_int_equal(on_wire(0), CM_REJ);
	assert_int_equal(ntohs(w.wire[0].mad.rej.reason), CM_REASON_STALE);
	assert_int_equal(w.made, 1);
	/* Some time later the id may come again. */
	w.count = 0;
	w.now += 60 * second;
	deliver_one(&req, NULL);
	assert_int_equal(on_wire(0), CM_REP);
}

/*
 * The same queue pair of the same host again: perhaps the host has been restarted, perhaps somebody lies. The new
 * one is refused, the old one is asked.
 */
static void test_stale_but_alive(void **state)
{
	struct cm_active active, again;

	(void)state;
	connect_one(&active, 1, 1);
	begin(&again, 1, 1);
	again.request.req.local_comm_id = w.wire[0].mad.req.local_comm_id = htonl(0x999);
	deliver_one(&w.wire[0], NULL);
	assert_int_equal(on_wire(1), CM_REJ);
	assert_int_equal(ntohs(w.wire[1].mad.rej.reason), CM_REASON_STALE);
	assert_int_equal(on_wire(2), CM_REP);
	deliver_one(&w.wire[2], &active);
	assert_int_equal(on_wire(3), CM_RTU);
	deliver_one(&w.wire[3], NULL);
	w.count = 0;
	pass(120);
	assert_int_equal(connection_of(&active)->state, XA_CONNECTION_ESTABLISHED);
	assert_int_equal(w.removed, 0);
}

static void test_stale_and_used(void **state)
{
	struct cm_active active, again;

	(void)state;
	connect_one(&active, 1, 1);
	begin(&again, 1, 1);
	w.wire[0].mad.req.local_comm_id = htonl(0x999);
	deliver_one(&w.wire[0], NULL);
	w.count = 0;
	w.requests[active.result.rqpn % MAX]++;
	pass(120);
	assert_int_equal(w.removed, 0);
}

static void test_stale_and_dead(void **state)
{
	struct cm_active active, again;
	struct sent req;

	(void)state;
	connect_one(&active, 1, 1);
	begin(&again, 1, 1);
	w.wire[0].mad.req.local_comm_id = htonl(0x999);
	req = w.wire[0];
	deliver_one(&req, NULL);
	w.count = 0;
	pass(120);
	assert_int_equal(w.removed, 1);
	assert_int_equal(living(), 0);
	deliver_one(&req, NULL);
	assert_int_equal(on_wire(0), CM_REP);
}

/* Somebody else has taken the queue pair down: its connection is worth nothing. */
static void test_queue_pair_gone(void **state)
{
	struct cm_active active, again;

	(void)state;
	connect_one(&active, 1, 1);
	w.requests[active.result.rqpn % MAX] = UINT64_MAX;
	begin(&again, 1, 1);
	again.attr.comm_id = 0x999;
	w.wire[0].mad.req.local_comm_id = htonl(0x999);
	deliver(&again);
	assert_int_equal(again.state, CM_ACTIVE_ESTABLISHED);
	assert_int_equal(living(), 1);
}

/* Half-open connections have a limit; a new one may take the place of one that is silent, after a while. */
static void test_flood_of_reqs(void **state)
{
	struct cm_active keep, flood[40], late;

	(void)state;
	connect_one(&keep, 1, 1);
	for (unsigned int i = 0; i < 40; i++) {
		w.count = 0;
		begin(&flood[i], 3 + i, 2);
		deliver_one(&w.wire[0], NULL);
		w.now += second / 100;
	}
	assert_int_equal(living(), 1 + HALF_OPEN);
	assert_int_equal(w.passive.half_open, HALF_OPEN);
	assert_int_equal(w.made, 1 + HALF_OPEN);
	w.now += second;
	w.count = 0;
	connect_one(&late, 5, 60);
	assert_int_equal(living(), 1 + HALF_OPEN);
	assert_int_equal(w.removed, 1);
	pass(120);
	assert_int_equal(living(), 2);
	assert_int_equal(connection_of(&keep)->state, XA_CONNECTION_ESTABLISHED);
	assert_int_equal(connection_of(&late)->state, XA_CONNECTION_ESTABLISHED);
}

/* One that is half-open only because its RTU was lost is not evicted. */
static void test_eviction_spares_the_living(void **state)
{
	struct cm_active active[HALF_OPEN], late;

	(void)state;
	for (unsigned int i = 0; i < HALF_OPEN; i++)
		open_half(&active[i], 1, i);
	w.requests[active[0].result.rqpn % MAX] = 5;
	w.now += 2 * second;
	connect_one(&late, 1, 60);
	assert_int_equal(w.removed, 0);
	assert_int_equal(connection_of(&active[0])->state, XA_CONNECTION_ESTABLISHED);
}

static void test_rate(void **state)
{
	struct cm_active active;
	struct cm_mad mad;

	(void)state;
	w.refusal = CM_REASON_CONSUMER;
	for (unsigned int i = 0; i < 2 * RATE; i++) {
		begin(&active, 1, i);
		w.count = 1;
		deliver_one(&w.wire[0], NULL);
		w.count = 0;
	}
	assert_int_equal(w.passive.counters.refused, RATE);
	assert_int_equal(w.passive.counters.limited, RATE);
	/* Answers to messages that nobody knows have a limit of their own. */
	make_answer(&active, CM_DREQ, &mad);
	for (unsigned int i = 0; i < 2 * RATE; i++) {
		w.count = 0;
		send_to_responder(&active, &mad);
	}
	assert_int_equal(w.count, 0);
	assert_int_equal(w.passive.counters.limited, 2 * RATE);
	w.now += second / 2;
	for (unsigned int i = 0; i < RATE; i++) {
		w.count = 0;
		begin(&active, 1, i);
		deliver_one(&w.wire[0], NULL);
	}
	assert_int_equal(w.passive.counters.refused, RATE + RATE / 2);
}

/* Bytes of any kind: no crash, no connection, nothing taken down. */
static void test_garbage(void **state)
{
	struct cm_active active;
	struct cm_way back;
	struct cm_mad mad;

	(void)state;
	connect_one(&active, 1, 1);
	back = reversed(&active.attr.way);
	w.refusal = CM_REASON_CONSUMER;
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		for (size_t j = 0; j < sizeof(mad); j++)
			((uint8_t *)&mad)[j] = random();
		mad.header.attribute = htons(CM_REQ + random() % 12);
		if (i % 3 == 0)
			mad.ids.remote_comm_id = htonl(connection_of(&active)->local_comm_id);
		w.now += second / 50;
		w.count = 0;
		cm_passive_receive(&w.passive, w.now, &back, &mad);
		cm_active_receive(&active, w.now, &active.attr.way, &mad);
		cm_passive_timer(&w.passive, w.now);
	}
	assert_int_equal(connection_of(&active)->state, XA_CONNECTION_ESTABLISHED);
	assert_int_equal(active.state, CM_ACTIVE_ESTABLISHED);
	assert_int_equal(w.made, 1);
	assert_int_equal(w.removed, 0);
}

/* ---- a new process goes on ---- */

static void test_restart(void **state)
{
	struct cm_active active, half, gone;
	struct cm_mad rep;

	(void)state;
	connect_one(&active, 1, 1);
	connect_one(&gone, 1, 2);
	begin(&half, 2, 3);
	deliver_one(&w.wire[0], NULL);
	rep = w.wire[1].mad;
	w.count = 0;
	w.requests[gone.result.rqpn % MAX] = UINT64_MAX;
	cm_passive_free(&w.passive);
	w.now += 10 * second;
	start_passive();
	assert_int_equal(living(), 2);
	assert_int_equal(w.passive.half_open, 1);
	cm_passive_timer(&w.passive, w.now);
	deliver(&active);
	/* The half-open one is asked again, with the same REP. */
	w.now = cm_passive_timer(&w.passive, w.now);
	cm_passive_timer(&w.passive, w.now);
	assert_int_equal(on_wire(0), CM_REP);
	assert_memory_equal(&w.wire[0].mad, &rep, sizeof(rep));
	deliver(&half);
	assert_int_equal(connection_of(&half)->state, XA_CONNECTION_ESTABLISHED);
	/* The established one can be ended. */
	cm_active_disconnect(&active, w.now);
	deliver(&active);
	assert_int_equal(active.state, CM_ACTIVE_CLOSED);
	assert_int_equal(w.removed, 1);
	assert_int_equal(living(), 1);
}

/* Who went while no process was there does not come again: all that were there are asked. */
static void test_restart_asks(void **state)
{
	struct cm_active alive, used, dead;
	unsigned int reps;

	(void)state;
	connect_one(&alive, 1, 1);
	connect_one(&used, 1, 2);
	connect_one(&dead, 2, 3);
	cm_passive_free(&w.passive);
	start_passive();
	cm_passive_timer(&w.passive, w.now);
	assert_int_equal(w.count, 3);
	for (reps = 0; reps < 3; reps++)
		assert_int_equal(on_wire(reps), CM_REP);
	deliver(&alive);
	w.requests[used.result.rqpn % MAX]++;
	pass(120);
	assert_int_equal(connection_of(&alive)->state, XA_CONNECTION_ESTABLISHED);
	assert_int_equal(connection_of(&used)->state, XA_CONNECTION_ESTABLISHED);
	assert_int_equal(connection_of(&dead)->state, XA_CONNECTION_NONE);
	assert_int_equal(w.removed, 1);
	assert_string_equal(w.last_reason, "the peer has forgotten it");
}

/* More than may be asked at once: one after the other. */
static void test_restart_asks_all(void **state)
{
	static struct cm_active active[5 * HALF_OPEN];

	(void)state;
	for (unsigned int i = 0; i < 5 * HALF_OPEN; i++)
		connect_one(&active[i], 1 + i % 3, i);
	cm_passive_free(&w.passive);
	start_passive();
	cm_passive_timer(&w.passive, w.now);
	assert_int_equal(w.count, HALF_OPEN);
	pass(600);
	assert_int_equal(living(), 0);
	assert_int_equal(w.removed, 5 * HALF_OPEN);
}

/*
 * A host that has crashed, and has other queue pairs now: when it gets no more of them, those that it has are asked,
 * but not again and again, as a stranger could bring that about.
 */
static void test_full_of_the_dead(void **state)
{
	struct cm_active alive, dead, late;

	(void)state;
	connect_one(&alive, 1, 1);
	connect_one(&dead, 1, 2);
	w.refusal = CM_REASON_NO_RESOURCES;
	begin(&late, 1, 3);
	deliver_one(&w.wire[0], &late);
	assert_int_equal(w.count, 4);
	assert_int_equal(on_wire(1), CM_REJ);
	assert_int_equal(on_wire(2), CM_REP);
	assert_int_equal(on_wire(3), CM_REP);
	for (size_t i = 2; i < w.count; i++)
		deliver_one(&w.wire[i], &alive);
	w.count = 0;
	begin(&late, 1, 4);
	deliver_one(&w.wire[0], &late);
	assert_int_equal(w.count, 2);
	pass(120);
	assert_int_equal(connection_of(&alive)->state, XA_CONNECTION_ESTABLISHED);
	assert_int_equal(connection_of(&dead)->state, XA_CONNECTION_NONE);
	w.refusal = 0;
	connect_one(&late, 1, 5);
}

static void test_restart_with_nonsense(void **state)
{
	(void)state;
	cm_passive_free(&w.passive);
	memset(w.connections, 0xff, sizeof(w.connections));
	start_passive();
	assert_int_equal(living(), 0);
}

static void test_many_in_a_row(void **state)
{
	struct cm_active active;

	(void)state;
	for (unsigned int i = 0; i < 2000; i++) {
		w.now += second / 100;
		connect_one(&active, 1 + i % 9, i);
		cm_active_disconnect(&active, w.now);
		deliver(&active);
		assert_int_equal(active.state, CM_ACTIVE_CLOSED);
	}
	assert_int_equal(w.made, 2000);
	assert_int_equal(w.removed, 2000);
	assert_int_equal(living(), 0);
}

static void test_many_at_once(void **state)
{
	static struct cm_active active[MAX + 1];

	(void)state;
	for (unsigned int i = 0; i < MAX; i++)
		connect_one(&active[i], 1 + i % 3, i);
	begin(&active[MAX], 1, MAX);
	deliver(&active[MAX]);
	assert_int_equal(active[MAX].reason, CM_REASON_NO_RESOURCES);
	for (unsigned int i = 0; i < MAX; i++) {
		cm_active_disconnect(&active[i], w.now);
		deliver(&active[i]);
		assert_int_equal(active[i].state, CM_ACTIVE_CLOSED);
	}
	assert_int_equal(living(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_connect_and_disconnect),
		TEST(test_rep_fields),
		TEST(test_wish),
		TEST(test_lost_req),
		TEST(test_lost_rep),
		TEST(test_lost_rtu),
		TEST(test_first_request_stands_for_rtu),
		TEST(test_lost_dreq_and_drep),
		TEST(test_nobody_answers_the_requester),
		TEST(test_responder_is_gone_at_the_end),
		TEST(test_requester_vanishes),
		TEST(test_mra_gives_time),
		TEST(test_rej_of_the_rep),
		TEST(test_mra_of_the_responder),
		TEST(test_dreq_of_the_responder),
		TEST(test_refusals),
		TEST(test_refusal_with_words),
		TEST(test_forged_messages_end_nothing),
		TEST(test_unknown_dreq),
		TEST(test_late_req),
		TEST(test_stale_but_alive),
		TEST(test_stale_and_used),
		TEST(test_stale_and_dead),
		TEST(test_queue_pair_gone),
		TEST(test_flood_of_reqs),
		TEST(test_eviction_spares_the_living),
		TEST(test_rate),
		TEST(test_garbage),
		TEST(test_restart),
		TEST(test_restart_asks),
		TEST(test_restart_asks_all),
		TEST(test_full_of_the_dead),
		TEST(test_restart_with_nonsense),
		TEST(test_many_in_a_row),
		TEST(test_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
