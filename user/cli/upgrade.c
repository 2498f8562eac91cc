/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <sys/file.h>

#include "cli.h"
#include "common/output.h"

static struct json_object *interface_json(const struct xa_upgrade *upgrade,
					  const struct xa_interface *interface)
{
	struct json_object *object = json_object_new_object();

	cli_put_interface(object, interface);
	xa_put_number(object, "old_id", interface->prog_id);
	xa_put_number(object, "new_id", upgrade->is.id);
	return object;
}

static struct json_object *upgrade_json(const struct xa_instance *instance,
					const struct xa_upgrade *upgrade)
{
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();

	xa_put_text(object, "instance", instance->name);
	json_object_object_add(object, "changed", json_object_new_boolean(upgrade->changed));
	xa_put_number(object, "layout_version", instance->config.layout_version);
	json_object_object_add(object, "old_program", cli_program_json(&upgrade->was));
	json_object_object_add(object, "new_program", cli_program_json(&upgrade->is));
	for (size_t i = 0; i < upgrade->interfaces.count; i++)
		json_object_array_add(array, interface_json(upgrade, &upgrade->interfaces.list[i]));
	json_object_object_add(object, "interfaces", array);
	return object;
}

static void print_text(const struct xa_instance *instance, const struct xa_upgrade *upgrade)
{
	if (!upgrade->changed) {
		printf("nothing to do: instance '%s' runs this program already, id %u, tag %s\n",
		       instance->name, upgrade->is.id, upgrade->is.tag);
		return;
	}
	printf("instance '%s': program id %u, tag %s, replaced by id %u, tag %s\n", instance->name,
	       upgrade->was.id, upgrade->was.tag, upgrade->is.id, upgrade->is.tag);
	for (size_t i = 0; i < upgrade->interfaces.count; i++) {
		const struct xa_interface *interface = &upgrade->interfaces.list[i];

		printf("%s (ifindex %d%s%s): program id %u replaced by id %u\n",
		       interface->netns_id ? interface->name : "interface", interface->ifindex,
		       *interface->netns ? ", netns " : "", interface->netns, interface->prog_id,
		       upgrade->is.id);
	}
}

int cli_upgrade(void *data)
{
	const struct settings *settings = data;
	struct xa_instance instance;
	struct xa_upgrade upgrade;
	int status = XA_EXIT_DONE;

	if (cli_open(settings, &instance, LOCK_EX))
		return XA_EXIT_FAILED;
	if (xa_upgrade(&instance, &upgrade)) {
		status = cli_failed();
	} else {
		if (settings->global.json)
			xa_print_json(&settings->global, upgrade_json(&instance, &upgrade));
		else
			print_text(&instance, &upgrade);
		xa_interfaces_free(&upgrade.interfaces);
	}
	xa_instance_close(&instance);
	return status;
}
