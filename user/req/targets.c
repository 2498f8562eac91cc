/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"
#include "xatomic/wire.h"

/* A file being read. */
struct reading {
	const struct req_settings *settings;
	struct req_target *targets;
	int count, room;
};

static int refuse(const struct reading *reading, const char *fault)
{
	xa_fail("'%s' is no list of queue pairs: %s; make one with 'xatomic -j qp show' at the "
		"responder",
		reading->settings->qp_file, fault);
	return -1;
}

static bool get_number(struct json_object *object, const char *key, uint64_t min, uint64_t max,
		       uint32_t *number)
{
	struct json_object *value;
	int64_t found;

	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_int))
		return false;
	found = json_object_get_int64(value);
	*number = found;
	return found >= (int64_t)min && found <= (int64_t)max;
}

static bool get_address(struct json_object *object, const char *key, struct xa_ip *ip)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) &&
	       json_object_is_type(value, json_type_string) &&
	       xa_ip_parse(ip, json_object_get_string(value));
}

/* What the responder calls its own is the requester's remote, and the other way round. */
static const char *read_target(struct json_object *object, struct req_target *target)
{
	if (!json_object_is_type(object, json_type_object))
		return "it holds something that is no JSON object";
	if (!get_number(object, "rqpn", XA_QPN_GSI + 1, XA_QPN_MULTICAST - 1, &target->lqpn))
		return "an object has no right 'rqpn'";
	if (!get_number(object, "lqpn", XA_QPN_GSI + 1, XA_QPN_MULTICAST - 1, &target->rqpn))
		return "an object has no right 'lqpn'";
	if (!get_number(object, "rq-psn", 0, XA_PSN_MASK, &target->sq_psn))
		return "an object has no right 'rq-psn'";
	if (!get_number(object, "depth", 1, XATOMIC_MAX_RD_ATOMIC, &target->depth))
		return "an object has no right 'depth'";
	if (!get_address(object, "local", &target->peer))
		return "an object has no right 'local'";
	if (!get_address(object, "peer", &target->local))
		return "an object has no right 'peer'";
	return NULL;
}

static bool is_wanted(const struct reading *reading, const struct req_target *target)
{
	return !req_has_peer(reading->settings) ||
	       xa_ip_equal(&reading->settings->peer, &target->peer);
}

static int add(struct reading *reading, struct json_object *object)
{
	struct req_target target = {0}, *grown;
	const char *fault = read_target(object, &target);

	if (fault)
		return refuse(reading, fault);
	if (!is_wanted(reading, &target))
		return 0;
	if (reading->count == reading->room) {
		reading->room = 2 * reading->room + 16;
		grown = realloc(reading->targets, reading->room * sizeof(*grown));
		if (!grown)
			return refuse(reading, "it is too long for the memory there is");
		reading->targets = grown;
	}
	reading->targets[reading->count++] = target;
	return 0;
}

static int add_all(struct reading *reading, struct json_object *value)
{
	if (!json_object_is_type(value, json_type_array))
		return add(reading, value);
	for (size_t i = 0; i < json_object_array_length(value); i++)
		if (add(reading, json_object_array_get_idx(value, i)))
			return -1;
	return 0;
}

static int parse(struct reading *reading, const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *value;
	int error = tokener ? 0 : refuse(reading, "there is no memory to read it");

	while (!error && *(text += strspn(text, " \t\r\n"))) {
		value = json_tokener_parse_ex(tokener, text, -1);
		error = value ? add_all(reading, value)
			      : refuse(reading, "it holds something that is not JSON");
		text += json_tokener_get_parse_end(tokener);
		json_object_put(value);
	}
	json_tokener_free(tokener);
	return error;
}

/* Any kind of file, so its size is not known before. */
static char *slurp(const char *path)
{
	char *text = NULL;
	size_t room = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	if (getdelim(&text, &room, '\0', file) < 0) {
		free(text);
		text = ferror(file) ? NULL : strdup("");
	}
	fclose(file);
	return text;
}

int req_read_targets(const struct req_settings *settings, struct req_target **targets)
{
	struct reading reading = {.settings = settings};
	char *text = slurp(settings->qp_file);
	int error;

	if (!text) {
		xa_fail("the list of queue pairs '%s' cannot be read: %s", settings->qp_file,
			strerror(errno));
		return -1;
	}
	error = parse(&reading, text);
	free(text);
	if (!error && !reading.count)
		error = refuse(&reading,
			       req_has_peer(settings) ? "it names none of --peer" : "it is empty");
	if (error)
		free(reading.targets);
	else
		*targets = reading.targets;
	return error ? -1 : reading.count;
}
