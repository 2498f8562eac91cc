/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XATOMIC_LIB_NAME_H
#define XATOMIC_LIB_NAME_H

#include <stdbool.h>

/* May an instance or a memory region be called so? 1 to 63 of A-Z a-z 0-9 _ -; bpffs takes no dot. */
bool xa_is_name(const char *name);

#endif
