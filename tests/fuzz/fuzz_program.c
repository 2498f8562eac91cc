/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: the BPF program, compiled for the host with sanitizers, against the reference model.
 *
 * An input is a list of records: steps of the seeded generator, and packets of which some bytes are
 * replaced by the input's own, so that coverage guides both what happens and what the packets hold. With VERBOSE set
 * each step is printed as it is done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum {
	RECORD_STEP = 0x80,   /* kinds below: a seeded step */
	RECORD_RAW = 0xf0,    /* kinds from here on: the rest is a frame */
	REPAIR_ICRC = 0x08,   /* in the kinds between: after the change of the bytes */
	CHANGED_BYTES = 0x07, /* likewise: how many, less 1 */
	MIN_FRAME = 14,
};

static const struct target_limits limits = {
	.max_qps = XA_DEF_QPS,
	.max_mrs = XA_DEF_MRS,
	.mr_index = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, XA_DEF_MRS - 1},
	.mr_words = {1, 1, 2, 2, 3, 4, 5, 8, 8, 16, 31, 64, 100, 128, 511, 512},
};

static struct harness harness;

struct input {
	const uint8_t *at;
	size_t left;
};

/* 0 when there is nothing left. */
static uint32_t take(struct input *in, unsigned bytes)
{
	uint32_t value = 0;

	for (; bytes > 0 && in->left > 0; bytes--, in->left--)
		value = value << 8 | *in->at++;
	return value;
}

static void change(struct input *in, struct step *step, uint8_t kind)
{
	size_t from = take(in, 1), count = (kind & CHANGED_BYTES) + 1;

	for (size_t i = from; i < from + count && i < step->len; i++)
		step->frame[i] = take(in, 1);
	if (kind & REPAIR_ICRC)
		gen_repair_icrc(step->frame, step->len);
}

static void raw(struct input *in, struct step *step)
{
	step->op = OP_PACKET;
	step->slot = 0;
	step->locked = false;
	step->len = in->left < TARGET_FRAME_MAX ? in->left : TARGET_FRAME_MAX;
	memcpy(step->frame, in->at, step->len);
	in->left = 0;
}

static void next_step(struct harness *h, struct input *in, uint32_t number)
{
	uint8_t kind = take(in, 1);

	if (kind >= RECORD_RAW && in->left >= MIN_FRAME)
		return raw(in, &h->step);
	gen_step(&h->gen, number, take(in, 2), &h->step);
	if (kind >= RECORD_STEP && h->step.op == OP_PACKET)
		change(in, &h->step, kind);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *why;

	(void)argc;
	(void)argv;
	if (harness_open(&harness, &limits, &why))
		return 0;
	fprintf(stderr, "%s\n", why);
	exit(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	harness.strict = true;
	harness_start(&harness, take(&in, 1));
	for (uint32_t number = 0; in.left > 0; number++) {
		next_step(&harness, &in, number);
		if (getenv("VERBOSE"))
			print_step(&harness, number);
		if (harness_step(&harness))
			continue;
		print_step(&harness, number);
		printf("# %s\n", harness.difference);
		fflush(stdout);
		abort();
	}
	return 0;
}
