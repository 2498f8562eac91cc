/* SPDX-License-Identifier: BSD-2-Clause */
#include "perftest.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xatomic/wire.h"

enum { VERSION_LEN = 16, FIGURE_LEN = 8, FIGURES = 5, MAX_CYCLE = 1 << 30, GID_LEN = 16 };

static const char only_answers[] =
	"the client's -b wants atomics from this side, which only answers them";

/* The oldest version that speaks so (perftest's own check), in hundredths. */
enum { OLDEST_VERSION = 570 };

/* Of one queue pair: the key that is answered by another, and the last one before the run of a latency test. */
enum { TWIN_KEY = 2, SPLIT_KEY = 4 };

/*
 * The version that we tell: that of Debian 12. Clients from 6.28 on exchange more with a peer that is as new,
 * and all keep to this with one that is not (negotiate_params).
 */
static const char spoken_version[VERSION_LEN] = "6.06";

/* Sizes of the items; what is told by its first byte begins with one byte. */
static const size_t item_len[] = {
	[CM_PT_VERSION] = VERSION_LEN,
	[CM_PT_CYCLE] = 4,
	[CM_PT_CACHE_LINE] = 4,
	[CM_PT_MTU] = 2,
	[CM_PT_ANY] = 1,
	[CM_PT_KEY] = CM_PT_KEY_LEN,
	[CM_PT_REPORT] = FIGURE_LEN,
	[CM_PT_END] = 5,
};

void cm_perftest_init(struct cm_perftest *exchange, const struct cm_pt_ops *ops, void *data)
{
	memset(exchange, 0, sizeof(*exchange));
	exchange->ops = ops;
	exchange->data = data;
}

__attribute__((format(printf, 2, 3))) static enum cm_pt_verdict refuse(struct cm_perftest *exchange,
								       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(exchange->why, sizeof(exchange->why), format, args);
	va_end(args);
	return CM_PT_REFUSED;
}

static enum cm_pt_verdict answer(struct cm_perftest *exchange, const void *bytes, size_t len)
{
	memcpy(exchange->out, bytes, len);
	exchange->out_len = len;
	return CM_PT_ANSWER;
}

static enum cm_pt_verdict echo(struct cm_perftest *exchange, enum cm_pt_item next)
{
	enum cm_pt_verdict verdict = answer(exchange, exchange->in, item_len[exchange->item]);

	exchange->item = next;
	return verdict;
}

static enum cm_pt_verdict take_version(struct cm_perftest *exchange)
{
	int major, minor;

	memcpy(exchange->version, exchange->in, VERSION_LEN - 1);
	if (sscanf(exchange->version, "%2d.%2d", &major, &minor) != 2)
		return refuse(exchange, "this is no client of perftest");
	if (100 * major + minor < OLDEST_VERSION)
		return refuse(exchange, "the client's version %s is older than 5.70",
			      exchange->version);
	exchange->item = CM_PT_CYCLE;
	return answer(exchange, spoken_version, sizeof(spoken_version));
}

static uint32_t get32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/* Both sides go on with the larger of the two values: with the client's. */
static enum cm_pt_verdict take_cycle(struct cm_perftest *exchange)
{
	exchange->cycle = get32(exchange->in);
	if (!exchange->cycle || exchange->cycle > MAX_CYCLE)
		return refuse(exchange, "a buffer of %" PRIu32 " bytes cannot be", exchange->cycle);
	return echo(exchange, CM_PT_CACHE_LINE);
}

/* One digit, enum ibv_mtu. Atomics have no use for it. */
static enum cm_pt_verdict take_mtu(struct cm_perftest *exchange)
{
	if (exchange->in[0] < '1' || exchange->in[0] > '5')
		return refuse(exchange, "the client's path MTU is none");
	return echo(exchange, CM_PT_ANY);
}

static enum cm_pt_verdict recognize(struct cm_perftest *exchange)
{
	switch (exchange->in[0]) {
	case '0':
		exchange->item = CM_PT_KEY;
		return CM_PT_MORE;
	case 'd':
		exchange->item = CM_PT_END;
		return CM_PT_MORE;
	case '\0':
		if (!exchange->used_at_last_key)
			return refuse(exchange, only_answers);
		exchange->item = CM_PT_REPORT;
		exchange->figures = FIGURES;
		return CM_PT_MORE;
	default:
		return refuse(exchange, "the client sends something unknown");
	}
}

/* The queue pair that answers the client's, made when it is new; NULL after a refusal. */
static const struct cm_pt_key *match_key(struct cm_perftest *exchange,
					 const struct cm_pt_key *client)
{
	struct cm_pt_key *ours = &exchange->qps[exchange->qp_count].ours;

	for (size_t i = 0; i < exchange->qp_count; i++)
		if (exchange->qps[i].client_qpn == client->qpn)
			return &exchange->qps[i].ours;
	if (exchange->qp_count == CM_PT_MAX_QPS) {
		refuse(exchange, "%d queue pairs are the most in one test", CM_PT_MAX_QPS);
		return NULL;
	}
	if (!exchange->ops->connect(exchange->data, client, exchange->cycle, ours, exchange->why))
		return NULL;
	exchange->qps[exchange->qp_count++].client_qpn = client->qpn;
	return ours;
}

/* With several queue pairs it is a bandwidth test, whose run begins behind so many keys. */
static bool is_bidirectional(const struct cm_perftest *exchange)
{
	return exchange->qp_count > 1 && exchange->keys > 2 * exchange->qp_count + 1 &&
	       !exchange->used_at_last_key;
}

/* Where no twin is to be had, -b is found out by its report. */
static const struct cm_pt_key *choose_twin(struct cm_perftest *exchange,
					   const struct cm_pt_key *client,
					   const struct cm_pt_key *ours)
{
	char why[CM_PT_WHY_LEN];

	if (exchange->keys == TWIN_KEY)
		exchange->has_twin = exchange->ops->connect(exchange->data, client, exchange->cycle,
							    &exchange->twin, why);
	if (!exchange->has_twin)
		return ours;
	if (exchange->keys == SPLIT_KEY && !exchange->used_at_last_key) {
		exchange->ops->revoke(exchange->data, ours->qpn);
		exchange->split = true;
	}
	return &exchange->twin;
}

static enum cm_pt_verdict take_key(struct cm_perftest *exchange)
{
	const struct cm_pt_key *ours;
	struct cm_pt_key client;

	if (!cm_pt_key_parse(&client, (const char *)exchange->in))
		return refuse(exchange, "the client's queue pair cannot be read");
	ours = match_key(exchange, &client);
	if (!ours)
		return CM_PT_REFUSED;
	exchange->keys++;
	exchange->used_at_last_key = exchange->ops->is_used(exchange->data, 0);
	if (is_bidirectional(exchange))
		return refuse(exchange, only_answers);
	if (exchange->qp_count == 1)
		ours = choose_twin(exchange, &client, ours);
	exchange->item = CM_PT_ANY;
	exchange->out_len = CM_PT_KEY_LEN;
	cm_pt_key_print(ours, (char *)exchange->out);
	return CM_PT_ANSWER;
}

const char *cm_perftest_hung_up(const struct cm_perftest *exchange)
{
	uint32_t first = exchange->qps[0].ours.qpn;

	return exchange->split && exchange->ops->is_used(exchange->data, first) ? only_answers
										: NULL;
}

static enum cm_pt_verdict take_figure(struct cm_perftest *exchange)
{
	return echo(exchange, --exchange->figures ? CM_PT_REPORT : CM_PT_ANY);
}

static enum cm_pt_verdict take_end(struct cm_perftest *exchange)
{
	if (memcmp(exchange->in, "done", item_len[CM_PT_END]))
		return refuse(exchange, "the client sends something unknown");
	echo(exchange, CM_PT_ANY);
	return CM_PT_CLOSE;
}

static enum cm_pt_verdict take_item(struct cm_perftest *exchange)
{
	switch (exchange->item) {
	case CM_PT_VERSION:
		return take_version(exchange);
	case CM_PT_CYCLE:
		return take_cycle(exchange);
	case CM_PT_CACHE_LINE:
		return echo(exchange, CM_PT_MTU);
	case CM_PT_MTU:
		return take_mtu(exchange);
	case CM_PT_KEY:
		return take_key(exchange);
	case CM_PT_REPORT:
		return take_figure(exchange);
	default:
		return take_end(exchange);
	}
}

size_t cm_perftest_room(struct cm_perftest *exchange, uint8_t **at)
{
	*at = exchange->in + exchange->have;
	return item_len[exchange->item] - exchange->have;
}

enum cm_pt_verdict cm_perftest_take(struct cm_perftest *exchange, size_t len)
{
	exchange->have += len;
	if (exchange->have < item_len[exchange->item])
		return CM_PT_MORE;
	if (exchange->item == CM_PT_ANY)
		return recognize(exchange);
	exchange->have = 0;
	return take_item(exchange);
}

/* Nothing tells a latency test's third key from its fourth, behind which it runs. */
bool cm_perftest_is_running(const struct cm_perftest *exchange)
{
	return exchange->item == CM_PT_ANY && !exchange->have &&
	       exchange->keys > 2 * exchange->qp_count;
}

void cm_pt_key_print(const struct cm_pt_key *key, char text[CM_PT_KEY_LEN])
{
	const uint8_t *gid = (const uint8_t *)key->ip.gid;
	int len = sprintf(text, "%04x:%04x:%06x:%06x:%08x:%016" PRIx64 ":", key->lid & 0xffff,
			  key->out_reads & 0xffff, key->qpn & XA_QPN_MASK, key->psn & XA_PSN_MASK,
			  key->rkey, key->va);

	for (int i = 0; i < GID_LEN; i++)
		len += sprintf(text + len, "%02x:", gid[i]);
	sprintf(text + len, "%08x:", key->srqn);
}

/* A field of `digits` hexadecimal digits and a colon. */
static bool read_field(const char **text, int digits, uint64_t *value)
{
	*value = 0;
	for (int i = 0; i < digits; i++) {
		static const char hex[] = "0123456789abcdef";
		const char *digit = memchr(hex, *(*text)++, sizeof(hex) - 1);

		if (!digit)
			return false;
		*value = *value << 4 | (uint64_t)(digit - hex);
	}
	return *(*text)++ == ':';
}

static bool read_gid(const char **text, struct xa_ip *ip)
{
	struct in6_addr gid;
	uint64_t byte;

	for (int i = 0; i < GID_LEN; i++) {
		if (!read_field(text, 2, &byte))
			return false;
		gid.s6_addr[i] = byte;
	}
	xa_ip_from_v6(ip, &gid);
	return true;
}

bool cm_pt_key_parse(struct cm_pt_key *key, const char text[CM_PT_KEY_LEN])
{
	static const int digits[] = {4, 4, 6, 6, 8, 16};
	uint64_t fields[sizeof(digits) / sizeof(digits[0])], srqn;
	const char *at = text;

	for (size_t i = 0; i < sizeof(digits) / sizeof(digits[0]); i++)
		if (!read_field(&at, digits[i], &fields[i]))
			return false;
	if (!read_gid(&at, &key->ip) || !read_field(&at, 8, &srqn) || *at)
		return false;
	key->lid = fields[0];
	key->out_reads = fields[1];
	key->qpn = fields[2];
	key->psn = fields[3];
	key->rkey = fields[4];
	key->va = fields[5];
	key->srqn = srqn;
	return true;
}
