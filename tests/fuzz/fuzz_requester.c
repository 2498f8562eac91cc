/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target: what the requester makes of frames and of responses.
 *
 * The input is a list of frames. The bytes of each replace those of a right response, whose ICRC is then
 * repaired, so that most frames get past the checks and reach the state machine.
 */
#include <stdlib.h>
#include <string.h>

#include "requester/frame.h"
#include "tests/lib/packet.h"

enum { OUTSTANDING = 16, SQ_PSN = 0xfffff8, REQUESTER_QPN = 0x2f, RESPONDER_QPN = 0x11 };

static const struct xa_engine_attr attr = {
	.qp_num = REQUESTER_QPN,
	.sq_psn = SQ_PSN,
	.max_send_wr = OUTSTANDING,
	.max_rd_atomic = OUTSTANDING,
	.timeout_ns = 1000,
	.retry_cnt = 3,
	.rnr_retry = 3,
};

static uint64_t results[OUTSTANDING];

static void post_all(struct xa_engine *engine)
{
	for (unsigned i = 0; i < OUTSTANDING; i++) {
		struct xatomic_wr wr = {
			.wr_id = i,
			.send_flags = i & 2,
			.opcode = i & 1 ? XATOMIC_WR_ATOMIC_CMP_AND_SWP
					: XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
			.reply = &results[i],
		};

		xa_engine_post(engine, &wr);
	}
	xa_engine_doorbell(engine);
}

static void send_all(struct xa_engine *engine, uint64_t now, const struct xa_template *template)
{
	struct xa_request request;
	uint8_t frame[XA_FRAME_MAX];

	while (xa_engine_next(engine, now, &request))
		xa_frame_build(template, &request, frame);
}

static size_t right_response(const struct xa_template *template, uint8_t *frame)
{
	struct xa_request request = {.opcode = XA_OP_FETCH_ADD, .psn = SQ_PSN};
	struct answer answer = {
		.opcode = XA_OP_ATOMIC_ACKNOWLEDGE,
		.syndrome = XA_SYN_ACK_UNLIMITED,
		.qpn = REQUESTER_QPN,
		.psn = SQ_PSN,
	};
	uint8_t sent[XA_FRAME_MAX];

	xa_frame_build(template, &request, sent);
	return answer_build(&answer, sent, frame);
}

/* The first byte tells where the change begins and whether the ICRC is repaired, the second how long it is. */
static size_t next_frame(const uint8_t **data, size_t *size, size_t len, uint8_t *frame)
{
	size_t from = (*data)[0] & 0x7f, count = (*data)[1] & 0x1f, l3 = packet_l3_offset(frame);
	bool repair = (*data)[0] & 0x80;
	uint32_t icrc;

	*data += 2;
	*size -= 2;
	if (count > *size)
		count = *size;
	if (from + count > len)
		len = from + count;
	memcpy(frame + from, *data, count);
	*data += count;
	*size -= count;
	if (!repair)
		return len;
	icrc = packet_icrc(frame + l3, len - XA_ICRC_LEN - l3);
	for (int i = 0; i < XA_ICRC_LEN; i++)
		frame[len - XA_ICRC_LEN + i] = icrc >> 8 * i;
	return len;
}

/* In memory of exactly its size, so that a read behind it is seen. */
static void receive(struct xa_engine *engine, const struct xa_path *path, uint64_t now,
		    const uint8_t *frame, size_t len)
{
	struct xa_response response;
	uint8_t *copy = malloc(len);

	if (!copy)
		return;
	memcpy(copy, frame, len);
	if (xa_frame_parse(path, copy, len, &response))
		xa_engine_receive(engine, now, &response);
	free(copy);
}

static void run(struct xa_engine *engine, bool ipv6, const uint8_t *data, size_t size)
{
	struct xa_path path = {.lqpn = REQUESTER_QPN, .rqpn = RESPONDER_QPN, .pkey = 0xffff};
	struct xa_template template;
	uint64_t now = 1;

	xa_ip_parse(&path.local, ipv6 ? "fd00::1" : "10.0.0.1");
	xa_ip_parse(&path.peer, ipv6 ? "fd00::2" : "10.0.0.2");
	xa_template_init(&template, &path);
	post_all(engine);
	while (size >= 2 && now < 1000) {
		uint8_t frame[256] = {0};
		size_t len = right_response(&template, frame);
		struct xatomic_wc wc[4];

		send_all(engine, now++, &template);
		len = next_frame(&data, &size, len, frame);
		receive(engine, &path, now, frame, len);
		if (now % 8 == 0)
			xa_engine_timer(engine, now * 1000);
		xa_engine_poll(engine, 4, wc);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xa_engine engine;

	if (size == 0 || xa_engine_init(&engine, &attr))
		return 0;
	run(&engine, data[0] & 1, data + 1, size - 1);
	xa_engine_free(&engine);
	return 0;
}
