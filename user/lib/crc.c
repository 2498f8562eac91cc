/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc.h"

#include "icrc_tables.h"

enum { STRIDE = 16, REGISTER = 4 };

/* Slicing by 16: each byte contributes by itself, from its distance to the end of the stride. */
static uint32_t step(uint32_t crc, const uint8_t *bytes)
{
	uint32_t next = 0;

	for (int i = 0; i < REGISTER; i++)
		next ^= icrc_tables[STRIDE - 1 - i][bytes[i] ^ (crc >> 8 * i & 0xff)];
	for (int i = REGISTER; i < STRIDE; i++)
		next ^= icrc_tables[STRIDE - 1 - i][bytes[i]];
	return next;
}

uint32_t xa_crc(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	for (; len >= STRIDE; len -= STRIDE, bytes += STRIDE)
		crc = step(crc, bytes);
	for (; len; len--, bytes++)
		crc = icrc_tables[0][(crc ^ *bytes) & 0xff] ^ crc >> 8;
	return crc;
}
