/* SPDX-License-Identifier: BSD-2-Clause */
#include "policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "lib/name.h"
#include "lib/words.h"

enum { IPV4_BITS = 32, IPV6_BITS = 128, MAPPED_BITS = 96, DEFAULT_DEPTH = 16, TEXT_LEN = 1024 };

static const uint64_t token = 1000 * 1000 * 1000;

static bool refuse(char *why, const char *reason)
{
	snprintf(why, XA_WHY_LEN, "%s", reason);
	return false;
}

/* Bits of the GID that count: those of an IPv4 address are its last ones. */
static unsigned int gid_bits(const struct cm_prefix *prefix)
{
	return prefix->bits + (prefix->ip.family == XA_IPV4 ? MAPPED_BITS : 0);
}

static bool bit_of(const struct xa_ip *ip, unsigned int bit)
{
	return ((const uint8_t *)ip->gid)[bit / 8] >> (7 - bit % 8) & 1;
}

bool cm_prefix_parse(struct cm_prefix *prefix, const char *text)
{
	const char *slash = strchr(text, '/');
	char address[64];
	uint64_t bits;

	snprintf(address, sizeof(address), "%.*s", (int)(slash ? slash - text : (long)strlen(text)),
		 text);
	if (!xa_ip_parse(&prefix->ip, address))
		return false;
	bits = prefix->ip.family == XA_IPV4 ? IPV4_BITS : IPV6_BITS;
	prefix->bits = bits;
	if (slash && (!xa_parse_number(slash + 1, &bits) || bits > prefix->bits))
		return false;
	prefix->bits = bits;
	for (unsigned int bit = gid_bits(prefix); bit < IPV6_BITS; bit++)
		if (bit_of(&prefix->ip, bit))
			return false;
	return true;
}

bool cm_prefix_has(const struct cm_prefix *prefix, const struct xa_ip *ip)
{
	if (prefix->ip.family != ip->family)
		return false;
	for (unsigned int bit = 0; bit < gid_bits(prefix); bit++)
		if (bit_of(&prefix->ip, bit) != bit_of(ip, bit))
			return false;
	return true;
}

static bool parse_prefixes(struct cm_offer *offer, char *list, char *why)
{
	char *rest = NULL;

	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (offer->prefixes == CM_OFFER_PREFIXES)
			return refuse(why, "it may have 16 prefixes; put the others in another "
					   "offer of the same region");
		if (!cm_prefix_parse(&offer->to[offer->prefixes++], word)) {
			snprintf(why, XA_WHY_LEN,
				 "'%.60s' is no prefix such as 10.0.0.0/8 or fd00::/8", word);
			return false;
		}
	}
	return true;
}

static bool parse_item(struct cm_offer *offer, const char *key, char *value, char *why)
{
	uint64_t number;

	if (!strcmp(key, "to") && value)
		return parse_prefixes(offer, value, why);
	if (!strcmp(key, "access") && value) {
		offer->access = xa_access_parse(value);
		return offer->access ||
		       refuse(why, "its access must be some of atomic,read,write, each once");
	}
	if (!strcmp(key, "depth") && value) {
		offer->depth = 0;
		if (xa_parse_number(value, &number) && number <= XA_MAX_DEPTH)
			offer->depth = number;
		return offer->depth || refuse(why, "its depth must be a number from 1 to 128");
	}
	return refuse(why, "it must read MR to PREFIX[,PREFIX...] [access LIST] [depth N]");
}

static bool parse_offer(struct cm_offer *offer, char *text, char *why)
{
	char *rest = NULL, *word = strtok_r(text, " \t", &rest);

	*offer = (struct cm_offer){.access = XA_ACCESS_ATOMIC, .depth = DEFAULT_DEPTH};
	if (!word || !xa_is_name(word))
		return refuse(why, "it must begin with the name of a memory region");
	snprintf(offer->mr, sizeof(offer->mr), "%s", word);
	while ((word = strtok_r(NULL, " \t", &rest)))
		if (!parse_item(offer, word, strtok_r(NULL, " \t", &rest), why))
			return false;
	return offer->prefixes ||
	       refuse(why, "it must say to whom: MR to PREFIX[,PREFIX...] [access LIST] [depth N]");
}

bool cm_policy_add(struct cm_policy *policy, const char *text, char why[XA_WHY_LEN])
{
	struct cm_offer offer, *offers;
	char copy[TEXT_LEN];

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return refuse(why, "it is longer than 1023 characters");
	if (!parse_offer(&offer, copy, why))
		return false;
	offers = realloc(policy->offers, (policy->offer_count + 1) * sizeof(*offers));
	if (!offers)
		return refuse(why, "there is no memory for it");
	policy->offers = offers;
	offers[policy->offer_count++] = offer;
	return true;
}

void cm_policy_free(struct cm_policy *policy)
{
	free(policy->offers);
	*policy = (struct cm_policy){0};
}

static bool is_for(const struct cm_offer *offer, const struct xa_ip *peer)
{
	for (size_t i = 0; i < offer->prefixes; i++)
		if (cm_prefix_has(&offer->to[i], peer))
			return true;
	return false;
}

const struct cm_offer *cm_policy_find(const struct cm_policy *policy, const struct xa_ip *peer,
				      const char *mr)
{
	for (size_t i = 0; i < policy->offer_count; i++) {
		const struct cm_offer *offer = &policy->offers[i];

		if ((!mr || !strcmp(offer->mr, mr)) && is_for(offer, peer))
			return offer;
	}
	return NULL;
}

bool cm_ports_have(const struct cm_ports *ports, uint16_t port)
{
	for (size_t i = 0; i < ports->count; i++)
		if (ports->list[i] == port)
			return true;
	return false;
}

bool cm_ports_parse(struct cm_ports *ports, const char *text, char why[XA_WHY_LEN])
{
	char copy[TEXT_LEN], *rest = NULL;
	uint64_t port;

	ports->count = 0;
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (!xa_parse_number(word, &port) || !port || port > UINT16_MAX ||
		    ports->count == CM_MAX_PORTS)
			return refuse(why, "it must be up to 16 ports from 1 to 65535, as 18516 or "
					   "18516,18517");
		if (cm_ports_have(ports, port))
			return refuse(why, "it names a port twice");
		ports->list[ports->count++] = port;
	}
	return ports->count || refuse(why, "it is empty");
}

bool cm_bucket_take(struct cm_bucket *bucket, uint64_t now_ns)
{
	uint64_t full = bucket->rate * token, gained = now_ns - bucket->last_ns;

	/* A second fills it; the limit keeps the product in range. */
	if (!bucket->last_ns || gained >= token)
		bucket->tokens = full;
	else
		bucket->tokens += gained * bucket->rate;
	bucket->last_ns = now_ns;
	if (bucket->tokens > full)
		bucket->tokens = full;
	if (bucket->tokens < token)
		return false;
	bucket->tokens -= token;
	return true;
}
