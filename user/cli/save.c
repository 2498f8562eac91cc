/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/save.h"

#include <stdlib.h>
#include <sys/file.h>

#include "cli.h"
#include "common/output.h"

static struct json_object *saved_json(const struct settings *settings,
				      const struct xa_saved_file *saved)
{
	struct json_object *object = json_object_new_object();

	xa_put_text(object, "instance", settings->place.name);
	xa_put_text(object, "file", settings->file);
	xa_put_number(object, "mrs", saved->mrs);
	xa_put_number(object, "words", saved->words);
	xa_put_number(object, "bytes", saved->bytes);
	return object;
}

int cli_save(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	struct xa_saved_file saved;
	int status;

	if (cli_open(settings, &instance, LOCK_SH))
		return XA_EXIT_FAILED;
	if (xa_save(&instance, settings->file, &saved))
		status = cli_failed();
	else
		status = xa_print(&settings->global, saved_json(settings, &saved));
	xa_instance_close(&instance);
	return status;
}

int cli_restore(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	struct xa_mr *list;
	size_t count;
	int status;

	if (cli_open(settings, &instance, LOCK_EX))
		return XA_EXIT_FAILED;
	if (xa_restore(&instance, settings->file, &list, &count)) {
		status = cli_failed();
	} else {
		status = cli_print_mrs(settings, &instance, list, count);
		free(list);
	}
	xa_instance_close(&instance);
	return status;
}
