/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - what the kernel charges for the responder's maps.
 */
#ifndef XATOMIC_BENCH_MEMORY_H
#define XATOMIC_BENCH_MEMORY_H

struct rig;
struct json_object;

/*
 * An object: bytes per QP (its entry and its replay window), per possible MR, and of the words of MRs of
 * some sizes, each read from the memlock line of the map's fdinfo.
 */
struct json_object *memory_report(struct rig *rig);

#endif
