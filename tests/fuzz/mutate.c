/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that are wrong in ways nobody thought of. */
#include <string.h>

#include "gen.h"

enum {
	UDP_LEN = 8,
	ICRC_LEN = 4,
	MIN_UDP_LEN = UDP_LEN + 12 + ICRC_LEN,
	MIN_FRAME = 14, /* BPF_PROG_TEST_RUN takes no less */
	GARBAGE_MAX = 1600,
};

/* A field of a packet: where its bytes begin, counted from the IP header or from UDP. */
struct field {
	bool from_udp;
	uint8_t at, size;
};

static const struct field fields[] = {
	{false, 0, 1},  {false, 1, 1}, {false, 2, 2},  {false, 4, 2},  {false, 6, 2},
	{false, 8, 1},  {false, 9, 1}, {false, 10, 2}, {false, 12, 4}, {false, 16, 4},
	{false, 24, 8}, {true, 0, 2},  {true, 2, 2},   {true, 4, 2},   {true, 6, 2},
	{true, 8, 1},   {true, 9, 1},  {true, 10, 2},  {true, 12, 1},  {true, 13, 3},
	{true, 16, 1},  {true, 17, 3}, {true, 20, 8},  {true, 28, 4},  {true, 32, 8},
	{true, 40, 8},  {true, 48, 4},
};

static size_t udp_offset(const uint8_t *frame)
{
	size_t l3 = packet_l3_offset(frame);

	return l3 + (frame[l3] >> 4 == 4 ? 20 : 40);
}

void gen_repair_icrc(uint8_t *frame, size_t len)
{
	size_t l3 = packet_l3_offset(frame), udp = udp_offset(frame), udp_len, end;
	uint32_t icrc;

	if (udp + MIN_UDP_LEN > len)
		return;
	udp_len = frame[udp + 4] << 8 | frame[udp + 5];
	if (udp_len < MIN_UDP_LEN || udp + udp_len > len)
		return;
	end = udp + udp_len - ICRC_LEN;
	icrc = packet_icrc(frame + l3, end - l3);
	for (int i = 0; i < ICRC_LEN; i++)
		frame[end + i] = icrc >> 8 * i;
}

static void change_field(struct rng *rng, uint8_t *bytes, unsigned size)
{
	unsigned byte = rng_below(rng, size);

	switch (rng_below(rng, 6)) {
	case 0:
		bytes[byte] ^= 1 << rng_below(rng, 8);
		break;
	case 1:
		bytes[size - 1]++;
		break;
	case 2:
		bytes[size - 1]--;
		break;
	case 3:
		memset(bytes, 0, size);
		break;
	case 4:
		memset(bytes, 0xff, size);
		break;
	default:
		for (unsigned i = 0; i < size; i++)
			bytes[i] = rng_next(rng);
	}
}

static void mutate_bytes(struct rng *rng, uint8_t *frame, size_t len)
{
	const struct field *field = &RNG_PICK(rng, fields);
	size_t at = (field->from_udp ? udp_offset(frame) : packet_l3_offset(frame)) + field->at;

	if (rng_percent(rng, 15))
		frame[rng_below(rng, len)] ^= 1 << rng_below(rng, 8);
	else if (at + field->size <= len)
		change_field(rng, frame + at, field->size);
}

static size_t resize(struct rng *rng, uint8_t *frame, size_t len)
{
	size_t more;

	if (rng_percent(rng, 60))
		return MIN_FRAME + rng_below(rng, len - MIN_FRAME + 1);
	more = 1 + rng_below(rng, 40);
	memset(frame + len, 0, more);
	return len + more;
}

size_t gen_mutate(struct rng *rng, uint8_t *frame, size_t len)
{
	unsigned times = rng_percent(rng, 70) ? 1 : 1 + rng_below(rng, 4);

	for (unsigned i = 0; i < times; i++)
		mutate_bytes(rng, frame, len);
	if (rng_percent(rng, 20))
		len = resize(rng, frame, len);
	if (rng_percent(rng, 60))
		gen_repair_icrc(frame, len);
	return len;
}

size_t gen_garbage(struct rng *rng, uint8_t *frame, size_t len)
{
	size_t from = rng_percent(rng, 40) ? 0 : rng_below(rng, len);

	if (rng_percent(rng, 50))
		len = MIN_FRAME + rng_below(rng, rng_percent(rng, 80) ? 128 : GARBAGE_MAX);
	for (size_t i = from; i < len; i++)
		frame[i] = rng_next(rng);
	return len;
}
