/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "target.h"

static void explain_silence(const struct req_settings *settings, const struct req_target *target,
			    struct xatomic_qp *qp, char *text)
{
	char peer[INET6_ADDRSTRLEN], local[INET6_ADDRSTRLEN];
	const char *hint = xatomic_qp_hint(qp);
	struct xatomic_qp_info info;
	uint32_t tries = settings->retry + 1;
	struct xa_ip ip;
	int len;

	xatomic_qp_query(qp, &info);
	xa_ip_from_v6(&ip, &info.local);
	len = snprintf(text, REQ_SENTENCE_LEN,
		       "%s gave no answer within %" PRIu32 " %s of %.3g ms each; ",
		       xa_ip_text(&target->peer, peer), tries, tries == 1 ? "try" : "tries",
		       (double)info.timeout_ns / 1e6);
	if (hint)
		snprintf(text + len, REQ_SENTENCE_LEN - len, "%s", hint);
	else
		snprintf(text + len, REQ_SENTENCE_LEN - len,
			 "check there that QP %" PRIu32
			 " is in state RTR, has peer %s and rqpn %" PRIu32
			 ", and expects this PSN ('xatomic qp show %" PRIu32 "')",
			 target->rqpn, xa_ip_text(&ip, local), target->lqpn, target->rqpn);
}

static const char *explain_refusal(enum xatomic_wc_status status)
{
	switch (status) {
	case XATOMIC_WC_REM_INV_REQ_ERR:
		return "the responder refused the request as invalid, as it does with an address "
		       "that "
		       "is no multiple of 8 or a queue pair without remote atomic access";
	case XATOMIC_WC_REM_ACCESS_ERR:
		return "the responder refused access to the memory, as it does with a wrong rkey, "
		       "an "
		       "address outside the region, or a region of another protection domain or "
		       "without remote atomic access";
	case XATOMIC_WC_REM_OP_ERR:
		return "the responder could not complete the operation";
	case XATOMIC_WC_RNR_RETRY_EXC_ERR:
		return "the responder had no resources each time it was asked";
	default:
		return "the response contradicts itself, so the responder is broken";
	}
}

void req_explain(const struct req_settings *settings, const struct req_target *target,
		 struct xatomic_qp *qp, const struct xatomic_wc *wc, char *text)
{
	if (wc->status == XATOMIC_WC_RETRY_EXC_ERR)
		explain_silence(settings, target, qp, text);
	else if (settings->connect)
		/* The queue pair goes with the connection, so there is nothing left to look at or revive. */
		snprintf(text, REQ_SENTENCE_LEN,
			 "%s; 'xatomic stat' at the responder counts the reason, 'xatomic monitor' "
			 "shows the next one",
			 explain_refusal(wc->status));
	else
		snprintf(text, REQ_SENTENCE_LEN,
			 "%s; 'xatomic qp show %" PRIu32
			 "' at the responder tells which, and 'xatomic "
			 "qp reset' revives the queue pair",
			 explain_refusal(wc->status), target->rqpn);
}
