/* SPDX-License-Identifier: BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void xa_put_text(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, json_object_new_string(value));
}

void xa_put_number(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

int xa_print_json(const struct xa_globals *globals, struct json_object *object)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	if (globals->pretty)
		flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
	puts(json_object_to_json_string_ext(object, flags));
	json_object_put(object);
	return XA_EXIT_DONE;
}

bool xa_key_is_hex(const char *key)
{
	static const char *const hex[] = {"rkey", "iova", "va", "opcode"};

	for (size_t i = 0; i < sizeof(hex) / sizeof(hex[0]); i++)
		if (!strcmp(key, hex[i]))
			return true;
	return false;
}

static void print_line(struct json_object *object);

static void print_value(const char *key, struct json_object *value)
{
	const char *separator = "";

	switch (json_object_get_type(value)) {
	case json_type_int:
		printf(xa_key_is_hex(key) ? "0x%" PRIx64 : "%" PRIu64,
		       json_object_get_uint64(value));
		break;
	case json_type_array:
		for (size_t i = 0; i < json_object_array_length(value); i++) {
			fputs(separator, stdout);
			print_value(key, json_object_array_get_idx(value, i));
			separator = ",";
		}
		break;
	case json_type_object:
		putchar('(');
		print_line(value);
		putchar(')');
		break;
	default:
		fputs(json_object_get_string(value), stdout);
	}
}

static void print_line(struct json_object *object)
{
	const char *separator = "";

	json_object_object_foreach(object, key, value)
	{
		if (!value)
			continue;
		printf("%s%s ", separator, key);
		print_value(key, value);
		separator = " ";
	}
}

int xa_print(const struct xa_globals *globals, struct json_object *object)
{
	if (globals->json)
		return xa_print_json(globals, object);
	if (json_object_is_type(object, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(object); i++) {
			print_line(json_object_array_get_idx(object, i));
			putchar('\n');
		}
	} else {
		print_line(object);
		putchar('\n');
	}
	json_object_put(object);
	return XA_EXIT_DONE;
}

void xa_print_block(struct json_object *object, const char *indent)
{
	json_object_object_foreach(object, key, value)
	{
		if (!value || json_object_is_type(value, json_type_object) ||
		    json_object_is_type(value, json_type_array))
			continue;
		printf("%s%s:%*s", indent, key, (int)(24 - strlen(key)), " ");
		print_value(key, value);
		putchar('\n');
	}
}

int xa_flush(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return xa_fail("the output could not be written (%s), so it is incomplete; free some space "
		       "or write "
		       "it elsewhere",
		       strerror(errno));
}
