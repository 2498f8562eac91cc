/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * race.h - two CPUs at one QP.
 */
#ifndef XATOMIC_TEST_RACE_H
#define XATOMIC_TEST_RACE_H

void run_races(void);

#endif
