/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_execute.c - the two operations and what they leave in word, window and QP.
 */
#include "row.h"

#define FADD "IBA 9.4.5: FETCH_ADD adds modulo 2^64 and returns the value before"
#define CAS  "IBA 9.4.5: COMPARE_SWAP stores when equal and returns the value before"
#define SAVE "the original value is saved with the request, at PSN modulo depth"
#define BITS "AckReq, SE and MigReq change nothing: an atomic is always answered"

static void cas_of_zero(struct scene *s)
{
	scene_make_cas(s);
	s->words[SCENE_WORD] = s->packet.compare = 0;
}

static void window_of_others(struct scene *s)
{
	for (int i = 0; i < XA_MAX_DEPTH; i++)
		s->window.saved[i] =
			(struct xa_saved){.original = i, .guard = 77, .qpn = 5, .psn = i};
}

static void no_window(struct scene *s)
{
	s->has_window = 0;
}

static const struct row rows[] = {
	{"add 1", FADD, R(executed),
	 .before = {SET(packet.swap_add, 1), SET(words[SCENE_WORD], 41)}},
	{"add 0", FADD, R(executed), .before = {SET(packet.swap_add, 0)}},
	{"add -1", FADD, R(executed), .before = {SET(packet.swap_add, -1ull)}},
	{"add 1 to 2^64 - 1", FADD, R(executed),
	 .before = {SET(packet.swap_add, 1), SET(words[SCENE_WORD], -1ull)}},
	{"add 2^63 to 2^63", FADD, R(executed),
	 .before = {SET(packet.swap_add, 1ull << 63), SET(words[SCENE_WORD], 1ull << 63)}},
	{"carry over bit 32", FADD, R(executed),
	 .before = {SET(packet.swap_add, 1), SET(words[SCENE_WORD], 0xffffffff)}},
	{"add 2^32", FADD, R(executed), .before = {SET(packet.swap_add, 1ull << 32)}},
	{"compare field means nothing in a FETCH_ADD", FADD, R(executed),
	 .before = {SET(packet.compare, 0xdeadbeefcafef00d)}},
	{"first word", FADD, R(executed), .before = {SET(packet.va, SCENE_IOVA)}},
	{"word with all bits set", FADD, R(executed),
	 .before = {SET(words[SCENE_WORD], -1ull), SET(packet.swap_add, -1ull)}},

	{"equal", CAS, R(executed), .prepare = scene_make_cas},
	{"equal, 5 to 9", CAS, R(executed), .prepare = scene_make_cas,
	 .before = {SET(words[SCENE_WORD], 5), SET(packet.compare, 5), SET(packet.swap_add, 9)}},
	{"7 is not 5", CAS, R(executed), .prepare = scene_make_cas,
	 .before = {SET(words[SCENE_WORD], 7), SET(packet.compare, 5), SET(packet.swap_add, 9)}},
	{"differs in bit 0", CAS, R(executed), .prepare = cas_of_zero,
	 .before = {SET(packet.compare, 1)}},
	{"differs in bit 31", CAS, R(executed), .prepare = cas_of_zero,
	 .before = {SET(packet.compare, 1u << 31)}},
	{"differs in bit 32", CAS, R(executed), .prepare = cas_of_zero,
	 .before = {SET(packet.compare, 1ull << 32)}},
	{"differs in bit 63", CAS, R(executed), .prepare = cas_of_zero,
	 .before = {SET(packet.compare, 1ull << 63)}},
	{"equal to its bytes swapped only", CAS, R(executed), .prepare = scene_make_cas,
	 .before = {SET(words[SCENE_WORD], 1), SET(packet.compare, 1ull << 56)}},
	{"swap for the same", CAS, R(executed), .prepare = cas_of_zero,
	 .before = {SET(packet.swap_add, 0)}},
	{"compare equals the swap, not the word", CAS, R(executed), .prepare = scene_make_cas,
	 .before = {SET(packet.compare, 0x0102030405060708)}},

	{"slots of others stay", SAVE, R(executed), .prepare = window_of_others},
	{"slots of others stay, CAS", SAVE, R(executed), .prepare = window_of_others,
	 .before = {SET(packet.opcode, XA_OP_CMP_SWAP)}},
	{"last slot of the depth", SAVE, R(executed), .prepare = window_of_others,
	 .before = {SET(qp.ctl.epsn, 0x45f), SET(packet.psn, 0x45f)}},
	{"depth 1: slot 0", SAVE, R(executed), .prepare = window_of_others,
	 .before = {SET(qp.depth, 1), SET(qp.ctl.epsn, 0x45f), SET(packet.psn, 0x45f)}},
	{"depth 2: slot 1", SAVE, R(executed), .prepare = window_of_others,
	 .before = {SET(qp.depth, 2), SET(qp.ctl.epsn, 0x45f), SET(packet.psn, 0x45f)}},
	{"depth 128: slot 127", SAVE, R(executed), .prepare = window_of_others,
	 .before = {SET(qp.depth, 128), SET(qp.ctl.epsn, 0xff), SET(packet.psn, 0xff)}},
	{"depth 128: slot 64", SAVE, R(executed), .prepare = window_of_others,
	 .before = {SET(qp.depth, 128), SET(qp.ctl.epsn, 0xc0), SET(packet.psn, 0xc0)}},
	{"no window yet: made anew", SAVE, R(executed), .prepare = no_window},
	{"no window yet: made anew, CAS", SAVE, R(executed), .prepare = no_window,
	 .before = {SET(packet.opcode, XA_OP_CMP_SWAP)}},
	{"no window, refused request: none is made", SAVE, R(rkey), .prepare = no_window,
	 .before = {SET(packet.rkey, 0)}},

	{"AckReq 0", BITS, R(executed), .before = {SET(packet.ackreq, 0)}},
	{"reserved bits beside AckReq", BITS, R(executed), .before = {SET(packet.ackreq, 0x7f)}},
	{"all bits beside the PSN", BITS, R(executed), .before = {SET(packet.ackreq, 0xff)}},
	{"SE", BITS, R(executed), .before = {SET(packet.flags, XA_BTH_SE)}},
	{"MigReq is copied", BITS, R(executed), .before = {SET(packet.flags, XA_BTH_MIGREQ)}},
	{"SE and MigReq", BITS, R(executed), .before = {SET(packet.flags, 0xc0)}},
};

TABLE(execute_table, rows);
