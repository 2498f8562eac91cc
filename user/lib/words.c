/* SPDX-License-Identifier: BSD-2-Clause */
#include "words.h"

#include <stdio.h>
#include <string.h>

#define WORD(word, verdict, meaning)    #word,
#define MEANING(word, verdict, meaning) meaning,
#define VERDICT(word, verdict, meaning) VERDICT_##verdict,

enum { VERDICT_TX, VERDICT_NAK, VERDICT_PASS, VERDICT_DROP, VERDICT_CONFIG };

static const char *const words[] = {XA_REASONS(WORD)};
static const char *const meanings[] = {XA_REASONS(MEANING)};
static const unsigned char verdicts[] = {XA_REASONS(VERDICT)};

/* What a map holds may come from another version: never index by it unseen. */
#define NAME(names, number)                                                                        \
	((number) < sizeof(names) / sizeof((names)[0]) ? (names)[number] : "unknown")

const char *xa_reason_word(unsigned int reason)
{
	return NAME(words, reason);
}

const char *xa_reason_meaning(unsigned int reason)
{
	return NAME(meanings, reason);
}

const char *xa_reason_verdict(unsigned int reason)
{
	static const char *const names[] = {"tx", "nak", "pass", "drop", "config"};

	return reason < sizeof(verdicts) ? names[verdicts[reason]] : "unknown";
}

const char *xa_class_word(unsigned int class)
{
	static const char *const names[] = {"cmp_swap", "fetch_add", "other"};

	return NAME(names, class);
}

const char *xa_event_word(unsigned int type)
{
	static const char *const names[] = {"QP_REQ_ERR", "QP_ACCESS_ERR"};

	return NAME(names, type);
}

const char *xa_qp_state_word(unsigned int state)
{
	static const char *const names[] = {"RESET", "RTR", "ERR"};

	return NAME(names, state);
}

const char *xa_access_text(unsigned int access, char text[XA_ACCESS_TEXT_LEN])
{
	snprintf(text, XA_ACCESS_TEXT_LEN, "%s%s%s", access & XA_ACCESS_ATOMIC ? ",atomic" : "",
		 access & XA_ACCESS_READ ? ",read" : "", access & XA_ACCESS_WRITE ? ",write" : "");
	return *text ? text + 1 : text;
}

static unsigned int access_bit(const char *word, size_t len)
{
	static const struct {
		const char *word;
		unsigned int bit;
	} bits[] = {
		{"atomic", XA_ACCESS_ATOMIC}, {"read", XA_ACCESS_READ}, {"write", XA_ACCESS_WRITE}};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (strlen(bits[i].word) == len && !memcmp(bits[i].word, word, len))
			return bits[i].bit;
	return 0;
}

unsigned int xa_access_parse(const char *text)
{
	unsigned int access = 0, bit;
	size_t len;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		bit = access_bit(text, len);
		if (!bit || access & bit)
			return 0;
		access |= bit;
		if (!text[len])
			return access;
	}
}
