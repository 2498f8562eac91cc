/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h - results on standard output, as JSON or as text made from the same JSON object, so that both
 * always say the same.
 */
#ifndef XATOMIC_COMMON_OUTPUT_H
#define XATOMIC_COMMON_OUTPUT_H

#include <json-c/json.h>

#include "options.h"

/* Prints `object` as one line of JSON, with -p as several, and drops the reference. Returns 0. */
int xa_print_json(const struct xa_globals *globals, struct json_object *object);

/*
 * Prints with -j as above. Otherwise an object becomes one line "key value key value ...", and an array of
 * objects one line each: addresses and rkeys in hexadecimal, members that are null left out. Drops the
 * reference. Returns 0.
 */
int xa_print(const struct xa_globals *globals, struct json_object *object);

/* Prints an object as "indent key: value" lines, the values aligned, arrays and objects left out; does not drop the reference. */
void xa_print_block(struct json_object *object, const char *indent);

/* Is the value of this key an address or a key, which people read in hexadecimal? */
bool xa_key_is_hex(const char *key);

/*
 * Writes out what is buffered. Returns `status`, or XA_EXIT_FAILED with a sentence on stderr when standard
 * output did not take everything that was printed.
 */
int xa_flush(int status);

/* Shorthands that fill an object. */
void xa_put_text(struct json_object *object, const char *key, const char *value);
void xa_put_number(struct json_object *object, const char *key, uint64_t value);

#endif
