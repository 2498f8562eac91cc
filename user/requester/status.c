/* SPDX-License-Identifier: BSD-2-Clause */
#include "xatomic/requester.h"

const char *xatomic_wc_status_str(enum xatomic_wc_status status)
{
	switch (status) {
	case XATOMIC_WC_SUCCESS:
		return "IBV_WC_SUCCESS";
	case XATOMIC_WC_WR_FLUSH_ERR:
		return "IBV_WC_WR_FLUSH_ERR";
	case XATOMIC_WC_BAD_RESP_ERR:
		return "IBV_WC_BAD_RESP_ERR";
	case XATOMIC_WC_REM_INV_REQ_ERR:
		return "IBV_WC_REM_INV_REQ_ERR";
	case XATOMIC_WC_REM_ACCESS_ERR:
		return "IBV_WC_REM_ACCESS_ERR";
	case XATOMIC_WC_REM_OP_ERR:
		return "IBV_WC_REM_OP_ERR";
	case XATOMIC_WC_RETRY_EXC_ERR:
		return "IBV_WC_RETRY_EXC_ERR";
	case XATOMIC_WC_RNR_RETRY_EXC_ERR:
		return "IBV_WC_RNR_RETRY_EXC_ERR";
	}
	return "unknown";
}
