/* SPDX-License-Identifier: BSD-2-Clause */
#include "sessions.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/error.h"
#include "locals.h"
#include "requester/qp.h"
#include "requester/route.h"

enum { BACKLOG = 16, KEEPALIVE_IDLE = 30, KEEPALIVE_INTERVAL = 10, KEEPALIVE_COUNT = 3 };

/* Longest silence of a client but while its run goes on. */
static const uint64_t patience_ns = 30ull * 1000 * 1000 * 1000;

struct cm_session {
	struct cm_source source; /* must be first */
	struct cm_sessions *sessions;
	struct cm_session *next;
	struct xa_ip peer, local; /* of the TCP connection */
	uint64_t deadline;
	struct cm_perftest exchange;
	const struct cm_offer *offer;
	size_t qp_count;
	uint32_t qpns[CM_PT_MAX_QPS + 1]; /* the last one: a twin */
};

static void report(const struct cm_session *session, const char *word, uint32_t lqpn, uint32_t rqpn,
		   const char *reason)
{
	cm_report(session->sessions->reporter,
		  &(struct cm_event){.word = word,
				     .service = "perftest",
				     .peer = session->peer,
				     .lqpn = lqpn,
				     .rqpn = rqpn,
				     .mr = session->offer ? session->offer->mr : NULL,
				     .reason = reason});
}

static void unlink_session(struct cm_session *session)
{
	struct cm_session **at = &session->sessions->list;

	while (*at != session)
		at = &(*at)->next;
	*at = session->next;
	session->sessions->count--;
}

static void end(struct cm_session *session)
{
	struct cm_sessions *sessions = session->sessions;

	for (size_t i = 0; i < session->qp_count; i++) {
		cm_qps_remove(sessions->qps, session->qpns[i]);
		report(session, "disconnected", session->qpns[i], 0, NULL);
	}
	unlink_session(session);
	cm_loop_drop(sessions->loop, &session->source);
	free(session);
}

static void refuse(struct cm_session *session, const char *reason)
{
	report(session, "refused", 0, 0, reason);
	end(session);
}

static bool why_not(char why[CM_PT_WHY_LEN], const char *reason)
{
	snprintf(why, CM_PT_WHY_LEN, "%s", reason);
	return false;
}

/* Each queue pair of a test gets a stretch of its own, as long as there are some. */
static uint64_t stretch_of(const struct xa_mr *mr, uint32_t cycle, size_t nth)
{
	return mr->iova + nth % (mr->length / cycle) * cycle;
}

static bool connect_qp(void *data, const struct cm_pt_key *client, uint32_t cycle,
		       struct cm_pt_key *ours, char why[CM_PT_WHY_LEN])
{
	struct cm_session *session = data;
	struct cm_sessions *sessions = session->sessions;
	struct xa_qp_request request = {
		.peer = client->ip, .rqpn = client->qpn, .rq_psn = client->psn};
	struct xa_mr mr;
	struct xa_qp qp;

	session->offer = cm_policy_find(sessions->policy, &client->ip, NULL);
	if (!session->offer)
		return why_not(why, "nothing is offered to the address of the client's queue pair");
	if (cm_qps_find_mr(sessions->qps, session->offer, &mr))
		return why_not(why, xatomic_error());
	if (mr.length < cycle)
		return why_not(why, "the memory region is smaller than the client's buffer; give "
				    "it 512 words or more");
	if (cm_local_choose(&client->ip, &session->local, &request.local))
		return why_not(why, xatomic_error());
	request.pdn = mr.pdn;
	request.depth = session->offer->depth;
	request.access = session->offer->access | XA_QP_SERVED;
	if (cm_qps_add(sessions->qps, &request, &qp))
		return why_not(why, xatomic_error());
	*ours = (struct cm_pt_key){
		.out_reads = qp.depth,
		.qpn = qp.qpn,
		.psn = client->psn,
		.rkey = mr.rkey,
		.va = stretch_of(&mr, cycle, session->qp_count),
		.ip = request.local,
	};
	session->qpns[session->qp_count++] = qp.qpn;
	report(session, "connected", qp.qpn, client->qpn, NULL);
	return true;
}

static bool is_used(void *data, uint32_t qpn)
{
	const struct cm_session *session = data;

	for (size_t i = 0; i < session->qp_count; i++)
		if ((!qpn || qpn == session->qpns[i]) &&
		    cm_qps_is_used(session->sessions->qps, session->qpns[i]))
			return true;
	return false;
}

static void revoke_qp(void *data, uint32_t qpn)
{
	cm_qps_revoke(((struct cm_session *)data)->sessions->qps, qpn);
}

static const struct cm_pt_ops ops = {connect_qp, is_used, revoke_qp};

/* A client in lock step has room for it; one that has not is none. */
static bool send_answer(const struct cm_session *session)
{
	ssize_t len = session->exchange.out_len;

	return send(session->source.fd, session->exchange.out, len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       len;
}

static void go_on(struct cm_session *session)
{
	session->deadline =
		cm_perftest_is_running(&session->exchange) ? XA_NEVER : xa_clock_ns() + patience_ns;
}

static void take(struct cm_session *session, size_t len)
{
	switch (cm_perftest_take(&session->exchange, len)) {
	case CM_PT_REFUSED:
		refuse(session, session->exchange.why);
		return;
	case CM_PT_ANSWER:
		if (!send_answer(session)) {
			end(session);
			return;
		}
		break;
	case CM_PT_CLOSE:
		send_answer(session);
		end(session);
		return;
	case CM_PT_MORE:
		break;
	}
	go_on(session);
}

static void hung_up(struct cm_session *session)
{
	const char *reason = cm_perftest_hung_up(&session->exchange);

	if (reason)
		refuse(session, reason);
	else
		end(session);
}

static void session_ready(struct cm_source *source)
{
	struct cm_session *session = (struct cm_session *)source;
	uint8_t *at;
	size_t room = cm_perftest_room(&session->exchange, &at);
	ssize_t len = recv(source->fd, at, room, MSG_DONTWAIT);

	if (len > 0)
		take(session, len);
	else if (len == 0 || (errno != EAGAIN && errno != EINTR))
		hung_up(session);
}

static void set_options(int fd)
{
	int on = 1, idle = KEEPALIVE_IDLE, interval = KEEPALIVE_INTERVAL, count = KEEPALIVE_COUNT;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static struct xa_ip ip_of(const struct sockaddr_storage *address)
{
	struct xa_ip ip;

	if (address->ss_family == AF_INET)
		xa_ip_from_v4(&ip, &((const struct sockaddr_in *)address)->sin_addr);
	else
		xa_ip_from_v6(&ip, &((const struct sockaddr_in6 *)address)->sin6_addr);
	return ip;
}

static int start(struct cm_sessions *sessions, int fd, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage local = {0};
	socklen_t len = sizeof(local);
	struct cm_session *session = calloc(1, sizeof(*session));

	if (!session)
		return -1;
	session->source = (struct cm_source){.fd = fd, .ready = session_ready};
	if (getsockname(fd, (struct sockaddr *)&local, &len) ||
	    cm_loop_add(sessions->loop, &session->source)) {
		free(session);
		return -1;
	}
	session->sessions = sessions;
	session->peer = ip_of(peer);
	session->local = ip_of(&local);
	session->next = sessions->list;
	sessions->list = session;
	sessions->count++;
	set_options(fd);
	cm_perftest_init(&session->exchange, &ops, session);
	go_on(session);
	return 0;
}

/* Of those that get nothing, no state is kept. */
static void listener_ready(struct cm_source *source)
{
	struct cm_sessions *sessions = (struct cm_sessions *)source;
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	int fd = accept4(source->fd, (struct sockaddr *)&address, &len,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	const char *reason = NULL;
	struct xa_ip peer;

	if (fd < 0)
		return;
	peer = ip_of(&address);
	if (!cm_policy_find(sessions->policy, &peer, NULL))
		reason = "nothing is offered to this peer";
	else if (sessions->count >= sessions->max)
		reason = "too many tests run at once";
	else if (start(sessions, fd, &address))
		reason = "there is no memory for another test";
	if (!reason)
		return;
	cm_report(sessions->reporter, &(struct cm_event){.word = "refused",
							 .service = "perftest",
							 .peer = peer,
							 .reason = reason});
	close(fd);
}

static int open_socket(int domain)
{
	return socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* One socket for both families, where the kernel has IPv6. */
static int open_listener(uint16_t port)
{
	struct xa_ip any = {.family = XA_IPV6};
	struct sockaddr_storage address;
	int fd = open_socket(AF_INET6), on = 1, off = 0;
	socklen_t len;

	if (fd < 0) {
		any.family = XA_IPV4;
		fd = open_socket(AF_INET);
	}
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	len = xa_ip_sockaddr(&any, port, 0, &address);
	if (!bind(fd, (struct sockaddr *)&address, len) && !listen(fd, BACKLOG))
		return fd;
	close(fd);
	return -1;
}

int cm_sessions_open(struct cm_sessions *sessions, uint16_t port)
{
	sessions->listener = (struct cm_source){.fd = open_listener(port), .ready = listener_ready};
	if (sessions->listener.fd < 0)
		return xa_error("TCP port %u for perftest cannot be had (%s); give another with "
				"--perftest-port, or 0 for none",
				port, strerror(errno));
	return cm_loop_add(sessions->loop, &sessions->listener);
}

uint64_t cm_sessions_expire(struct cm_sessions *sessions, uint64_t now_ns)
{
	struct cm_session *session = sessions->list, *next;
	uint64_t earliest = XA_NEVER;

	for (; session; session = next) {
		next = session->next;
		if (session->deadline <= now_ns)
			refuse(session, "the client has said nothing for too long");
		else if (session->deadline < earliest)
			earliest = session->deadline;
	}
	return earliest;
}

void cm_sessions_close(struct cm_sessions *sessions)
{
	while (sessions->list)
		end(sessions->list);
	cm_loop_drop(sessions->loop, &sessions->listener);
}
