/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * static_assert.h - a check at compile time, in C (BPF as well) and in C++, which spell it differently.
 */
#ifndef XATOMIC_STATIC_ASSERT_H
#define XATOMIC_STATIC_ASSERT_H

#ifdef __cplusplus
#define XA_STATIC_ASSERT(condition, message) static_assert(condition, message)
#else
#define XA_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#endif

#endif
