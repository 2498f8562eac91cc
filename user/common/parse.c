/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/address.h"
#include "lib/name.h"
#include "options.h"

static bool refuse(char *why, const char *reason)
{
	snprintf(why, XA_WHY_LEN, "%s", reason);
	return false;
}

bool xa_parse_number(const char *text, uint64_t *number)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	char *end;

	/* strtoull alone would take blanks and signs. */
	if (!isxdigit((unsigned char)digits[0]))
		return false;
	errno = 0;
	*number = strtoull(digits, &end, hex ? 16 : 10);
	return !errno && end != digits && !*end && !(hex && (digits[1] == 'x' || digits[1] == 'X'));
}

static bool number(const struct xa_option *option, const char *text, uint64_t type_max,
		   uint64_t *value, char *why)
{
	uint64_t max = option->max ? option->max : type_max;

	if (!xa_parse_number(text, value) || *value < option->min || *value > max) {
		snprintf(why, XA_WHY_LEN,
			 "it must be a number from %" PRIu64 " to %" PRIu64 ", decimal or 0x",
			 option->min, max);
		return false;
	}
	if (option->multiple && *value % option->multiple) {
		snprintf(why, XA_WHY_LEN, "it must be a multiple of %" PRIu64, option->multiple);
		return false;
	}
	return true;
}

bool xa_opt_u32(const struct xa_option *option, const char *text, void *field, char *why)
{
	uint64_t value;

	if (!number(option, text, UINT32_MAX, &value, why))
		return false;
	*(uint32_t *)field = value;
	return true;
}

bool xa_opt_u64(const struct xa_option *option, const char *text, void *field, char *why)
{
	return number(option, text, UINT64_MAX, field, why);
}

bool xa_opt_text(const struct xa_option *option, const char *text, void *field, char *why)
{
	(void)option;
	if (!*text)
		return refuse(why, "it is empty");
	*(const char **)field = text;
	return true;
}

bool xa_opt_name(const struct xa_option *option, const char *text, void *field, char *why)
{
	(void)option;
	if (!xa_is_name(text))
		return refuse(why, "a name is 1 to 63 of the characters A-Z a-z 0-9 _ -");
	*(const char **)field = text;
	return true;
}

bool xa_opt_iface(const struct xa_option *option, const char *text, void *field, char *why)
{
	size_t len = strlen(text);

	(void)option;
	if (!len || len >= IFNAMSIZ || strpbrk(text, "/: \t\n"))
		return refuse(
			why,
			"the name of an interface is 1 to 15 characters without / : and blanks");
	*(const char **)field = text;
	return true;
}

bool xa_opt_word(const struct xa_option *option, const char *text, void *field, char *why)
{
	size_t len = snprintf(why, XA_WHY_LEN, "it must be one of");

	for (int i = 0; option->words[i] && len < XA_WHY_LEN; i++) {
		if (!strcmp(text, option->words[i])) {
			*(int *)field = i;
			return true;
		}
		len += snprintf(why + len, XA_WHY_LEN - len, "%s %s", i ? "," : "",
				option->words[i]);
	}
	return false;
}

bool xa_opt_ip(const struct xa_option *option, const char *text, void *field, char *why)
{
	struct xa_ip ip;

	(void)option;
	if (!xa_ip_parse(&ip, text))
		return refuse(why, "it must be an IPv4 or IPv6 address in numbers");
	if (!xa_ip_is_host(&ip))
		return refuse(why,
			      "it must be the address of one host, not unspecified or multicast");
	*(struct xa_ip *)field = ip;
	return true;
}
