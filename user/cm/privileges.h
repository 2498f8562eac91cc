/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XATOMIC_CM_PRIVILEGES_H
#define XATOMIC_CM_PRIVILEGES_H

/*
 * Gives up for good what this process needs no more once everything is open: all capabilities but the one that
 * changes BPF maps, the way to others (bounding set, set-user-ID programs) and, when `user` is not NULL, root's
 * identity. Returns 0, or -1 with xa_error().
 */
int cm_drop_privileges(const char *user);

#endif
