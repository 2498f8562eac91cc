/* SPDX-License-Identifier: BSD-2-Clause */
#include "manager.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/error.h"
#include "lib/random.h"
#include "locals.h"
#include "requester/engine.h"
#include "requester/qp.h"

enum { PACKETS_A_TURN = 64 };

static const uint64_t beat_ns = 1000ull * 1000 * 1000;
static const uint64_t alive_ns = 3000ull * 1000 * 1000;

/* ---- what the state machine asks for ---- */

static void say(char text[CM_REFUSAL_LEN], const char *format, const char *detail)
{
	snprintf(text, CM_REFUSAL_LEN, format, detail);
}

static uint8_t smaller(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void fill_granted(struct cm_granted *granted, const struct cm_asked *asked,
			 const struct cm_offer *offer, const struct xa_mr *mr)
{
	granted->psn = xa_random() & XA_PSN_MASK;
	granted->depth = smaller(asked->depth, offer->depth);
	granted->access = offer->access;
	granted->rkey = mr->rkey;
	granted->iova = mr->iova;
	granted->length = mr->length;
	memcpy(granted->mr, mr->name, sizeof(granted->mr));
}

static int accept_peer(void *data, const struct cm_asked *asked, struct cm_granted *granted,
		       char text[CM_REFUSAL_LEN])
{
	struct cm_manager *manager = data;
	const struct cm_offer *offer =
		cm_policy_find(manager->attr.policy, &asked->peer, asked->mr);
	struct xa_qp_request request = {
		.peer = asked->peer, .local = asked->local, .rqpn = asked->rqpn};
	struct xa_mr mr;
	struct xa_qp qp;

	if (!offer) {
		say(text,
		    asked->mr ? "no memory region '%s' is offered to this peer"
			      : "%snothing is offered to this peer",
		    asked->mr ? asked->mr : "");
		return CM_REASON_CONSUMER;
	}
	if (cm_qps_find_mr(manager->attr.qps, offer, &mr)) {
		say(text, "the memory region '%s' is not there", offer->mr);
		return CM_REASON_CONSUMER;
	}
	fill_granted(granted, asked, offer, &mr);
	request.rq_psn = granted->psn;
	request.pdn = mr.pdn;
	/* A peer that wants none in flight gets a queue pair that could take one. */
	request.depth = granted->depth ? granted->depth : 1;
	request.access = offer->access | XA_QP_SERVED;
	if (cm_qps_add(manager->attr.qps, &request, &qp)) {
		say(text, "%s", xatomic_error());
		return CM_REASON_NO_RESOURCES;
	}
	granted->lqpn = qp.qpn;
	return 0;
}

static void remove_qp(void *data, uint32_t lqpn)
{
	cm_qps_remove(((struct cm_manager *)data)->attr.qps, lqpn);
}

static uint64_t count_requests(void *data, uint32_t lqpn, bool *gone)
{
	const struct cm_manager *manager = data;
	struct xa_qp qp;

	*gone = xa_qp_find(manager->attr.qps->instance, lqpn, &qp) != 0;
	return *gone ? 0 : qp.requests;
}

/* What cannot be sent is lost, as on any network; the other side asks again. */
static void send_mad(void *data, const struct cm_way *way, const struct cm_mad *mad)
{
	const struct cm_manager *manager = data;
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = way->ifindex};
	uint8_t frame[XA_GSI_FRAME_MAX];
	size_t len = cm_datagram_build(way, mad, frame);

	sendto(manager->packet, frame, len, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
}

static uint32_t any_number(void *data)
{
	(void)data;
	return xa_random();
}

static const struct cm_passive_ops ops = {accept_peer, remove_qp, count_requests, send_mad,
					  any_number};

/* ---- packets ---- */

/*
 * What waited for a manager that died is old: whoever still wants it will ask again. The way back must be from an own
 * address, as the interface may be one of another namespace.
 */
static bool read_record(const struct cm_manager *manager, const struct xa_gsi_packet *packet,
			uint64_t now, struct cm_way *way, struct cm_mad *mad)
{
	if (packet->time_ns < manager->opened || packet->length > sizeof(packet->frame) ||
	    !cm_datagram_parse(packet->frame, packet->length, way, mad))
		return false;
	way->ifindex = packet->ifindex;
	return cm_local_has(way->ifindex, &way->path.local, now);
}

static int take_record(void *data, void *record, size_t size)
{
	struct cm_manager *manager = data;
	uint64_t now = xa_clock_ns();
	struct cm_way way = {0};
	struct cm_mad mad;

	if (size >= sizeof(struct xa_gsi_packet) && read_record(manager, record, now, &way, &mad))
		cm_passive_receive(&manager->passive, now, &way, &mad);
	else
		manager->passive.counters.garbage++;
	return --manager->left ? 0 : -ECANCELED;
}

/* Has an end, so that a flood cannot keep the daemon from the rest of its work. */
static void ring_ready(struct cm_source *source)
{
	struct cm_manager *manager = (struct cm_manager *)source;

	manager->left = PACKETS_A_TURN;
	ring_buffer__consume(manager->buffer);
}

/* ---- begin and end ---- */

static size_t connections_size(const struct cm_manager *manager)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = manager->attr.qps->instance->config.max_qps * sizeof(struct xa_connection);

	return (size + page - 1) / page * page;
}

static void *map(const struct cm_manager *manager, enum xa_map which, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			manager->attr.qps->instance->maps[which], 0);

	if (at != MAP_FAILED)
		return at;
	xa_error("the map %s cannot be mapped (%s); free some memory", xa_map_names[which],
		 strerror(errno));
	return NULL;
}

static int open_maps(struct cm_manager *manager)
{
	int gsi = manager->attr.qps->instance->maps[XA_MAP_GSI];

	manager->connections = map(manager, XA_MAP_CONNECTIONS, connections_size(manager));
	manager->agent = map(manager, XA_MAP_AGENT, sysconf(_SC_PAGESIZE));
	if (!manager->connections || !manager->agent)
		return -1;
	while (!manager->agent->ca_guid)
		manager->agent->ca_guid = (uint64_t)xa_random() << 32 | xa_random();
	manager->buffer = ring_buffer__new(gsi, take_record, manager, NULL);
	if (!manager->buffer)
		return xa_error("the ring of packets for QP 1 cannot be mapped (%s); free some "
				"memory",
				strerror(errno));
	return 0;
}

static int open_socket(struct cm_manager *manager)
{
	/* Protocol 0: for sending only. */
	manager->packet = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (manager->packet >= 0)
		return 0;
	return xa_error("a packet socket cannot be had (%s); run xatomic as root", strerror(errno));
}

/* Queue pairs without a connection: of a TCP exchange that is gone, or of a manager that died in between. */
static void sweep(struct cm_manager *manager)
{
	const struct xa_instance *instance = manager->attr.qps->instance;

	for (uint32_t i = 0; i < instance->config.max_qps; i++) {
		const struct xa_qp *qp = &instance->qps[i];
		const struct xa_connection *connection = &manager->connections[i];

		if (qp->ctl.state == XA_QP_RESET || !(qp->access & XA_QP_SERVED) ||
		    (connection->state != XA_CONNECTION_NONE && connection->lqpn == qp->qpn))
			continue;
		cm_qps_remove(manager->attr.qps, qp->qpn);
	}
}

static int start(struct cm_manager *manager)
{
	const struct cm_passive_attr attr = {
		.ports = manager->attr.ports,
		.max_half_open = manager->attr.max_half_open,
		.requests_per_second = manager->attr.requests_per_second,
		.ca_guid = manager->agent->ca_guid,
		.max = manager->attr.qps->instance->config.max_qps,
		.connections = manager->connections,
		.ops = &ops,
		.data = manager,
		.reporter = manager->attr.reporter,
	};

	return cm_passive_init(&manager->passive, &attr, xa_clock_ns());
}

int cm_manager_open(struct cm_manager *manager, const struct cm_manager_attr *attr)
{
	*manager = (struct cm_manager){.attr = *attr, .packet = -1, .opened = xa_clock_ns()};
	if (open_socket(manager) || open_maps(manager) || start(manager))
		return -1;
	sweep(manager);
	manager->ring = (struct cm_source){
		.fd = ring_buffer__epoll_fd(manager->buffer),
		.ready = ring_ready,
	};
	return cm_loop_add(attr->loop, &manager->ring);
}

static void set_alive(struct cm_manager *manager, uint64_t until)
{
	__atomic_store_n(&manager->agent->alive_until_ns, until, __ATOMIC_RELAXED);
}

uint64_t cm_manager_timer(struct cm_manager *manager, uint64_t now_ns)
{
	uint64_t next = cm_passive_timer(&manager->passive, now_ns);

	if (now_ns >= manager->next_beat) {
		set_alive(manager, now_ns + alive_ns);
		manager->next_beat = now_ns + beat_ns;
	}
	return next < manager->next_beat ? next : manager->next_beat;
}

void cm_manager_close(struct cm_manager *manager)
{
	if (manager->agent) {
		set_alive(manager, 0);
		munmap(manager->agent, sysconf(_SC_PAGESIZE));
	}
	if (manager->connections)
		munmap(manager->connections, connections_size(manager));
	cm_passive_free(&manager->passive);
	ring_buffer__free(manager->buffer);
	if (manager->packet >= 0)
		close(manager->packet);
}
