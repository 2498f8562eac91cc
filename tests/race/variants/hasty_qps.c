/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/grace.h"

#define xa_grace_period() 0
#define xa_qp_add         hasty_qp_add
#define xa_qp_del         hasty_qp_del
#define xa_qp_reset       hasty_qp_reset
#define xa_qp_find        hasty_qp_find
#define xa_qp_list        hasty_qp_list
#define xa_qp_count       hasty_qp_count

#include "../../../user/lib/qps.c"
