/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * configs.h - programs of other sizes and settings than the one of the table.
 */
#ifndef XATOMIC_TEST_CONFIGS_H
#define XATOMIC_TEST_CONFIGS_H

void run_configs(void);

#endif
