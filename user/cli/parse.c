/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lib/error.h"
#include "lib/words.h"

bool cli_parse_access(const struct xa_option *option, const char *text, void *field, char *why)
{
	uint32_t access = xa_access_parse(text);

	(void)option;
	if (!access) {
		snprintf(why, XA_WHY_LEN, "it must be some of atomic,read,write, each once");
		return false;
	}
	*(uint32_t *)field = access;
	return true;
}

bool cli_parse_perm(const struct xa_option *option, const char *text, void *field, char *why)
{
	size_t len = strlen(text);

	(void)option;
	if (!len || len > 4 || strspn(text, "01234567") != len || strtoul(text, NULL, 8) > 0777) {
		snprintf(why, XA_WHY_LEN,
			 "it must be an octal number from 0 to 777, as chmod takes it");
		return false;
	}
	*(uint32_t *)field = strtoul(text, NULL, 8);
	return true;
}

bool cli_parse_watch(const struct xa_option *option, const char *text, void *field, char *why)
{
	if (text)
		return xa_opt_u32(option, text, field, why);
	*(uint32_t *)field = 1;
	return true;
}

static int find_user(const char *name, uid_t *uid)
{
	struct passwd *user = getpwnam(name);
	uint64_t number;

	if (user)
		*uid = user->pw_uid;
	else if (xa_parse_number(name, &number) && number < UINT32_MAX)
		*uid = number;
	else
		return xa_error(
			"there is no user '%s'; give --owner USER[:GROUP] as /etc/passwd has them",
			name);
	return 0;
}

static int find_group(const char *name, gid_t *gid)
{
	struct group *group = getgrnam(name);
	uint64_t number;

	if (group)
		*gid = group->gr_gid;
	else if (xa_parse_number(name, &number) && number < UINT32_MAX)
		*gid = number;
	else
		return xa_error(
			"there is no group '%s'; give --owner USER[:GROUP] as /etc/group has them",
			name);
	return 0;
}

int cli_find_owner(const char *text, uid_t *owner, gid_t *group)
{
	const char *colon = strchr(text, ':');
	char user[256];

	snprintf(user, sizeof(user), "%.*s", (int)(colon ? colon - text : (long)strlen(text)),
		 text);
	if (find_user(user, owner))
		return -1;
	return colon ? find_group(colon + 1, group) : 0;
}
