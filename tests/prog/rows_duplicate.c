/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_duplicate.c - a request that was executed already: answered with what is saved when it is the same
 * in all that counts, else dropped; never run again.
 */
#include "row.h"

#define SAME    "IBA 9.4.5: a duplicate is answered when it is identical to the request that was saved"
#define COMPARE "requesters leave the compare field of a FETCH_ADD unwritten (rxe init_req_packet)"
#define WHOLE   "a recycled window, or one that two wrote, is not believed"
#define BEFORE  "duplicates leave before the access checks (rxe_receiver)"
#define STATE   "a duplicate changes neither PSN, MSN nor memory (rxe atomic_reply)"

static void fadd(struct scene *s)
{
	scene_make_duplicate(s, 1);
}

static void cas(struct scene *s)
{
	scene_make_cas(s);
	scene_make_duplicate(s, 1);
}

static void second_of_sixteen(struct scene *s)
{
	scene_make_duplicate(s, 15);
}

static void oldest(struct scene *s)
{
	scene_make_duplicate(s, 16);
}

/* As far behind as a duplicate can be: it is answered when the slot still has it. */
static void half_a_circle_old(struct scene *s)
{
	scene_make_duplicate(s, 0x800000);
}

static void across_the_wrap(struct scene *s)
{
	s->qp.ctl.epsn = 0;
	scene_make_duplicate(s, 1);
}

/* What would match a packet of PSN 0 on an empty window: nothing may. */
static void empty_slot(struct scene *s)
{
	s->qp.ctl.epsn = 1;
	s->packet.psn = 0;
}

/* The slot that the saved request is in. */
#define SLOT window.saved[(SCENE_PSN - 1) % SCENE_DEPTH]

static const struct row rows[] = {
	{"FETCH_ADD again", SAME, R(replayed), .prepare = fadd},
	{"CAS again", SAME, R(replayed), .prepare = cas},
	{"15 behind", SAME, R(replayed), .prepare = second_of_sixteen},
	{"16 behind, the depth", SAME, R(replayed), .prepare = oldest},
	{"2^23 behind", SAME, R(replayed), .prepare = half_a_circle_old},
	{"behind by one across the wrap", SAME, R(replayed), .prepare = across_the_wrap},
	{"without AckReq, with SE and MigReq", SAME, R(replayed), .prepare = fadd,
	 .before = {SET(packet.ackreq, 0), SET(packet.flags, 0xc0)}},
	{"from another source port", SAME, R(replayed), .prepare = fadd,
	 .before = {SET(packet.sport, 0xd00d)}},
	{"FETCH_ADD with another compare field", COMPARE, R(replayed), .prepare = fadd,
	 .before = {SET(packet.compare, 99)}},
	{"FETCH_ADD with another addend", SAME, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(packet.swap_add, 99)}},
	{"FETCH_ADD, addend differs in the top bit", SAME, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(packet.swap_add, 0x8102030405060708)}},
	{"FETCH_ADD of another address", SAME, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(packet.va, SCENE_VA + 8)}},
	{"FETCH_ADD, address differs in the top bit", SAME, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(packet.va, SCENE_VA | 1ull << 63)}},
	{"FETCH_ADD with another rkey", SAME, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(packet.rkey, SCENE_RKEY + 1)}},
	{"FETCH_ADD with another rkey, top bit", SAME, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(packet.rkey, SCENE_RKEY | 1u << 31)}},
	{"CAS in the place of a FETCH_ADD", SAME, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(packet.opcode, XA_OP_CMP_SWAP)}},
	{"FETCH_ADD in the place of a CAS", SAME, R(duplicate_differs), .prepare = cas,
	 .before = {SET(packet.opcode, XA_OP_FETCH_ADD)}},
	{"CAS with another compare value", SAME, R(duplicate_differs), .prepare = cas,
	 .before = {SET(packet.compare, 99)}},
	{"CAS, compare differs in the top bit", SAME, R(duplicate_differs), .prepare = cas,
	 .before = {SET(packet.compare, 0x71e2d3c4b5a6978b)}},
	{"CAS with another swap value", SAME, R(duplicate_differs), .prepare = cas,
	 .before = {SET(packet.swap_add, 99)}},
	{"CAS of another address", SAME, R(duplicate_differs), .prepare = cas,
	 .before = {SET(packet.va, SCENE_VA - 8)}},
	{"CAS with another rkey", SAME, R(duplicate_differs), .prepare = cas,
	 .before = {SET(packet.rkey, SCENE_RKEY + 1)}},
	{"SEND in the place of an atomic", SAME, R(duplicate_lost), .prepare = fadd,
	 .before = {SET(packet.opcode, XA_OP_SEND_ONLY)}},

	{"no window", WHOLE, R(duplicate_lost), .prepare = fadd, .before = {SET(has_window, 0)}},
	{"empty slot, PSN 0", WHOLE, R(duplicate_lost), .prepare = empty_slot},
	{"slot of the PSN one depth later", WHOLE, R(duplicate_lost), .prepare = fadd,
	 .before = {SET(SLOT.psn, SCENE_PSN - 1 + SCENE_DEPTH)}},
	{"slot of the PSN one depth earlier", WHOLE, R(duplicate_lost), .prepare = fadd,
	 .before = {SET(SLOT.psn, SCENE_PSN - 1 - SCENE_DEPTH)}},
	{"slot of another QP", WHOLE, R(duplicate_lost), .prepare = fadd,
	 .before = {SET(SLOT.qpn, SCENE_QPN + 1)}},
	{"slot of this QP's last generation", WHOLE, R(duplicate_lost), .prepare = fadd,
	 .before = {SET(SLOT.qpn, SCENE_QPN - SCENE_QPS)}},
	{"guard wrong in the lowest bit", WHOLE, R(duplicate_lost), .prepare = fadd,
	 .before = {SET(SLOT.original, 0x99887766aabbccdc)}},
	{"guard wrong in the highest bit", WHOLE, R(duplicate_lost), .prepare = fadd,
	 .before = {SET(SLOT.original, 0x19887766aabbccdd)}},
	{"guard 0", WHOLE, R(duplicate_lost), .prepare = fadd, .before = {SET(SLOT.guard, 0)}},
	{"guard of a slot whose opcode changed", WHOLE, R(duplicate_lost), .prepare = fadd,
	 .before = {SET(SLOT.opcode, XA_OP_CMP_SWAP)}},
	{"slot whose address changed", WHOLE, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(SLOT.va, SCENE_VA + 8)}},
	{"slot whose rkey changed", WHOLE, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(SLOT.rkey, SCENE_RKEY + 1)}},
	{"slot whose addend changed", WHOLE, R(duplicate_differs), .prepare = fadd,
	 .before = {SET(SLOT.swap_add, 1)}},
	{"slot whose compare field changed, FETCH_ADD", WHOLE, R(replayed), .prepare = fadd,
	 .before = {SET(SLOT.compare, 1)}},
	{"slot whose compare field changed, CAS", WHOLE, R(duplicate_differs), .prepare = cas,
	 .before = {SET(SLOT.compare, 1)}},

	{"region gone since", BEFORE, R(replayed), .prepare = fadd,
	 .before = {SET(mr.state, XA_MR_FREE), SET(has_words, 0)}},
	{"region under another key since", BEFORE, R(replayed), .prepare = fadd,
	 .before = {SET(mr.rkey, SCENE_RKEY + 9)}},
	{"region in another domain since", BEFORE, R(replayed), .prepare = fadd,
	 .before = {SET(mr.pdn, 0)}},
	{"region smaller since", BEFORE, R(replayed), .prepare = fadd,
	 .before = {SET(mr.length, 8)}},
	{"QP without access since", BEFORE, R(replayed), .prepare = fadd,
	 .before = {SET(qp.access, 0)}},
	{"MSN of the answer is the current one", STATE, R(replayed), .prepare = oldest,
	 .before = {SET(qp.msn, 0xfffffe)}},
	{"QP in error", "a QP in error answers nothing, duplicates included", R(qp_state),
	 .prepare = fadd, .before = {SET(qp.ctl.state, XA_QP_ERR)}},
	{"locked QP", "a duplicate waits for the lock too", R(busy), .prepare = fadd,
	 .before = {SET(qp.ctl.lock, 1)}},
};

TABLE(duplicate_table, rows);
