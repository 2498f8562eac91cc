/* SPDX-License-Identifier: BSD-2-Clause */
#include "name.h"

#include <string.h>

#include "xatomic/abi.h"

bool xa_is_name(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(name);

	return len && len < XA_NAME_LEN && strspn(name, letters) == len;
}
