/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rxe.h - requests that a real soft-RoCE responder got, and what it answered.
 */
#ifndef XATOMIC_TEST_RXE_H
#define XATOMIC_TEST_RXE_H

/* Plays tests/data/rxe.txt on a program of its own: a result for each of its cases. */
void run_rxe(void);

#endif
