/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "cli.h"
#include "common/output.h"
#include "lib/error.h"
#include "lib/random.h"
#include "lib/words.h"
#include "xatomic/wire.h"

static void put_gid(struct json_object *object, const char *key, enum xa_family family,
		    const __u8 *gid)
{
	char text[INET6_ADDRSTRLEN];
	struct xa_ip ip = {.family = family};

	memcpy(ip.gid, gid, sizeof(ip.gid));
	xa_put_text(object, key, xa_ip_text(&ip, text));
}

static struct json_object *nak_json(const struct xa_qp *qp)
{
	struct json_object *object;

	if (!qp->sequence_naks && !qp->fatal_naks)
		return NULL;
	object = json_object_new_object();
	xa_put_text(object, "reason", xa_reason_word(qp->last_nak.reason));
	xa_put_number(object, "psn", qp->last_nak.psn);
	xa_put_number(object, "rkey", qp->last_nak.rkey);
	xa_put_number(object, "va", qp->last_nak.va);
	return object;
}

struct json_object *cli_qp_json(const struct xa_qp *qp, bool with_counters)
{
	struct json_object *object = json_object_new_object();
	char access[XA_ACCESS_TEXT_LEN];

	xa_put_number(object, "lqpn", qp->qpn);
	xa_put_number(object, "rqpn", qp->rqpn);
	xa_put_number(object, "pdn", qp->pdn);
	xa_put_text(object, "state", xa_qp_state_word(qp->ctl.state));
	xa_put_number(object, "rq-psn", qp->ctl.epsn);
	put_gid(object, "peer", qp->family, qp->peer);
	put_gid(object, "local", qp->family, qp->local);
	xa_put_number(object, "depth", qp->depth);
	xa_put_number(object, "msn", qp->msn);
	xa_put_text(object, "access", xa_access_text(qp->access, access));
	if (!with_counters)
		return object;
	xa_put_number(object, "requests", qp->requests);
	xa_put_number(object, "replayed", qp->replayed);
	xa_put_number(object, "duplicates_dropped", qp->duplicates_dropped);
	xa_put_number(object, "sequence_naks", qp->sequence_naks);
	xa_put_number(object, "fatal_naks", qp->fatal_naks);
	json_object_object_add(object, "last_nak", nak_json(qp));
	return object;
}

/* How many different addresses there are for the peer; the last one in *local. */
static size_t count_locals(const struct xa_interfaces *interfaces, const struct xa_ip *peer,
			   bool same_scope, struct xa_ip *local)
{
	size_t count = 0;

	for (size_t i = 0; i < interfaces->count; i++) {
		for (size_t j = 0; j < interfaces->list[i].ip_count; j++) {
			const struct xa_ip *ip = &interfaces->list[i].ips[j];

			if (ip->family != peer->family ||
			    (same_scope && xa_ip_is_link_local(ip) != xa_ip_is_link_local(peer)))
				continue;
			if (count && xa_ip_equal(ip, local))
				continue;
			*local = *ip;
			count++;
		}
	}
	return count;
}

int cli_choose_local(const struct xa_interfaces *interfaces, const struct xa_ip *peer,
		     struct xa_ip *local)
{
	if (count_locals(interfaces, peer, false, local) == 1 ||
	    count_locals(interfaces, peer, true, local) == 1)
		return 0;
	return xa_error("the attached interfaces have %s %s address for --local; name the one that "
			"the peer sends to: --local IP",
			count_locals(interfaces, peer, false, local) ? "more than one" : "no",
			peer->family == XA_IPV4 ? "IPv4" : "IPv6");
}

bool cli_may_be_local(const struct xa_interfaces *interfaces, const struct xa_ip *local)
{
	for (size_t i = 0; i < interfaces->count; i++) {
		if (!interfaces->list[i].netns_id)
			return true;
		for (size_t j = 0; j < interfaces->list[i].ip_count; j++)
			if (xa_ip_equal(&interfaces->list[i].ips[j], local))
				return true;
	}
	return false;
}

/* Allowed, as addresses come and go, and behind a router; but most often a slip. */
static void warn_of_local(const struct settings *settings, const struct xa_instance *instance)
{
	struct xa_interfaces interfaces;
	char text[INET6_ADDRSTRLEN];

	if (!xa_ip_is_host(&settings->local))
		return;
	xa_ip_text(&settings->local, text);
	if (xa_ip_equal(&settings->local, &settings->peer))
		xa_warn("--local and --peer are both %s, so this queue pair answers nobody else; "
			"give the peer's address and the own one",
			text);
	if (xa_interfaces_find(instance, &interfaces))
		return;
	if (!cli_may_be_local(&interfaces, &settings->local))
		xa_warn("no attached interface has the address %s, so this queue pair answers only "
			"when "
			"packets for it come in there all the same; see 'xatomic -i %s show'",
			text, instance->name);
	xa_interfaces_free(&interfaces);
}

static int find_local(const struct settings *settings, const struct xa_instance *instance,
		      struct xa_ip *local)
{
	struct xa_interfaces interfaces;
	int status;

	if (xa_ip_is_host(&settings->local)) {
		*local = settings->local;
		return 0;
	}
	if (xa_interfaces_find(instance, &interfaces))
		return -1;
	status = cli_choose_local(&interfaces, &settings->peer, local);
	xa_interfaces_free(&interfaces);
	return status;
}

static uint32_t first_psn(const struct settings *settings)
{
	return settings->rq_psn == CLI_RANDOM_PSN ? xa_random() & XA_PSN_MASK : settings->rq_psn;
}

int cli_qp_add(void *data)
{
	const struct settings *settings = data;
	struct xa_qp_request request = {
		.peer = settings->peer,
		.rqpn = settings->rqpn,
		.rq_psn = first_psn(settings),
		.pdn = settings->pd,
		.depth = settings->depth,
		.access = settings->access,
	};
	struct xa_instance instance;
	struct xa_qp qp;
	int status;

	if (xa_ip_is_host(&settings->local) && settings->local.family != settings->peer.family) {
		xa_fail("--peer and --local are of different families; give two IPv4 or two IPv6 "
			"addresses");
		return XA_EXIT_USAGE;
	}
	if (cli_open(settings, &instance, LOCK_EX))
		return XA_EXIT_FAILED;
	if (find_local(settings, &instance, &request.local) ||
	    xa_qp_add(&instance, &request, &qp)) {
		status = cli_failed();
	} else {
		warn_of_local(settings, &instance);
		status = xa_print(&settings->global, cli_qp_json(&qp, false));
	}
	xa_instance_close(&instance);
	return status;
}

static int show_one(const struct settings *settings, const struct xa_instance *instance)
{
	struct xa_qp qp;

	if (xa_qp_find(instance, settings->lqpn, &qp))
		return cli_failed();
	return xa_print(&settings->global, cli_qp_json(&qp, true));
}

static int show_all(const struct settings *settings, const struct xa_instance *instance)
{
	struct json_object *array;
	struct xa_qp *list;
	size_t count;

	if (xa_qp_list(instance, &list, &count))
		return cli_failed();
	array = json_object_new_array();
	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, cli_qp_json(&list[i], true));
	free(list);
	return xa_print(&settings->global, array);
}

int cli_qp_show(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	int status;

	if (cli_open(settings, &instance, LOCK_SH))
		return XA_EXIT_FAILED;
	status = settings->lqpn ? show_one(settings, &instance) : show_all(settings, &instance);
	xa_instance_close(&instance);
	return status;
}

int cli_qp_del(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	int status;

	if (cli_open(settings, &instance, LOCK_EX))
		return XA_EXIT_FAILED;
	status = xa_qp_del(&instance, settings->lqpn) ? cli_failed() : XA_EXIT_DONE;
	xa_instance_close(&instance);
	return status;
}

int cli_qp_reset(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	struct xa_qp qp;
	int status;

	if (cli_open(settings, &instance, LOCK_EX))
		return XA_EXIT_FAILED;
	if (xa_qp_reset(&instance, settings->lqpn, first_psn(settings), &qp))
		status = cli_failed();
	else
		status = xa_print(&settings->global, cli_qp_json(&qp, false));
	xa_instance_close(&instance);
	return status;
}
