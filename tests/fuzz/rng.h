/* SPDX-License-Identifier: BSD-2-Clause */
/* A small seeded generator (splitmix64), so that a seed gives the same steps on every machine. */
#ifndef XATOMIC_TESTS_RNG_H
#define XATOMIC_TESTS_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* 0 .. n - 1, n > 0. The bias of the modulo does not matter here. */
static inline uint32_t rng_below(struct rng *rng, uint32_t n)
{
	return (rng_next(rng) >> 16) % n;
}

static inline bool rng_percent(struct rng *rng, unsigned percent)
{
	return rng_below(rng, 100) < percent;
}

/* One seed out of several numbers. */
static inline uint64_t rng_mix(uint64_t a, uint64_t b)
{
	struct rng rng = {a};

	rng.state = rng_next(&rng) ^ b;
	return rng_next(&rng);
}

#define RNG_PICK(rng, array) ((array)[rng_below(rng, sizeof(array) / sizeof((array)[0]))])

#endif
