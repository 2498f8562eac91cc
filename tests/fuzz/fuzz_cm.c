/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: what strangers can say to the connection manager. The first byte of an input chooses: frames to
 * be read, the exchange with a client of perftest, or messages to both sides of RDMA-CM, who take them for the ones that
 * they sent each other, changed here and there.
 *
 * What must hold is checked: no more half-open connections than there may be, every queue pair taken down once, and
 * none that has no connection.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "cm/active.h"
#include "cm/passive.h"
#include "cm/perftest.h"

enum { MAX = 16, HALF_OPEN = 4, PORT = 18516, CHANGES = 8 };

struct input {
	const uint8_t *at;
	size_t left;
};

static uint32_t take(struct input *in, unsigned int bytes)
{
	uint32_t value = 0;

	for (; bytes > 0 && in->left > 0; bytes--, in->left--)
		value = value << 8 | *in->at++;
	return value;
}

/* ---- frames ---- */

static void read_frame(struct input *in)
{
	struct cm_way way = {0};
	struct cm_mad mad;

	cm_datagram_parse(in->at, in->left, &way, &mad);
}

/* ---- perftest ---- */

static bool connect_qp(void *data, const struct cm_pt_key *client, uint32_t cycle,
		       struct cm_pt_key *ours, char why[CM_PT_WHY_LEN])
{
	(void)data;
	(void)cycle;
	*ours = *client;
	why[0] = client->qpn & 1;
	return !why[0];
}

static bool is_used(void *data, uint32_t qpn)
{
	(void)qpn;
	return *(const uint8_t *)data & 1;
}

static void revoke_qp(void *data, uint32_t qpn)
{
	(void)data;
	(void)qpn;
}

static void talk_to_perftest(struct input *in)
{
	static const struct cm_pt_ops ops = {connect_qp, is_used, revoke_qp};
	static struct cm_perftest exchange;
	enum cm_pt_verdict verdict = CM_PT_MORE;
	uint8_t used = take(in, 1), *at;

	cm_perftest_init(&exchange, &ops, &used);
	while (in->left && verdict != CM_PT_REFUSED && verdict != CM_PT_CLOSE) {
		size_t room = cm_perftest_room(&exchange, &at);

		if (!room || room > CM_PT_KEY_LEN)
			abort();
		room = room < in->left ? room : in->left;
		memcpy(at, in->at, room);
		in->at += room;
		in->left -= room;
		verdict = cm_perftest_take(&exchange, room);
	}
	cm_perftest_hung_up(&exchange);
}

/* ---- RDMA-CM ---- */

static struct {
	struct cm_passive passive;
	struct cm_active active;
	struct xa_connection connections[MAX];
	bool alive[MAX];
	uint32_t generation[MAX];
	uint64_t now;
	struct cm_mad last[2]; /* that the passive, the active side sent */
	struct cm_way way[2];
} w;

static uint32_t lqpn_of(uint32_t index)
{
	return (w.generation[index] + 1) * MAX + index;
}

static int accept_qp(void *data, const struct cm_asked *asked, struct cm_granted *granted,
		     char text[CM_REFUSAL_LEN])
{
	uint32_t index = 0;

	(void)data;
	text[0] = '\0';
	if (asked->rqpn & 1)
		return CM_REASON_CONSUMER;
	while (index < MAX && w.alive[index])
		index++;
	if (index == MAX)
		return CM_REASON_NO_RESOURCES;
	w.generation[index]++;
	w.alive[index] = true;
	granted->lqpn = lqpn_of(index);
	return 0;
}

static void remove_qp(void *data, uint32_t lqpn)
{
	(void)data;
	if (!w.alive[lqpn % MAX] || lqpn != lqpn_of(lqpn % MAX))
		abort();
	w.alive[lqpn % MAX] = false;
}

static uint64_t count_requests(void *data, uint32_t lqpn, bool *gone)
{
	(void)data;
	*gone = !w.alive[lqpn % MAX] || lqpn != lqpn_of(lqpn % MAX);
	return 0;
}

static void sent(int side, const struct cm_way *way, const struct cm_mad *mad)
{
	w.last[side] = *mad;
	w.way[side] = *way;
	w.way[side].path.local = way->path.peer;
	w.way[side].path.peer = way->path.local;
}

static void passive_sends(void *data, const struct cm_way *way, const struct cm_mad *mad)
{
	(void)data;
	sent(0, way, mad);
}

static void active_sends(void *data, const struct cm_way *way, const struct cm_mad *mad)
{
	(void)data;
	sent(1, way, mad);
}

static uint32_t number(void *data)
{
	(void)data;
	return 0x5a;
}

static void say_nothing(void *data, const struct cm_event *event)
{
	(void)data;
	(void)event;
}

static const struct cm_passive_ops ops = {accept_qp, remove_qp, count_requests, passive_sends,
					  number};
static const struct cm_reporter reporter = {.report = say_nothing};
static const struct cm_ports ports = {.list = {PORT}, .count = 1};

static void begin_connection(uint32_t nth)
{
	struct cm_active_attr attr = {
		.port = PORT,
		.lqpn = 0x100 + nth,
		.comm_id = 0x1000 + nth,
		.depth = 8,
		.send = active_sends,
	};

	xa_ip_parse(&attr.way.path.local, "10.0.0.1");
	xa_ip_parse(&attr.way.path.peer, "10.0.0.2");
	cm_way_init(&attr.way);
	cm_active_connect(&w.active, &attr, w.now);
}

static void set_up(void)
{
	const struct cm_passive_attr attr = {
		.ports = &ports,
		.max_half_open = HALF_OPEN,
		.requests_per_second = 1000,
		.max = MAX,
		.connections = w.connections,
		.ops = &ops,
		.reporter = &reporter,
	};

	memset(&w, 0, sizeof(w));
	w.now = 1ull << 40;
	if (cm_passive_init(&w.passive, &attr, w.now))
		abort();
	begin_connection(0);
}

/* Of the last message of one side, with some bytes changed, a copy arrives at either. */
static void deliver(struct input *in, uint8_t kind)
{
	int side = kind & 1;
	struct cm_mad mad = w.last[side];

	for (uint32_t i = take(in, 1) % CHANGES; i > 0; i--)
		((uint8_t *)&mad)[take(in, 1)] = take(in, 1);
	if (kind & 2)
		cm_passive_receive(&w.passive, w.now, &w.way[1], &mad);
	else
		cm_active_receive(&w.active, w.now, &w.active.attr.way, &mad);
}

static void check(void)
{
	uint32_t half_open = 0;

	for (uint32_t i = 0; i < MAX; i++) {
		const struct xa_connection *connection = &w.connections[i];

		half_open += connection->state == XA_CONNECTION_HALF_OPEN;
		if (w.alive[i] && connection->state == XA_CONNECTION_NONE)
			abort();
	}
	if (half_open > HALF_OPEN || half_open != w.passive.half_open ||
	    w.passive.waiting_count > w.passive.waiting_max)
		abort();
}

static void exchange_messages(struct input *in)
{
	set_up();
	while (in->left) {
		uint8_t kind = take(in, 1);

		if (kind < 0xc0)
			deliver(in, kind);
		else if (kind < 0xd0)
			begin_connection(kind & 0xf);
		else if (kind < 0xe0)
			cm_active_disconnect(&w.active, w.now);
		else
			w.now += (uint64_t)take(in, 1) << 26;
		cm_passive_timer(&w.passive, w.now);
		cm_active_timer(&w.active, w.now);
		check();
	}
	cm_passive_free(&w.passive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	switch (take(&in, 1) % 4) {
	case 0:
		read_frame(&in);
		break;
	case 1:
		talk_to_perftest(&in);
		break;
	default:
		exchange_messages(&in);
	}
	return 0;
}
