/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scene.h - one packet meeting one state, and what the rules say comes of it.
 *
 * A scene is everything that a verdict depends on. scene_check() puts it into the maps, runs the program
 * once and compares all that can be seen with what must follow from the reason that the caller expects:
 * verdict, every byte of the reply, the whole QP array, replay window, memory region, words, counters
 * and event.
 */
#ifndef XATOMIC_TEST_SCENE_H
#define XATOMIC_TEST_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../lib/packet.h"
#include "../lib/responder.h"

#define SCENE_QPN    0x5a4c11u /* index 0x11 of SCENE_QPS */
#define SCENE_QPS    64
#define SCENE_MRS    64
#define SCENE_RQPN   0x00d22fu
#define SCENE_PSN    3100u
#define SCENE_MSN    6u
#define SCENE_PDN    7u
#define SCENE_MR     5u /* index of the memory region */
#define SCENE_RKEY   (SCENE_MR << 8 | 0xa7)
#define SCENE_IOVA   0x100002000ull
#define SCENE_WORDS  8
#define SCENE_LENGTH (8 * SCENE_WORDS)
#define SCENE_WORD   3 /* the word that the packet is about */
#define SCENE_VA     (SCENE_IOVA + 8 * SCENE_WORD)
#define SCENE_DEPTH  16

struct scene {
	struct packet packet;
	struct xa_qp qp; /* CRC prefixes are filled in by scene_place() */
	struct xa_mr mr;
	struct xa_window window;
	uint64_t words[SCENE_WORDS];
	uint8_t has_window;
	uint8_t has_words;
	uint16_t cut;      /* bytes of the frame that arrive; 0: all */
	uint16_t flip;     /* 1 + the bit of the frame that is wrong; 0: none */
	uint8_t has_agent; /* somebody takes packets for QP 1 */
};

/* A scene in which the packet, a FETCH_ADD of SCENE_VA with the expected PSN, is executed. */
void scene_init(struct scene *scene, enum xa_family family);

/* Makes the packet a COMPARE_SWAP that finds what it compares with. */
void scene_make_cas(struct scene *scene);

/* Makes the packet a datagram for QP 1 that somebody takes. */
void scene_make_gsi(struct scene *scene);

/* The saved result of an atomic, as the program leaves it. */
void saved_fill(struct xa_saved *saved, uint32_t qpn, const struct packet *packet,
		uint64_t original);

/* The word is executed already: the packet is its retransmission, `distance` PSNs behind. */
void scene_make_duplicate(struct scene *scene, uint32_t distance);

/* Sets one member of a scene: rows are lists of these. */
struct set {
	uint16_t offset;
	uint16_t size;
	uint64_t value;
};

#define SET(member, number)                                                                        \
	{                                                                                          \
		.offset = offsetof(struct scene, member),                                          \
		.size = sizeof(((struct scene *)0)->member), .value = (uint64_t)(number)           \
	}

#define SETS_MAX 8

/* Applies up to SETS_MAX settings; a size of 0 ends the list. */
void scene_apply(struct scene *scene, const struct set *sets);

/* The program and what the scenes are played on. */
struct rig {
	struct responder responder;
	bool has_words;
	struct words words;       /* behind the MR */
	struct words other_words; /* behind its neighbour, which no packet may touch */
	struct xa_qp *qps;        /* what the whole QP array must be */
	FILE *pcap;               /* replies go here, when set, with what they say in `expect` */
	FILE *expect;
};

/* 0 or -errno */
int rig_open(struct rig *rig, uint32_t max_qps, enum xa_unknown_qp unknown_qp);
int rig_open_as(struct rig *rig, const struct responder_config *config);
void rig_close(struct rig *rig);

/* Puts the state of the scene, whose CRC prefixes it fills in, into the maps. 0 or -errno. */
int scene_place(struct rig *rig, struct scene *scene);

/*
 * Plays the scene. True when everything is as `reason` says; else notes tell what is not. `then`
 * corrects the state that is expected afterwards where a row knows better; NULL: nothing. `after`, when
 * not NULL, gets that state, with the packet of `scene`.
 */
bool scene_check(struct rig *rig, const struct scene *scene, enum xa_reason reason,
		 const struct set *then, struct scene *after);

/* The same, and the scene goes on from there. */
bool scene_step(struct rig *rig, struct scene *scene, enum xa_reason reason);

const char *reason_name(enum xa_reason reason);

#endif
