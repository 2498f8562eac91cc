/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * show.c - an instance in the words that ibv_devinfo -v has for a NIC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli.h"
#include "common/output.h"

struct json_object *cli_program_json(const struct xa_prog *program)
{
	struct json_object *object = json_object_new_object();

	xa_put_number(object, "id", program->id);
	xa_put_text(object, "name", program->name);
	xa_put_text(object, "tag", program->tag);
	return object;
}

static void put_addresses(struct json_object *object, const struct xa_interface *interface)
{
	struct json_object *addresses = json_object_new_array(), *gids = json_object_new_array();
	char text[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < interface->ip_count; i++) {
		const struct xa_ip *ip = &interface->ips[i];

		json_object_array_add(addresses, json_object_new_string(xa_ip_text(ip, text)));
		json_object_array_add(gids, json_object_new_string(xa_ip_gid_text(ip, text)));
	}
	json_object_object_add(object, "addresses", addresses);
	json_object_object_add(object, "gids", gids);
}

void cli_put_interface(struct json_object *object, const struct xa_interface *interface)
{
	bool found = interface->netns_id;

	json_object_object_add(object, "interface",
			       found ? json_object_new_string(interface->name) : NULL);
	xa_put_number(object, "ifindex", interface->ifindex);
	json_object_object_add(object, "netns",
			       *interface->netns ? json_object_new_string(interface->netns) : NULL);
	json_object_object_add(object, "mode",
			       found ? json_object_new_string(xa_mode_names[interface->mode])
				     : NULL);
}

static struct json_object *interface_json(const struct xa_interface *interface)
{
	struct json_object *object = json_object_new_object();
	bool found = interface->netns_id;

	cli_put_interface(object, interface);
	json_object_object_add(
		object, "state",
		found ? json_object_new_string(interface->up ? "PORT_ACTIVE" : "PORT_DOWN") : NULL);
	put_addresses(object, interface);
	return object;
}

static void put_limits(struct json_object *object, const struct xa_config *config)
{
	xa_put_text(object, "atomic_cap", "ATOMIC_GLOB");
	xa_put_number(object, "max_qp", config->max_qps);
	xa_put_number(object, "max_mr", config->max_mrs);
	/* What a BPF array can have of elements; memory may be less. */
	xa_put_number(object, "max_mr_size", 8ull * UINT32_MAX);
	xa_put_number(object, "max_qp_rd_atom", XA_MAX_DEPTH);
	xa_put_number(object, "page_size_cap", sysconf(_SC_PAGESIZE));
	xa_put_number(object, "replay_windows", config->replay_windows);
	xa_put_text(object, "unknown_qp",
		    xa_unknown_qp_names[config->unknown_qp == XA_UNKNOWN_QP_DROP]);
}

static int count_mrs(const struct xa_instance *instance, size_t *count)
{
	struct xa_mr *list;

	if (xa_mr_list(instance, &list, count))
		return -1;
	free(list);
	return 0;
}

static struct json_object *instance_json(const struct xa_instance *instance,
					 const struct xa_interfaces *interfaces,
					 const struct xa_prog *program, size_t mrs)
{
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	struct utsname system = {0};

	uname(&system);
	xa_put_text(object, "instance", instance->name);
	xa_put_text(object, "transport", "RoCEv2 (XDP)");
	xa_put_text(object, "version", XATOMIC_VERSION);
	xa_put_text(object, "kernel", system.release);
	json_object_object_add(object, "program", cli_program_json(program));
	xa_put_number(object, "layout_version", instance->config.layout_version);
	put_limits(object, &instance->config);
	xa_put_number(object, "num_qp", xa_qp_count(instance));
	xa_put_number(object, "num_mr", mrs);
	for (size_t i = 0; i < interfaces->count; i++)
		json_object_array_add(array, interface_json(&interfaces->list[i]));
	json_object_object_add(object, "interfaces", array);
	return object;
}

static const char *text_of(struct json_object *object, const char *key)
{
	return json_object_get_string(json_object_object_get(object, key));
}

static void print_gids(struct json_object *interface)
{
	struct json_object *gids = json_object_object_get(interface, "gids");

	for (size_t i = 0; i < json_object_array_length(gids); i++)
		printf("\t\t\tGID[%3zu]:\t\t%s, RoCE v2\n", i,
		       json_object_get_string(json_object_array_get_idx(gids, i)));
}

static void print_text(struct json_object *object)
{
	struct json_object *interfaces = json_object_object_get(object, "interfaces");
	struct json_object *program = json_object_object_get(object, "program");

	printf("hca_id: %s\n", text_of(object, "instance"));
	json_object_object_del(object, "instance");
	xa_print_block(object, "\t");
	printf("\tprogram:%17s%s, id %s, tag %s\n", "", text_of(program, "name"),
	       text_of(program, "id"), text_of(program, "tag"));
	for (size_t i = 0; i < json_object_array_length(interfaces); i++) {
		struct json_object *interface = json_object_array_get_idx(interfaces, i);

		printf("\t\tport:\t%zu\n", i + 1);
		xa_print_block(interface, "\t\t\t");
		print_gids(interface);
	}
}

int cli_show(void *data)
{
	const struct settings *settings = data;
	struct xa_interfaces interfaces = {0};
	struct xa_instance instance;
	struct json_object *object;
	struct xa_prog program;
	size_t mrs;

	if (cli_open(settings, &instance, LOCK_SH))
		return XA_EXIT_FAILED;
	if (count_mrs(&instance, &mrs) || xa_prog_read(instance.prog, &program) ||
	    xa_interfaces_find(&instance, &interfaces)) {
		xa_instance_close(&instance);
		return cli_failed();
	}
	object = instance_json(&instance, &interfaces, &program, mrs);
	xa_interfaces_free(&interfaces);
	xa_instance_close(&instance);
	if (settings->global.json)
		return xa_print_json(&settings->global, object);
	print_text(object);
	json_object_put(object);
	return XA_EXIT_DONE;
}
