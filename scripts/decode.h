/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decode.h - a RoCEv2 packet in words, for people who watch the lab.
 */
#ifndef XATOMIC_SCRIPTS_DECODE_H
#define XATOMIC_SCRIPTS_DECODE_H

#include "../bpf/wiretap.h"

/* Prints opcode, PSN and what the opcode's headers say, without a newline; "ICRC WRONG" when it is. */
void decode_print(const struct wiretap_record *r);

/* Opcode by the name that decode_print() gives it, or by its number; -1: there is none. */
int decode_opcode(const char *text);

#endif
