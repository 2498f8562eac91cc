/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <stdlib.h>
#include <sys/random.h>

uint32_t xa_random(void)
{
	uint32_t number;

	/* Cannot fail for so few bytes, and nothing that is guessed may take the place of it. */
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		abort();
	return number;
}
