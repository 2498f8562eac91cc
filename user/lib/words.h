/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.h - the names that people and JSON see for the enums of abi.h.
 */
#ifndef XATOMIC_LIB_WORDS_H
#define XATOMIC_LIB_WORDS_H

#include "xatomic/abi.h"

enum { XA_ACCESS_TEXT_LEN = 24 };

const char *xa_reason_word(unsigned int reason);    /* "executed" ... "busy" */
const char *xa_reason_meaning(unsigned int reason); /* a phrase */
const char *xa_reason_verdict(unsigned int reason); /* "tx", "nak", "pass", "drop" or "config" */
const char *xa_class_word(unsigned int class);      /* "cmp_swap", "fetch_add", "other" */
const char *xa_event_word(unsigned int type);       /* as in ibv_event_type_str(3), in short */
const char *xa_qp_state_word(unsigned int state);   /* "RESET", "RTR", "ERR" */

/* "atomic,read,write", as far as the bits are set. Returns `text`. */
const char *xa_access_text(unsigned int access, char text[XA_ACCESS_TEXT_LEN]);

/* The bits of such a list, in any order; 0 when it is none. */
unsigned int xa_access_parse(const char *text);

#endif
