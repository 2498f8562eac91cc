/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XATOMIC_LIB_RANDOM_H
#define XATOMIC_LIB_RANDOM_H

#include <stdint.h>

/* A number that nobody can foretell (getrandom(2)). */
uint32_t xa_random(void);

#endif
