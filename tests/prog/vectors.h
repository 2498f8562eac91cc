/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vectors.h - whole packets, byte by byte, in and out.
 */
#ifndef XATOMIC_TEST_VECTORS_H
#define XATOMIC_TEST_VECTORS_H

void run_vectors(void);

#endif
