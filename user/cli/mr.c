/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cli.h"
#include "common/output.h"
#include "lib/words.h"
#include "xatomic/mr.h"

struct json_object *cli_mr_json(const struct xa_instance *instance, const struct xa_mr *mr)
{
	struct json_object *object = json_object_new_object();
	char path[PATH_MAX], access[XA_ACCESS_TEXT_LEN];

	xa_instance_path(instance, "mr", mr->name, path);
	xa_put_text(object, "name", mr->name);
	xa_put_number(object, "rkey", mr->rkey);
	xa_put_number(object, "iova", mr->iova);
	xa_put_number(object, "length", mr->length);
	xa_put_number(object, "pdn", mr->pdn);
	xa_put_text(object, "access", xa_access_text(mr->access, access));
	xa_put_text(object, "map", path);
	return object;
}

/* The owner could not come near a pin below a directory that is closed to others. */
static void warn_of_closed_bpffs(const struct settings *settings)
{
	struct stat st;

	if (settings->owner && !stat(settings->place.bpffs, &st) && !(st.st_mode & S_IXOTH))
		xa_warn("%s is closed to other users (mode %o), so '%s' cannot reach the words; "
			"run: chmod o+x %s",
			settings->place.bpffs, st.st_mode & 0777, settings->owner,
			settings->place.bpffs);
}

int cli_mr_add(void *data)
{
	const struct settings *settings = data;
	struct xa_mr_request request = {
		.name = settings->name,
		.words = settings->words,
		.iova = settings->iova,
		.pdn = settings->pd,
		.access = settings->access,
		.owner = -1,
		.group = -1,
		.perm = settings->perm,
	};
	struct xa_instance instance;
	struct xa_mr mr;
	int status;

	if (settings->iova && -settings->iova / 8 < settings->words) {
		xa_fail("%" PRIu32 " words from 0x%" PRIx64
			" on do not fit into 64 bits of address; give a smaller --iova or --words",
			settings->words, settings->iova);
		return XA_EXIT_USAGE;
	}
	if (settings->owner && cli_find_owner(settings->owner, &request.owner, &request.group))
		return cli_failed();
	if (cli_open(settings, &instance, LOCK_EX))
		return XA_EXIT_FAILED;
	if (xa_mr_add(&instance, &request, &mr)) {
		status = cli_failed();
	} else {
		warn_of_closed_bpffs(settings);
		status = xa_print(&settings->global, cli_mr_json(&instance, &mr));
	}
	xa_instance_close(&instance);
	return status;
}

static int show_one(const struct settings *settings, const struct xa_instance *instance)
{
	struct xa_mr mr;

	if (xa_mr_find(instance, settings->name, &mr))
		return cli_failed();
	return xa_print(&settings->global, cli_mr_json(instance, &mr));
}

int cli_print_mrs(const struct settings *settings, const struct xa_instance *instance,
		  const struct xa_mr *list, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, cli_mr_json(instance, &list[i]));
	return xa_print(&settings->global, array);
}

static int show_all(const struct settings *settings, const struct xa_instance *instance)
{
	struct xa_mr *list;
	size_t count;

	if (xa_mr_list(instance, &list, &count))
		return cli_failed();
	cli_print_mrs(settings, instance, list, count);
	free(list);
	return XA_EXIT_DONE;
}

int cli_mr_show(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	int status;

	if (cli_open(settings, &instance, LOCK_SH))
		return XA_EXIT_FAILED;
	status = settings->name ? show_one(settings, &instance) : show_all(settings, &instance);
	xa_instance_close(&instance);
	return status;
}

int cli_mr_del(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	int status;

	if (cli_open(settings, &instance, LOCK_EX))
		return XA_EXIT_FAILED;
	status = xa_mr_del(&instance, settings->name) ? cli_failed() : XA_EXIT_DONE;
	xa_instance_close(&instance);
	return status;
}

/* Maps the words of an existing MR. NULL after it said what went wrong. */
static struct xatomic_mr *open_words(const struct settings *settings)
{
	struct xatomic_mr *words = NULL;
	struct xa_instance instance;
	struct xa_mr mr;

	if (cli_open(settings, &instance, LOCK_SH))
		return NULL;
	if (!xa_mr_find(&instance, settings->name, &mr))
		words = xa_mr_open_at(&settings->place, settings->name);
	if (!words)
		cli_failed();
	xa_instance_close(&instance);
	return words;
}

/* JSON by hand: a region can have more words than there is memory for their JSON objects. */
static void print_words_json(const struct settings *settings, const xatomic_word *words,
			     size_t count)
{
	const char *line = settings->global.pretty ? "\n  " : "",
		   *space = settings->global.pretty ? " " : "";

	printf("{%s\"name\":%s\"%s\",%s\"offset\":%s%" PRIu64 ",%s\"words\":%s[", line, space,
	       settings->name, line, space, settings->offset, line, space);
	for (size_t i = 0; i < count; i++)
		printf("%s%" PRIu64, i ? "," : "", words[i]);
	printf("]%s}\n", settings->global.pretty ? "\n" : "");
}

static void print_words(const struct settings *settings, const xatomic_word *words, size_t count)
{
	if (settings->global.json) {
		print_words_json(settings, words, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t word = words[i];

		printf("0x%08" PRIx64 "  0x%016" PRIx64 "  %" PRIu64 "\n", settings->offset + 8 * i,
		       word, word);
	}
}

static int beyond(const struct settings *settings, const struct xatomic_mr *mr, const char *what)
{
	return xa_fail("'%s' has %zu words and ends at offset %zu; give %s within it",
		       settings->name, xatomic_mr_count(mr), 8 * xatomic_mr_count(mr), what);
}

int cli_mr_dump(void *data)
{
	const struct settings *settings = data;
	struct xatomic_mr *mr = open_words(settings);
	uint64_t first = settings->offset / 8, rest, count;
	int status = XA_EXIT_DONE;

	if (!mr)
		return XA_EXIT_FAILED;
	rest = first < xatomic_mr_count(mr) ? xatomic_mr_count(mr) - first : 0;
	count = settings->count == CLI_ALL ? rest : settings->count;
	if (!rest || count > rest)
		status = beyond(settings, mr, "an offset and a count");
	else
		print_words(settings, xatomic_mr_words(mr) + first, count);
	xatomic_mr_close(mr);
	return status;
}

int cli_mr_set(void *data)
{
	const struct settings *settings = data;
	struct xatomic_mr *mr = open_words(settings);
	int status = XA_EXIT_DONE;

	if (!mr)
		return XA_EXIT_FAILED;
	if (settings->offset / 8 >= xatomic_mr_count(mr))
		status = beyond(settings, mr, "an offset");
	else
		xatomic_mr_words(mr)[settings->offset / 8] = settings->value;
	xatomic_mr_close(mr);
	return status;
}
