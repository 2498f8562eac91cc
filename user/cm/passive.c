/* SPDX-License-Identifier: BSD-2-Clause */
#include "passive.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "requester/engine.h"

enum {
	NOBODY = UINT32_MAX,
	PROBES = 4,          /* copies of a REP that an established peer may leave unanswered */
	MOST_RETRIES = 15,   /* what a REQ can ask for */
	ACK_DELAY = 15 << 3, /* of a REP, 134 ms: what rxe tells */
	RNR_RETRY = 7 << 5,
	HAS_SRQ = 1 << 4,      /* so nobody waits for credits */
	SHORTEST_TIMEOUT = 16, /* 268 ms, and */
	LONGEST_TIMEOUT = 21,  /* 8.6 s: what is kept to of what a REQ tells */
};

static const uint64_t past_ns = 8000ull * 1000 * 1000;  /* copies of a REQ come for so long */
static const uint64_t grace_ns = 1000ull * 1000 * 1000; /* a half-open one is not evicted before */
static const uint64_t rest_ns =
	10000ull * 1000 * 1000; /* nobody is asked for a sign of life again before */

static const char *const service = "rdma_cm";

static bool is_valid(const struct cm_passive *passive, uint32_t index)
{
	return passive->attr.connections[index].state != XA_CONNECTION_NONE;
}

static uint32_t index_of(const struct cm_passive *passive, uint32_t lqpn)
{
	return lqpn & (passive->attr.max - 1);
}

/* ---- chains of the connections of a peer ---- */

static uint32_t *head_of(const struct cm_passive *passive, const void *gid)
{
	__be32 words[4];
	uint32_t hash = 0;

	memcpy(words, gid, sizeof(words));
	for (int i = 0; i < 4; i++)
		hash = (hash ^ ntohl(words[i])) * 0x9e3779b1u;
	return &passive->heads[(hash >> 8) & (passive->attr.max - 1)];
}

static void chain(struct cm_passive *passive, uint32_t index)
{
	uint32_t *head = head_of(passive, passive->attr.connections[index].peer);

	passive->next[index] = *head;
	*head = index;
}

static void unchain(struct cm_passive *passive, uint32_t index)
{
	uint32_t *at = head_of(passive, passive->attr.connections[index].peer);

	while (*at != index && *at != NOBODY)
		at = &passive->next[*at];
	if (*at == index)
		*at = passive->next[index];
}

static bool is_of(const struct xa_connection *connection, const struct xa_path *path)
{
	return connection->family == path->peer.family &&
	       !memcmp(connection->peer, path->peer.gid, sizeof(connection->peer));
}

/* ---- those that wait ---- */

static struct cm_waiting *find_waiting(struct cm_passive *passive, uint32_t index)
{
	for (uint32_t i = 0; i < passive->waiting_count; i++)
		if (passive->waiting[i].index == index)
			return &passive->waiting[i];
	return NULL;
}

static void stop_waiting(struct cm_passive *passive, uint32_t index)
{
	struct cm_waiting *waiting = find_waiting(passive, index);

	if (!waiting)
		return;
	*waiting = passive->waiting[--passive->waiting_count];
}

static uint64_t timeout_ns(const struct xa_connection *connection)
{
	return xa_timeout_ns(connection->timeout);
}

static void wait_for(struct cm_passive *passive, uint32_t index, uint64_t now, uint32_t tries,
		     uint64_t requests)
{
	struct cm_waiting *waiting = &passive->waiting[passive->waiting_count++];

	*waiting = (struct cm_waiting){
		.index = index,
		.tries = tries,
		.since = now,
		.deadline = now + timeout_ns(&passive->attr.connections[index]),
		.requests = requests,
	};
}

/* ---- messages ---- */

static void way_of(const struct xa_connection *connection, struct cm_way *way)
{
	memset(way, 0, sizeof(*way));
	way->ifindex = connection->ifindex;
	way->path.local.family = way->path.peer.family = connection->family;
	memcpy(way->path.local.gid, connection->local, sizeof(connection->local));
	memcpy(way->path.peer.gid, connection->peer, sizeof(connection->peer));
	memcpy(way->path.smac, connection->local_mac, XA_MAC_LEN);
	memcpy(way->path.dmac, connection->peer_mac, XA_MAC_LEN);
	way->path.vlans = connection->vlans;
	memcpy(way->path.vlan_tpid, connection->vlan_tpid, sizeof(way->path.vlan_tpid));
	memcpy(way->path.vlan_tci, connection->vlan_tci, sizeof(way->path.vlan_tci));
	cm_way_init(way);
}

static void keep_way(struct xa_connection *connection, const struct cm_way *way)
{
	connection->ifindex = way->ifindex;
	connection->family = way->path.peer.family;
	memcpy(connection->local, way->path.local.gid, sizeof(connection->local));
	memcpy(connection->peer, way->path.peer.gid, sizeof(connection->peer));
	memcpy(connection->local_mac, way->path.smac, XA_MAC_LEN);
	memcpy(connection->peer_mac, way->path.dmac, XA_MAC_LEN);
	connection->vlans = way->path.vlans;
	memcpy(connection->vlan_tpid, way->path.vlan_tpid, sizeof(way->path.vlan_tpid));
	memcpy(connection->vlan_tci, way->path.vlan_tci, sizeof(way->path.vlan_tci));
}

static void put_offer(struct cm_rep *rep, const struct xa_connection *connection)
{
	struct cm_offer_data *offer = (struct cm_offer_data *)rep->private;

	cm_data_init(&offer->header, CM_DATA_OFFER, sizeof(*offer));
	offer->iova = htobe64(connection->iova);
	offer->bytes = htobe64(connection->length);
	offer->rkey = htonl(connection->rkey);
	offer->access = connection->access;
	memcpy(offer->name, connection->name, sizeof(offer->name));
}

/* Made from the connection alone, so a copy is the same to the byte. */
static void send_rep(struct cm_passive *passive, const struct xa_connection *connection)
{
	struct cm_way way;
	struct cm_mad mad;
	struct cm_rep *rep = &mad.rep;

	cm_mad_init(&mad, CM_REP, connection->tid);
	rep->local_comm_id = htonl(connection->local_comm_id);
	rep->remote_comm_id = htonl(connection->remote_comm_id);
	rep->qpn_vendor = htonl(connection->lqpn << 8);
	rep->psn_vendor = htonl(connection->psn << 8);
	rep->resources = connection->depth;
	rep->delay_failover = ACK_DELAY;
	rep->rnr_srq = RNR_RETRY | HAS_SRQ;
	rep->ca_guid = htobe64(passive->attr.ca_guid);
	put_offer(rep, connection);
	way_of(connection, &way);
	passive->attr.ops->send(passive->attr.data, &way, &mad);
}

static void send_rej(struct cm_passive *passive, const struct cm_way *way, uint64_t tid,
		     uint32_t local_id, uint32_t remote_id, enum cm_rejected what, int reason,
		     const char *text)
{
	struct cm_mad mad;
	struct cm_rej *rej = &mad.rej;
	struct cm_refusal *refusal = (struct cm_refusal *)rej->private;

	cm_mad_init(&mad, CM_REJ, tid);
	rej->local_comm_id = htonl(local_id);
	rej->remote_comm_id = htonl(remote_id);
	rej->message = what << 6;
	rej->reason = htons(reason);
	if (reason == CM_REASON_CONSUMER) {
		cm_data_init(&refusal->header, CM_DATA_REFUSAL, sizeof(*refusal));
		memcpy(refusal->text, text, strnlen(text, sizeof(refusal->text)));
	}
	passive->attr.ops->send(passive->attr.data, way, &mad);
}

static void send_drep(struct cm_passive *passive, const struct cm_way *way,
		      const struct cm_mad *dreq)
{
	struct cm_mad mad;

	cm_mad_init(&mad, CM_DREP, cm_mad_tid(dreq));
	mad.ids.local_comm_id = dreq->dreq.remote_comm_id;
	mad.ids.remote_comm_id = dreq->dreq.local_comm_id;
	passive->attr.ops->send(passive->attr.data, way, &mad);
}

/* ---- the life of a connection ---- */

static void report(const struct cm_passive *passive, const struct xa_connection *connection,
		   const char *word, const char *reason)
{
	struct cm_event event = {
		.word = word,
		.service = service,
		.peer.family = connection->family,
		.lqpn = connection->lqpn,
		.rqpn = connection->rqpn,
		.mr = connection->name,
		.reason = reason,
	};

	memcpy(event.peer.gid, connection->peer, sizeof(event.peer.gid));
	cm_report(passive->attr.reporter, &event);
}

static void remember(struct cm_passive *passive, const struct xa_connection *connection,
		     uint64_t now)
{
	passive->past[passive->past_at++ % CM_RING] = (struct cm_past){
		.until = now + past_ns,
		.guid = connection->remote_guid,
		.remote_comm_id = connection->remote_comm_id,
	};
}

static void forget(struct cm_passive *passive, uint32_t index)
{
	struct xa_connection *connection = &passive->attr.connections[index];

	stop_waiting(passive, index);
	passive->half_open -= connection->state == XA_CONNECTION_HALF_OPEN;
	unchain(passive, index);
	connection->state = XA_CONNECTION_NONE;
}

static void end(struct cm_passive *passive, uint32_t index, uint64_t now, const char *reason)
{
	struct xa_connection *connection = &passive->attr.connections[index];

	passive->attr.ops->remove(passive->attr.data, connection->lqpn);
	report(passive, connection, "disconnected", reason);
	remember(passive, connection, now);
	forget(passive, index);
}

static void establish(struct cm_passive *passive, uint32_t index)
{
	struct xa_connection *connection = &passive->attr.connections[index];

	stop_waiting(passive, index);
	if (connection->state != XA_CONNECTION_HALF_OPEN)
		return;
	passive->half_open--;
	connection->state = XA_CONNECTION_ESTABLISHED;
	report(passive, connection, "connected", NULL);
}

/* The connection that a message other than a REQ names, NOBODY: none. */
static uint32_t find(const struct cm_passive *passive, const struct cm_way *way,
		     const struct cm_mad *mad)
{
	uint32_t id = cm_mad_remote_id(mad), index = index_of(passive, id >> 8);
	const struct xa_connection *connection = &passive->attr.connections[index];

	if (!is_valid(passive, index) || connection->local_comm_id != id ||
	    connection->remote_comm_id != cm_mad_local_id(mad) || !is_of(connection, &way->path))
		return NOBODY;
	return index;
}

/* ---- REQ ---- */

/* As many established peers may be asked at once as connections may be half-open. */
static bool may_probe(const struct cm_passive *passive)
{
	return passive->waiting_count < passive->waiting_max &&
	       passive->waiting_count - passive->half_open < passive->attr.max_half_open;
}

/*
 * Asks an established peer for a sign of life: it answers a REP with an RTU. Only now and then, as strangers can
 * bring it about.
 */
static void probe(struct cm_passive *passive, uint32_t index, uint64_t now)
{
	const struct xa_connection *connection = &passive->attr.connections[index];
	bool gone;

	if (connection->state != XA_CONNECTION_ESTABLISHED || find_waiting(passive, index) ||
	    now < passive->rested[index] || !may_probe(passive))
		return;
	passive->rested[index] = now + rest_ns;
	wait_for(passive, index, now, PROBES,
		 passive->attr.ops->requests(passive->attr.data, connection->lqpn, &gone));
	send_rep(passive, connection);
}

struct req {
	const struct cm_way *way;
	const struct cm_mad *mad;
	struct cm_asked asked;
	uint64_t guid;
	uint32_t comm_id;
	char name[CM_WISH_NAME + 1];
};

static void refuse(struct cm_passive *passive, const struct req *req, int reason, const char *text)
{
	passive->counters.refused++;
	send_rej(passive, req->way, cm_mad_tid(req->mad), 0, req->comm_id, CM_REJECTED_REQ, reason,
		 text);
	cm_report(passive->attr.reporter, &(struct cm_event){.word = "refused",
							     .service = service,
							     .peer = req->asked.peer,
							     .rqpn = req->asked.rqpn,
							     .reason = text});
}

/* A peer that has as many connections as it may: does it know of all of them? */
static void probe_peer(struct cm_passive *passive, const struct req *req, uint64_t now)
{
	uint32_t index = *head_of(passive, req->asked.peer.gid);

	for (; index != NOBODY; index = passive->next[index])
		if (is_of(&passive->attr.connections[index], &req->way->path))
			probe(passive, index, now);
}

static bool same_gid(const void *a, const struct xa_ip *ip)
{
	return !memcmp(a, ip->gid, sizeof(ip->gid));
}

/* The addresses of annex A11: IPv4 without the mapping. */
static bool same_ip(const void *a, const struct xa_ip *ip)
{
	struct xa_ip unmapped = *ip;

	if (ip->family == XA_IPV4)
		unmapped.gid[2] = 0;
	return same_gid(a, &unmapped);
}

static bool addresses_agree(const struct cm_req *req, const struct xa_path *path)
{
	int version = path->peer.family == XA_IPV4 ? 4 : 6;

	return same_gid(req->local_gid, &path->peer) && same_gid(req->remote_gid, &path->local) &&
	       !req->ip.version && CM_IP_VERSION(req->ip.ip_version) == version &&
	       same_ip(req->ip.source, &path->peer) && same_ip(req->ip.destination, &path->local);
}

/* 0, or the reason of a REJ with *text. */
static int check_req(const struct cm_passive *passive, const struct cm_way *way,
		     const struct cm_req *req, const char **text)
{
	uint64_t id = be64toh(req->service_id);
	uint32_t qpn = CM_HIGH24(ntohl(req->qpn_resources));

	*text = "nobody listens on this port";
	if (id != CM_SERVICE(id & 0xffff) || !cm_ports_have(passive->attr.ports, id & 0xffff))
		return CM_REASON_SERVICE_ID;
	*text = "the transport is not RC";
	if (CM_TRANSPORT(ntohl(req->eecn_timeout)) || CM_EXT_TRANSPORT(req->retries_srq))
		return CM_REASON_TRANSPORT;
	*text = "the addresses in the message are not those that it comes from and goes to";
	if (!addresses_agree(req, &way->path))
		return CM_REASON_GID;
	*text = "there is no such path MTU";
	if (CM_MTU(req->mtu_rnr) < 1 || CM_MTU(req->mtu_rnr) > 5)
		return CM_REASON_MTU;
	*text = "the partition is not the default one, or the queue pair number is none";
	if ((ntohs(req->pkey) & XA_PKEY_BASE_MASK) != (XA_PKEY_DEFAULT & XA_PKEY_BASE_MASK) ||
	    qpn <= XA_QPN_GSI || qpn == XA_QPN_MULTICAST)
		return CM_REASON_UNSUPPORTED;
	return 0;
}

static void read_wish(struct req *req)
{
	const struct cm_wish *wish = (const struct cm_wish *)req->mad->req.private;

	if (!cm_data_is(&wish->header, CM_DATA_WISH, sizeof(*wish)))
		return;
	cm_data_text(req->name, wish->name, sizeof(wish->name));
	if (req->name[0])
		req->asked.mr = req->name;
}

static void read_req(struct req *req, const struct cm_way *way, const struct cm_mad *mad)
{
	*req = (struct req){
		.way = way,
		.mad = mad,
		.asked = {.peer = way->path.peer,
			  .local = way->path.local,
			  .rqpn = CM_HIGH24(ntohl(mad->req.qpn_resources)),
			  .depth = CM_LOW8(ntohl(mad->req.eecn_depth)),
			  .port = be64toh(mad->req.service_id) & 0xffff},
		.guid = be64toh(mad->req.ca_guid),
		.comm_id = cm_mad_local_id(mad),
	};
	read_wish(req);
}

static bool is_past(const struct cm_passive *passive, const struct req *req, uint64_t now)
{
	for (uint32_t i = 0; i < CM_RING; i++)
		if (passive->past[i].until > now && passive->past[i].guid == req->guid &&
		    passive->past[i].remote_comm_id == req->comm_id)
			return true;
	return false;
}

/*
 * Is this a copy of a REQ that there is a connection of, or one that does not go together with another one?
 * Then it has been dealt with.
 */
static bool is_known(struct cm_passive *passive, const struct req *req, uint64_t now)
{
	uint32_t index = *head_of(passive, req->asked.peer.gid), next;
	bool gone;

	for (; index != NOBODY; index = next) {
		const struct xa_connection *connection = &passive->attr.connections[index];

		next = passive->next[index];
		if (!is_of(connection, &req->way->path) || connection->remote_guid != req->guid)
			continue;
		if (connection->remote_comm_id == req->comm_id) {
			if (connection->state == XA_CONNECTION_HALF_OPEN)
				send_rep(passive, connection);
			return true;
		}
		if (connection->rqpn != req->asked.rqpn)
			continue;
		passive->attr.ops->requests(passive->attr.data, connection->lqpn, &gone);
		if (gone) {
			forget(passive, index);
			continue;
		}
		refuse(passive, req, CM_REASON_STALE,
		       "the peer's queue pair belongs to another connection already");
		probe(passive, index, now);
		return true;
	}
	return false;
}

static void evict(struct cm_passive *passive, uint32_t index, uint64_t now)
{
	const struct xa_connection *connection = &passive->attr.connections[index];
	bool gone;

	if (passive->attr.ops->requests(passive->attr.data, connection->lqpn, &gone)) {
		establish(passive, index);
		return;
	}
	passive->counters.evicted++;
	end(passive, index, now, "others want its place, and the peer has not answered");
}

/* Room for one more half-open connection: if need be that of the one that is silent for longest. */
static bool make_room(struct cm_passive *passive, uint64_t now)
{
	const struct cm_waiting *oldest = NULL;

	if (passive->half_open < passive->attr.max_half_open)
		return true;
	for (uint32_t i = 0; i < passive->waiting_count; i++) {
		const struct cm_waiting *waiting = &passive->waiting[i];

		if (passive->attr.connections[waiting->index].state == XA_CONNECTION_HALF_OPEN &&
		    (!oldest || waiting->since < oldest->since))
			oldest = waiting;
	}
	if (!oldest || now - oldest->since < grace_ns)
		return false;
	evict(passive, oldest->index, now);
	return true;
}

static uint8_t clamp(uint8_t value, uint8_t least, uint8_t most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

static void open_connection(struct cm_passive *passive, const struct req *req,
			    const struct cm_granted *granted, uint64_t now)
{
	uint32_t index = index_of(passive, granted->lqpn);
	struct xa_connection *connection = &passive->attr.connections[index];

	/* Of a queue pair that somebody else has taken down. */
	if (is_valid(passive, index))
		forget(passive, index);
	*connection = (struct xa_connection){
		.lqpn = granted->lqpn,
		.rqpn = req->asked.rqpn,
		.local_comm_id =
			granted->lqpn << 8 | (passive->attr.ops->random(passive->attr.data) & 0xff),
		.remote_comm_id = req->comm_id,
		.psn = granted->psn,
		.tid = cm_mad_tid(req->mad),
		.remote_guid = req->guid,
		.port = req->asked.port,
		.depth = granted->depth,
		.access = granted->access,
		.timeout = clamp(CM_TIMEOUT(ntohl(req->mad->req.psn_timeout)), SHORTEST_TIMEOUT,
				 LONGEST_TIMEOUT),
		.retries = CM_RETRIES(req->mad->req.retries_srq),
		.iova = granted->iova,
		.length = granted->length,
		.rkey = granted->rkey,
	};
	memcpy(connection->name, granted->mr, sizeof(connection->name));
	keep_way(connection, req->way);
	passive->rested[index] = 0;
	/* Last of all, should this process die here. */
	atomic_thread_fence(memory_order_release);
	connection->state = XA_CONNECTION_HALF_OPEN;
	chain(passive, index);
	passive->half_open++;
	wait_for(passive, index, now, connection->retries, 0);
	send_rep(passive, connection);
}

static void take_req(struct cm_passive *passive, uint64_t now, const struct cm_way *way,
		     const struct cm_mad *mad)
{
	char text[CM_REFUSAL_LEN] = "";
	struct cm_granted granted = {0};
	const char *fault;
	struct req req;
	int reason;

	if (!cm_bucket_take(&passive->requests, now)) {
		passive->counters.limited++;
		return;
	}
	read_req(&req, way, mad);
	if (is_known(passive, &req, now))
		return;
	reason = check_req(passive, way, &mad->req, &fault);
	if (reason) {
		refuse(passive, &req, reason, fault);
		return;
	}
	if (is_past(passive, &req, now)) {
		refuse(passive, &req, CM_REASON_STALE, "this connection is over");
		return;
	}
	/* The peer will ask again. */
	if (!make_room(passive, now)) {
		passive->counters.limited++;
		return;
	}
	reason = passive->attr.ops->accept(passive->attr.data, &req.asked, &granted, text);
	if (reason)
		refuse(passive, &req, reason, text);
	else
		open_connection(passive, &req, &granted, now);
	if (reason == CM_REASON_NO_RESOURCES)
		probe_peer(passive, &req, now);
}

/* ---- the other messages ---- */

static void take_mra(struct cm_passive *passive, uint64_t now, uint32_t index,
		     const struct cm_mra *mra)
{
	struct cm_waiting *waiting = find_waiting(passive, index);
	uint8_t timeout = clamp(mra->timeout >> 3, SHORTEST_TIMEOUT, LONGEST_TIMEOUT + 3);

	if (waiting && CM_MESSAGE(mra->message) == CM_REJECTED_REP)
		waiting->deadline = now + xa_timeout_ns(timeout);
}

/* A peer that does not know an established connection any more says so when it is asked. */
static void take_rej(struct cm_passive *passive, uint64_t now, uint32_t index)
{
	if (find_waiting(passive, index))
		end(passive, index, now, "the peer has refused");
}

static void take_dreq(struct cm_passive *passive, uint64_t now, const struct cm_way *way,
		      const struct cm_mad *mad)
{
	uint32_t index = find(passive, way, mad);

	if (index != NOBODY) {
		if (passive->attr.connections[index].lqpn != CM_HIGH24(ntohl(mad->dreq.qpn)))
			return;
		end(passive, index, now, NULL);
	} else if (!cm_bucket_take(&passive->answers, now)) {
		passive->counters.limited++;
		return;
	}
	/* Also when there is no such connection any more: the peer wants to be done with it. */
	send_drep(passive, way, mad);
}

void cm_passive_receive(struct cm_passive *passive, uint64_t now, const struct cm_way *way,
			const struct cm_mad *mad)
{
	enum cm_attribute attribute = cm_mad_attribute(mad);
	uint32_t index;

	passive->counters.received++;
	if (attribute == CM_REQ) {
		take_req(passive, now, way, mad);
		return;
	}
	if (attribute == CM_DREQ) {
		take_dreq(passive, now, way, mad);
		return;
	}
	index = find(passive, way, mad);
	if (index == NOBODY)
		passive->counters.garbage++;
	else if (attribute == CM_RTU)
		establish(passive, index);
	else if (attribute == CM_MRA)
		take_mra(passive, now, index, &mad->mra);
	else if (attribute == CM_REJ)
		take_rej(passive, now, index);
}

/* ---- time ---- */

static void give_up(struct cm_passive *passive, uint32_t index, uint64_t now)
{
	const struct xa_connection *connection = &passive->attr.connections[index];
	bool half_open = connection->state == XA_CONNECTION_HALF_OPEN;
	struct cm_way way;

	way_of(connection, &way);
	if (half_open)
		send_rej(passive, &way, connection->tid, connection->local_comm_id,
			 connection->remote_comm_id, CM_REJECTED_REP, CM_REASON_TIMEOUT, "");
	end(passive, index, now,
	    half_open ? "the peer has not answered" : "the peer has forgotten it");
}

static void ask_again(struct cm_passive *passive, struct cm_waiting *waiting, uint64_t now)
{
	const struct xa_connection *connection = &passive->attr.connections[waiting->index];
	bool gone = false;
	uint64_t requests =
		passive->attr.ops->requests(passive->attr.data, connection->lqpn, &gone);

	if (gone) {
		forget(passive, waiting->index);
	} else if (requests > waiting->requests) {
		/* The RTU was lost, but it is there (IB_EVENT_COMM_EST). */
		establish(passive, waiting->index);
	} else if (!waiting->tries) {
		give_up(passive, waiting->index, now);
	} else {
		waiting->tries--;
		waiting->deadline = now + timeout_ns(connection);
		send_rep(passive, connection);
	}
}

/* Peers that went while nobody listened to their DREQ will not say so again. */
static void probe_inherited(struct cm_passive *passive, uint64_t now)
{
	for (; passive->inherited < passive->attr.max && may_probe(passive); passive->inherited++)
		if (is_valid(passive, passive->inherited))
			probe(passive, passive->inherited, now);
}

uint64_t cm_passive_timer(struct cm_passive *passive, uint64_t now)
{
	uint64_t earliest = XA_NEVER;

	/* From the end: the last one takes the place of one that waits no more. */
	for (uint32_t i = passive->waiting_count; i-- > 0;)
		if (passive->waiting[i].deadline <= now)
			ask_again(passive, &passive->waiting[i], now);
	probe_inherited(passive, now);
	for (uint32_t i = 0; i < passive->waiting_count; i++)
		if (passive->waiting[i].deadline < earliest)
			earliest = passive->waiting[i].deadline;
	return earliest;
}

/* ---- begin and end ---- */

static void restore(struct cm_passive *passive, uint32_t index, uint64_t now)
{
	struct xa_connection *connection = &passive->attr.connections[index];
	bool gone = false, fits = index_of(passive, connection->lqpn) == index;

	if (fits)
		passive->attr.ops->requests(passive->attr.data, connection->lqpn, &gone);
	if (!fits || gone) {
		connection->state = XA_CONNECTION_NONE;
		return;
	}
	chain(passive, index);
	if (connection->state != XA_CONNECTION_HALF_OPEN)
		return;
	passive->half_open++;
	if (passive->waiting_count < passive->waiting_max)
		wait_for(passive, index, now, connection->retries, 0);
	else
		end(passive, index, now, "more are half-open than may be");
}

int cm_passive_init(struct cm_passive *passive, const struct cm_passive_attr *attr, uint64_t now)
{
	memset(passive, 0, sizeof(*passive));
	passive->attr = *attr;
	/* As many again may be asked for a sign of life. */
	passive->waiting_max = 2 * attr->max_half_open;
	passive->requests.rate = passive->answers.rate = attr->requests_per_second;
	passive->heads = malloc(attr->max * sizeof(*passive->heads));
	passive->next = malloc(attr->max * sizeof(*passive->next));
	passive->rested = calloc(attr->max, sizeof(*passive->rested));
	passive->waiting = calloc(passive->waiting_max, sizeof(*passive->waiting));
	if (!passive->heads || !passive->next || !passive->rested || !passive->waiting) {
		cm_passive_free(passive);
		return xa_error("xatomic is out of memory; try again when more is free");
	}
	memset(passive->heads, 0xff, attr->max * sizeof(*passive->heads));
	for (uint32_t i = 0; i < attr->max; i++)
		if (is_valid(passive, i))
			restore(passive, i, now);
	probe_inherited(passive, now);
	return 0;
}

void cm_passive_free(struct cm_passive *passive)
{
	free(passive->heads);
	free(passive->next);
	free(passive->rested);
	free(passive->waiting);
	passive->heads = passive->next = NULL;
	passive->rested = NULL;
	passive->waiting = NULL;
}
