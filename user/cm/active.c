/* SPDX-License-Identifier: BSD-2-Clause */
#include "active.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

enum {
	REQ_TRIES = 8,
	DREQ_TRIES = 4,
	CM_TIMEOUT_CODE = 18, /* 1.07 s: how soon the other side is told that we answer */
	CM_RETRIES_TOLD = 7,
	PATH_MTU = 3, /* 1024 bytes; atomics do not care */
	RNR_RETRY = 7,
	HOP_LIMIT = 64,
	RATE_10G = 3,
	IPV4 = 4,
	IPV6 = 6,
};

static const uint64_t interval_ns = 1000ull * 1000 * 1000;

static void transmit(const struct cm_active *active, const struct cm_mad *mad)
{
	active->attr.send(active->attr.data, &active->attr.way, mad);
}

static void ask(struct cm_active *active, uint64_t now, unsigned int tries)
{
	active->tries = tries - 1;
	active->deadline = now + interval_ns;
	transmit(active, &active->request);
}

static void put_address(void *field, const struct xa_ip *ip)
{
	struct xa_ip unmapped = *ip;

	if (ip->family == XA_IPV4)
		unmapped.gid[2] = 0;
	memcpy(field, unmapped.gid, sizeof(unmapped.gid));
}

static void put_wish(struct cm_req *req, const char *mr)
{
	struct cm_wish *wish = (struct cm_wish *)req->private;

	cm_data_init(&wish->header, CM_DATA_WISH, sizeof(*wish));
	if (mr)
		memcpy(wish->name, mr, strnlen(mr, sizeof(wish->name)));
}

static void put_path(struct cm_req *req, const struct xa_path *path)
{
	req->local_lid = req->remote_lid = htons(0xffff);
	memcpy(req->local_gid, path->local.gid, sizeof(req->local_gid));
	memcpy(req->remote_gid, path->peer.gid, sizeof(req->remote_gid));
	req->flow_rate = htonl(RATE_10G);
	req->hop_limit = HOP_LIMIT;
	req->ip.ip_version = (path->peer.family == XA_IPV4 ? IPV4 : IPV6) << 4;
	put_address(req->ip.source, &path->local);
	put_address(req->ip.destination, &path->peer);
}

/* The starting PSN is what the other side would start with if it sent requests: it never does. */
static void make_req(struct cm_active *active)
{
	const struct cm_active_attr *attr = &active->attr;
	struct cm_req *req = &active->request.req;

	cm_mad_init(&active->request, CM_REQ, attr->tid);
	req->local_comm_id = htonl(attr->comm_id);
	req->service_id = htobe64(CM_SERVICE(attr->port));
	req->ca_guid = htobe64(attr->ca_guid);
	req->qpn_resources = htonl(attr->lqpn << 8);
	req->eecn_depth = htonl(attr->depth);
	req->eecn_timeout = htonl(CM_TIMEOUT_CODE << 3);
	req->psn_timeout = htonl(CM_TIMEOUT_CODE << 3 | attr->retry_cnt);
	req->pkey = htons(XA_PKEY_DEFAULT);
	req->mtu_rnr = PATH_MTU << 4 | RNR_RETRY;
	req->retries_srq = CM_RETRIES_TOLD << 4;
	req->ack_timeout = attr->timeout << 3;
	put_path(req, &attr->way.path);
	put_wish(req, attr->mr);
}

void cm_active_connect(struct cm_active *active, const struct cm_active_attr *attr, uint64_t now)
{
	memset(active, 0, sizeof(*active));
	active->attr = *attr;
	active->state = CM_ACTIVE_CONNECTING;
	make_req(active);
	ask(active, now, REQ_TRIES);
}

void cm_active_disconnect(struct cm_active *active, uint64_t now)
{
	struct cm_dreq *dreq = &active->request.dreq;

	if (active->state != CM_ACTIVE_ESTABLISHED)
		return;
	cm_mad_init(&active->request, CM_DREQ, active->attr.tid + 1);
	dreq->local_comm_id = htonl(active->attr.comm_id);
	dreq->remote_comm_id = htonl(active->remote_comm_id);
	dreq->qpn = htonl(active->result.rqpn << 8);
	active->state = CM_ACTIVE_CLOSING;
	ask(active, now, DREQ_TRIES);
}

static void send_ids(const struct cm_active *active, enum cm_attribute attribute, uint64_t tid)
{
	struct cm_mad mad;

	cm_mad_init(&mad, attribute, tid);
	mad.ids.local_comm_id = htonl(active->attr.comm_id);
	mad.ids.remote_comm_id = htonl(active->remote_comm_id);
	transmit(active, &mad);
}

static void finish(struct cm_active *active, enum cm_active_state state)
{
	active->state = state;
	active->deadline = XA_NEVER;
}

static void read_offer(struct cm_active_result *result, const struct cm_rep *rep)
{
	const struct cm_offer_data *offer = (const struct cm_offer_data *)rep->private;

	if (!cm_data_is(&offer->header, CM_DATA_OFFER, sizeof(*offer)))
		return;
	result->has_offer = true;
	result->iova = be64toh(offer->iova);
	result->length = be64toh(offer->bytes);
	result->rkey = ntohl(offer->rkey);
	result->access = offer->access;
	cm_data_text(result->mr, offer->name, sizeof(result->mr) - 1);
}

/* A copy of the REP asks for a copy of the RTU: it was lost, or the other side wants a sign of life. */
static void take_rep(struct cm_active *active, const struct cm_mad *mad)
{
	if (active->state == CM_ACTIVE_CONNECTING) {
		active->remote_comm_id = cm_mad_local_id(mad);
		active->result = (struct cm_active_result){
			.rqpn = CM_HIGH24(ntohl(mad->rep.qpn_vendor)),
			.psn = CM_HIGH24(ntohl(mad->rep.psn_vendor)),
			.depth = mad->rep.resources,
		};
		read_offer(&active->result, &mad->rep);
		finish(active, CM_ACTIVE_ESTABLISHED);
	}
	if (active->state == CM_ACTIVE_ESTABLISHED &&
	    cm_mad_local_id(mad) == active->remote_comm_id)
		send_ids(active, CM_RTU, active->attr.tid);
}

static void take_rej(struct cm_active *active, const struct cm_rej *rej)
{
	const struct cm_refusal *refusal = (const struct cm_refusal *)rej->private;

	active->reason = ntohs(rej->reason);
	if (cm_data_is(&refusal->header, CM_DATA_REFUSAL, sizeof(*refusal)))
		cm_data_text(active->text, refusal->text, sizeof(refusal->text));
	finish(active, CM_ACTIVE_FAILED);
}

static void take_mra(struct cm_active *active, uint64_t now, const struct cm_mra *mra)
{
	/* The other side needs so long; what it says counts for one wait. */
	active->deadline = now + interval_ns + xa_timeout_ns(mra->timeout >> 3);
}

static void take_dreq(struct cm_active *active, const struct cm_mad *mad)
{
	if (cm_mad_local_id(mad) != active->remote_comm_id ||
	    CM_HIGH24(ntohl(mad->dreq.qpn)) != active->attr.lqpn)
		return;
	send_ids(active, CM_DREP, cm_mad_tid(mad));
	finish(active, CM_ACTIVE_CLOSED);
}

void cm_active_receive(struct cm_active *active, uint64_t now, const struct cm_way *way,
		       const struct cm_mad *mad)
{
	bool connecting = active->state == CM_ACTIVE_CONNECTING;

	if (!xa_ip_equal(&way->path.peer, &active->attr.way.path.peer) ||
	    cm_mad_remote_id(mad) != active->attr.comm_id)
		return;
	switch (cm_mad_attribute(mad)) {
	case CM_REP:
		take_rep(active, mad);
		break;
	case CM_REJ:
		if (connecting)
			take_rej(active, &mad->rej);
		break;
	case CM_MRA:
		if (connecting)
			take_mra(active, now, &mad->mra);
		break;
	case CM_DREQ:
		if (!connecting)
			take_dreq(active, mad);
		break;
	case CM_DREP:
		if (active->state == CM_ACTIVE_CLOSING &&
		    cm_mad_local_id(mad) == active->remote_comm_id)
			finish(active, CM_ACTIVE_CLOSED);
		break;
	default:
		break;
	}
}

void cm_active_timer(struct cm_active *active, uint64_t now)
{
	if (now < active->deadline)
		return;
	if (active->tries)
		ask(active, now, active->tries);
	else
		finish(active,
		       active->state == CM_ACTIVE_CONNECTING ? CM_ACTIVE_FAILED : CM_ACTIVE_CLOSED);
}

const char *cm_reason_text(int reason)
{
	switch (reason) {
	case CM_REASON_NO_RESOURCES:
		return "it has no resources left for this peer";
	case CM_REASON_TIMEOUT:
		return "it waited too long for an answer";
	case CM_REASON_UNSUPPORTED:
		return "it does not support what was asked for";
	case CM_REASON_SERVICE_ID:
		return "nobody listens on this port there";
	case CM_REASON_TRANSPORT:
		return "it does not take this transport";
	case CM_REASON_STALE:
		return "it takes the connection for an old one; try again";
	case CM_REASON_GID:
		return "the addresses do not reach it as they were sent";
	case CM_REASON_MTU:
		return "it does not take this path MTU";
	case CM_REASON_CONSUMER:
		return "the program there has refused";
	default:
		return "it gives a reason that is not known here";
	}
}
