/* SPDX-License-Identifier: BSD-2-Clause */
#include "budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_PERCENT = 3 };

static bool read_line(const char *line, const char *wanted, struct cost *budget)
{
	char name[64];

	return sscanf(line, "%63s %" SCNu64 " %" SCNu64, name, &budget->insns, &budget->calls) ==
		       3 &&
	       !strcmp(name, wanted);
}

bool budget_of(const struct class *class, struct cost *budget)
{
	FILE *file = fopen(BUDGET_FILE, "r");
	bool found = false;
	char line[256];

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = read_line(line, class->name, budget);
	fclose(file);
	return found;
}

void budget_print(const struct cost *costs)
{
	printf("# What a packet of each class may cost the responder as clang %d compiles it: "
	       "executed\n"
	       "# BPF instructions, with %d %% of room, and calls of helpers, with none. When more "
	       "is meant to\n"
	       "# be spent, or less is, make build/tests/test_insns, and what it prints with "
	       "--budget\n"
	       "# replaces this file.\n"
	       "#\n"
	       "# class                instructions  calls\n",
	       BUDGET_CLANG, ROOM_PERCENT);
	for (unsigned int i = 0; i < class_count; i++)
		printf("%-22s %12" PRIu64 " %6" PRIu64 "\n", classes[i].name,
		       (costs[i].insns * (100 + ROOM_PERCENT) + 99) / 100, costs[i].calls);
}

int compiled_by(const void *object, size_t size)
{
	static const char words[] = "clang version ";
	const char *at = memmem(object, size, words, sizeof(words) - 1);

	/* A string table ends with a NUL, so the number ends inside the object. */
	return at ? atoi(at + sizeof(words) - 1) : 0;
}
