/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of saved memory regions: what is written comes back, and nothing else is believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "lib/snapshot.h"

enum { SMALL_WORDS = 3, BIG_WORDS = 5000, REGIONS = 2, HEAD = 16, ENTRY = 112, CRC = 4 };

struct image {
	unsigned char *bytes;
	size_t size;
};

static xatomic_word small[SMALL_WORDS], big[BIG_WORDS];

static void make_regions(struct xa_region *regions)
{
	static const struct xa_region some[REGIONS] = {
		{.mr = {.name = "a",
			.iova = 0x1000,
			.length = 8 * SMALL_WORDS,
			.rkey = 0x1234,
			.pdn = 7,
			.access = XA_ACCESS_ATOMIC,
			.key_step = 17},
		 .owner = 1000,
		 .group = 100,
		 .perm = 0640,
		 .map = -1},
		{.mr = {.name = "with_63_characters_0123456789012345678901234567890123456789012",
			.iova = -8ull * BIG_WORDS,
			.length = 8 * BIG_WORDS,
			.rkey = 0xfffeff,
			.access = XA_ACCESS_ATOMIC | XA_ACCESS_READ | XA_ACCESS_WRITE,
			.key_step = 255},
		 .perm = 0777,
		 .map = -1},
	};

	memcpy(regions, some, sizeof(some));
	regions[0].words = small;
	regions[1].words = big;
	memset(small, 0, sizeof(small));
	memset(big, 0, sizeof(big));
}

/* As save does it; the words are those of small and big. */
static struct image write_image(size_t count)
{
	struct xa_region regions[REGIONS];
	struct xa_snapshot snapshot = {.path = "FILE", .regions = regions, .count = count};
	xatomic_word first = small[0], last = big[BIG_WORDS - 1];
	struct image image;

	make_regions(regions);
	small[0] = first;
	big[BIG_WORDS - 1] = last;
	snapshot.file = open_memstream((char **)&image.bytes, &image.size);
	assert_non_null(snapshot.file);
	assert_int_equal(xa_snapshot_write_regions(&snapshot), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(xa_snapshot_write_words(&snapshot, &regions[i]), 0);
	assert_int_equal(xa_snapshot_write_end(&snapshot), 0);
	fclose(snapshot.file);
	return image;
}

/* As restore does it, into small and big. Returns whether the image was taken. */
static bool read_image(const struct image *image, struct xa_region *copies)
{
	struct xa_snapshot snapshot = {.path = "FILE"};
	bool good;

	memset(small, 0, sizeof(small));
	memset(big, 0, sizeof(big));
	snapshot.file = fmemopen(image->bytes, image->size, "r");
	assert_non_null(snapshot.file);
	good = !xa_snapshot_read_regions(&snapshot) && snapshot.count <= REGIONS;
	for (size_t i = 0; i < snapshot.count && good; i++) {
		struct xa_region *region = &snapshot.regions[i];

		/* No more than there is room for. */
		good = region->mr.length <= 8 * (i ? BIG_WORDS : SMALL_WORDS);
		region->words = i ? big : small;
		good = good && !xa_snapshot_read_words(&snapshot, region);
		if (copies)
			copies[i] = *region;
	}
	good = good && !xa_snapshot_read_end(&snapshot);
	xa_snapshot_free(&snapshot);
	fclose(snapshot.file);
	return good;
}

static void assert_refused(const struct image *image, const char *why)
{
	assert_false(read_image(image, NULL));
	if (!strstr(xatomic_error(), why))
		fail_msg("'%s' is not in '%s'", why, xatomic_error());
}

static void test_round_trip(void **state)
{
	struct xa_region regions[REGIONS], copies[REGIONS];
	struct image image;

	(void)state;
	small[0] = 0x1122334455667788;
	big[BIG_WORDS - 1] = UINT64_MAX;
	image = write_image(REGIONS);
	assert_true(read_image(&image, copies));
	assert_int_equal(small[0], 0x1122334455667788);
	assert_int_equal(small[1], 0);
	assert_int_equal(big[0], 0);
	assert_int_equal(big[BIG_WORDS - 1], UINT64_MAX);
	make_regions(regions);
	for (int i = 0; i < REGIONS; i++) {
		assert_memory_equal(&copies[i].mr, &regions[i].mr, sizeof(regions[i].mr));
		assert_int_equal(copies[i].owner, regions[i].owner);
		assert_int_equal(copies[i].group, regions[i].group);
		assert_int_equal(copies[i].perm, regions[i].perm);
	}
	free(image.bytes);
}

static void test_nothing_to_save(void **state)
{
	struct image image = write_image(0);

	(void)state;
	assert_int_equal(image.size, HEAD + 2 * CRC);
	assert_true(read_image(&image, NULL));
	free(image.bytes);
}

/* Bytes of the format, by their description in snapshot.h and not by the structures of snapshot.c. */
static void test_layout(void **state)
{
	static const unsigned char head[HEAD] = {0x89, 'X', 'A', 'T', 'O', 'M', 'C', 0x1a,
						 1,    0,   0,   0,   1,   0,   0,   0};
	static const unsigned char numbers[] = {0,   0x10, 0, 0, 0,    0,    0, 0, 3,    0, 0, 0,
						0,   0,    0, 0, 0x34, 0x12, 0, 0, 7,    0, 0, 0,
						8,   0,    0, 0, 17,   0,    0, 0, 0xe8, 3, 0, 0,
						100, 0,    0, 0, 0xa0, 1,    0, 0, 0,    0, 0, 0};
	static const unsigned char words[] = {
		0,    0,    0,    0,    0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55,
		0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0};
	struct image image;

	(void)state;
	small[0] = 0x1122334455667788;
	image = write_image(1);
	assert_int_equal(image.size, HEAD + ENTRY + CRC + sizeof(words) + 16 + CRC);
	assert_memory_equal(image.bytes, head, HEAD);
	assert_string_equal((char *)image.bytes + HEAD, "a");
	assert_memory_equal(image.bytes + HEAD + XA_NAME_LEN, numbers, sizeof(numbers));
	assert_memory_equal(image.bytes + HEAD + ENTRY + CRC, words, sizeof(words));
	free(image.bytes);
}

/* Blocks of nothing but 0 take no room. */
static void test_sparse(void **state)
{
	struct image image;

	(void)state;
	small[0] = 0;
	big[BIG_WORDS - 1] = 1;
	image = write_image(REGIONS);
	assert_true(image.size < HEAD + 2 * ENTRY + 2 * CRC + 3 * 16 + 8 * 512);
	assert_true(read_image(&image, NULL));
	assert_int_equal(big[BIG_WORDS - 1], 1);
	free(image.bytes);
}

static void test_torn_at_every_length(void **state)
{
	struct image image;

	(void)state;
	small[0] = 1;
	image = write_image(1);
	for (size_t size = 1; size < image.size; size++) {
		struct image torn = {image.bytes, size};

		assert_refused(&torn, "ends too early");
	}
	free(image.bytes);
}

static void test_every_flipped_bit(void **state)
{
	struct image image;

	(void)state;
	small[0] = 1;
	image = write_image(1);
	for (size_t bit = 0; bit < 8 * image.size; bit++) {
		image.bytes[bit / 8] ^= 1 << bit % 8;
		assert_false(read_image(&image, NULL));
		image.bytes[bit / 8] ^= 1 << bit % 8;
	}
	assert_true(read_image(&image, NULL));
	free(image.bytes);
}

static void test_something_behind(void **state)
{
	struct image image;

	(void)state;
	image = write_image(1);
	image.bytes = realloc(image.bytes, image.size + 1);
	image.bytes[image.size++] = 0;
	assert_refused(&image, "goes on behind its end");
	free(image.bytes);
}

static void test_foreign(void **state)
{
	unsigned char text[] = "some other file, longer than a head";
	struct image image = {text, sizeof(text)};

	(void)state;
	assert_refused(&image, "is no file of saved memory regions");
}

static void put_crc(struct image *image, size_t at)
{
	uint32_t crc = crc32(0, image->bytes, at);

	for (int i = 0; i < CRC; i++)
		image->bytes[at + i] = crc >> 8 * i;
}

/* A wrong value with the right checksums. */
static void assert_forged(size_t at, unsigned char value, const char *why)
{
	struct image image;

	small[0] = 1;
	image = write_image(1);
	image.bytes[at] = value;
	put_crc(&image, HEAD + ENTRY);
	put_crc(&image, image.size - CRC);
	assert_refused(&image, why);
	free(image.bytes);
}

static void test_other_version(void **state)
{
	(void)state;
	assert_forged(8, 2, "version 2 of the file format and this xatomic knows version 1");
}

static void test_impossible_regions(void **state)
{
	static const struct {
		size_t at;
		unsigned char value;
	} lies[] = {
		{0, '.'}, {0, 0},  {63, 'a'}, /* name */
		{64, 4},                      /* iova that is no multiple of 8 */
		{72, 0},  {76, 1},            /* no words, too many */
		{83, 1},                      /* rkey */
		{88, 1},  {92, 2}, {105, 2},  /* access, key step, permissions */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		assert_forged(HEAD + lies[i].at, lies[i].value,
			      "has a memory region that cannot be");
}

static void test_words_outside(void **state)
{
	(void)state;
	assert_forged(HEAD + ENTRY + CRC, 1, "has words outside of a memory region");
	assert_forged(HEAD + ENTRY + CRC + 7, 0xff, "has words outside of a memory region");
	assert_forged(HEAD + ENTRY + CRC + 8, 4, "has words outside of a memory region");
	assert_forged(HEAD + ENTRY + CRC + 15, 0xff, "has words outside of a memory region");
}

static void test_full_disk(void **state)
{
	struct xa_region regions[REGIONS];
	struct xa_snapshot snapshot = {.path = "FILE", .regions = regions, .count = REGIONS};

	(void)state;
	make_regions(regions);
	snapshot.file = fopen("/dev/full", "w");
	assert_non_null(snapshot.file);
	xa_snapshot_write_regions(&snapshot);
	assert_int_equal(xa_snapshot_write_end(&snapshot), -1);
	assert_non_null(
		strstr(xatomic_error(), "FILE cannot be written (No space left on device)"));
	fclose(snapshot.file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_nothing_to_save),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_torn_at_every_length),
		cmocka_unit_test(test_every_flipped_bit),
		cmocka_unit_test(test_something_behind),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_impossible_regions),
		cmocka_unit_test(test_words_outside),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
