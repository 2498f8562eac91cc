/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagram.h - CM datagrams as Ethernet frames.
 */
#ifndef XATOMIC_CM_DATAGRAM_H
#define XATOMIC_CM_DATAGRAM_H

#include <stdbool.h>

#include "requester/frame.h"
#include "wire.h"
#include "xatomic/abi.h"

/* The way that answers take: the path from here, QP 1 to QP 1, and the interface. */
struct cm_way {
	struct xa_path path;
	int ifindex;
};

/* Makes `way` a path from QP 1 to QP 1; the rest of it is given. */
void cm_way_init(struct cm_way *way);

/* Writes the frame of a datagram, XA_GSI_FRAME_MAX bytes at most. Returns its length. */
size_t cm_datagram_build(const struct cm_way *way, const struct cm_mad *mad, uint8_t *frame);

/*
 * Reads a datagram for QP 1. Fills all but the interface of the way that an answer takes. False when it is none
 * or its addresses, lengths, Q_Key, class, version or ICRC are not right; IPv4's header checksum is looked at too, as
 * the kernel's CM finds IPv4 by it.
 */
bool cm_datagram_parse(const uint8_t *frame, size_t len, struct cm_way *way, struct cm_mad *mad);

/* Begins a datagram: all zeros but its header. */
void cm_mad_init(struct cm_mad *mad, enum cm_attribute attribute, uint64_t tid);

/* The message's kind in host order, and the ids, which stand in the same place in all of them. */
enum cm_attribute cm_mad_attribute(const struct cm_mad *mad);
uint32_t cm_mad_local_id(const struct cm_mad *mad);
uint32_t cm_mad_remote_id(const struct cm_mad *mad);
uint64_t cm_mad_tid(const struct cm_mad *mad);

/* Private data: begins a structure; and is this one, of that kind, in a version that is understood? */
void cm_data_init(struct cm_data_header *header, enum cm_data_kind kind, size_t len);
bool cm_data_is(const struct cm_data_header *header, enum cm_data_kind kind, size_t len);

/* Copies a text that may lack its NUL, as far as it can be printed. `text` has len + 1 bytes. */
void cm_data_text(char *text, const char *data, size_t len);

#endif
