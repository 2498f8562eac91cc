/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classes.h - packets that cost different amounts, one of each kind.
 */
#ifndef XATOMIC_TEST_INSNS_CLASSES_H
#define XATOMIC_TEST_INSNS_CLASSES_H

#include "../prog/scene.h"

struct class
{
	const char *name;
	enum xa_family family;
	enum xa_reason reason;             /* what the packet meets */
	void (*make)(struct scene *scene); /* or NULL */
	struct set sets[SETS_MAX];         /* after `make` */
};

extern const struct class classes[];
extern const unsigned int class_count;

/* The packet of a class, and the state that it meets. */
void class_scene(const struct class *class, struct scene *scene);

#endif
