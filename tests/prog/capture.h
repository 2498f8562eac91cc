/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.h - replies as a pcap file, for other decoders.
 */
#ifndef XATOMIC_TEST_CAPTURE_H
#define XATOMIC_TEST_CAPTURE_H

#include "scene.h"

/*
 * Begins a capture of every reply that scene_check() gets, at `path`. Beside it, `path`.txt holds a line
 * per reply: opcode, DestQP, PSN, syndrome, MSN, original value, in decimal. 0 or -errno.
 */
int capture_open(struct rig *rig, const char *path);
int capture_close(struct rig *rig);

/* Called for each reply; does nothing when no capture was begun. */
void record_reply(struct rig *rig, const uint8_t *frame, size_t len);

#endif
