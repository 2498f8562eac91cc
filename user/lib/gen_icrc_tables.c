/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gen_icrc_tables - prints the header of CRC tables that the BPF program is compiled with. Run by the
 * Makefile, so that the object file is complete by itself.
 *
 * Entry [row][b] is what byte b contributes to a CRC-32 register when distances[row] more bytes follow it.
 */
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

/*
 * 0-15: slicing by 16. 29-31: flags, and both bytes of the identification of an IPv4 header, counted back
 * from BTH's AckReq/PSN word (IP 20, UDP 8, BTH 8 bytes).
 */
static const int distances[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 29, 30, 31};

static uint32_t step(uint32_t crc)
{
	return get_crc_table()[crc & 0xff] ^ crc >> 8;
}

static void print_row(int distance)
{
	printf("\t{ /* distance %d */\n", distance);
	for (unsigned int byte = 0; byte < 256; byte++) {
		uint32_t crc = step(byte);

		for (int i = 0; i < distance; i++)
			crc = step(crc);
		printf("%s0x%08x,%s", byte % 8 ? " " : "\t\t", crc, byte % 8 == 7 ? "\n" : "");
	}
	printf("\t},\n");
}

int main(void)
{
	size_t rows = sizeof(distances) / sizeof(distances[0]);

	printf("/* Made by gen_icrc_tables. */\n");
	printf("static const unsigned int icrc_tables[%zu][256] = {\n", rows);
	for (size_t i = 0; i < rows; i++)
		print_row(distances[i]);
	printf("};\n");
	return fflush(stdout) ? 1 : 0;
}
