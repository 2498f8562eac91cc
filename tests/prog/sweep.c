/* SPDX-License-Identifier: BSD-2-Clause */
#include "sweep.h"

#include <stdarg.h>
#include <stdio.h>

enum { ENOUGH_FAILURES = 3 };

bool sweep_case(struct sweep *sweep, bool ok, const char *note, ...)
{
	char text[256];
	va_list args;

	sweep->cases++;
	if (ok)
		return true;
	va_start(args, note);
	vsnprintf(text, sizeof(text), note, args);
	va_end(args);
	tap_note("that was: %s", text);
	return ++sweep->failures < ENOUGH_FAILURES;
}

void sweep_done(const struct sweep *sweep, const char *name, ...)
{
	char text[256];
	va_list args;

	va_start(args, name);
	vsnprintf(text, sizeof(text), name, args);
	va_end(args);
	tap_result(sweep->cases && !sweep->failures, "%s: %u cases", text, sweep->cases);
}

/* splitmix64 */
uint64_t any_number(void)
{
	static uint64_t state = 3100;
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Extended headers of the RC requests, in bytes (IBA table 38 and annex A19; rxe_opcode.c). */
static unsigned int header_len(uint8_t opcode)
{
	enum { IMM = 4, IETH = 4, RETH = 16, FETH = 4, ATMETH = 28 };
	static const uint8_t lens[32] = {
		[XA_OP_SEND_LAST_IMM] = IMM,  [XA_OP_SEND_ONLY_IMM] = IMM,
		[XA_OP_WRITE_FIRST] = RETH,   [XA_OP_WRITE_LAST_IMM] = IMM,
		[XA_OP_WRITE_ONLY] = RETH,    [XA_OP_WRITE_ONLY_IMM] = RETH + IMM,
		[XA_OP_READ_REQUEST] = RETH,  [XA_OP_CMP_SWAP] = ATMETH,
		[XA_OP_FETCH_ADD] = ATMETH,   [XA_OP_SEND_LAST_INV] = IETH,
		[XA_OP_SEND_ONLY_INV] = IETH, [XA_OP_FLUSH] = FETH + RETH,
		[XA_OP_ATOMIC_WRITE] = RETH,
	};

	return lens[opcode];
}

enum xa_reason reason_of_request(uint8_t opcode, unsigned int body_len, unsigned int pad)
{
	if (opcode == XA_OP_CNP)
		return XA_REASON_cnp;
	if (opcode & XA_TRANSPORT_MASK)
		return XA_REASON_transport;
	if (opcode >= XA_OP_READ_RESPONSE_FIRST && opcode <= XA_OP_ATOMIC_ACKNOWLEDGE)
		return XA_REASON_response;
	if (opcode == XA_OP_CMP_SWAP || opcode == XA_OP_FETCH_ADD)
		return body_len == header_len(opcode) && !pad ? XA_REASON_executed
							      : XA_REASON_length;
	return body_len >= header_len(opcode) + pad ? XA_REASON_opcode : XA_REASON_length;
}
