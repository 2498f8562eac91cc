/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli.h"
#include "common/output.h"

static struct json_object *attached_json(const struct settings *settings,
					 const struct xa_attached *attached)
{
	struct json_object *object = json_object_new_object();

	xa_put_text(object, "instance", settings->place.name);
	xa_put_text(object, "interface", settings->iface);
	if (settings->netns)
		xa_put_text(object, "netns", settings->netns);
	xa_put_text(object, "mode", xa_mode_names[attached->mode]);
	xa_put_number(object, "max_qps", attached->config.max_qps);
	xa_put_number(object, "max_mrs", attached->config.max_mrs);
	xa_put_number(object, "replay_windows", attached->config.replay_windows);
	xa_put_text(object, "unknown_qp", xa_unknown_qp_names[attached->config.unknown_qp]);
	return object;
}

static void warn(const struct settings *settings, const struct xa_attached *attached)
{
	if (attached->vanishes)
		xa_warn("a BPF file system was mounted on %s in a mount namespace of its own and "
			"goes with it, and the responder with that; outside of 'ip netns exec', "
			"use --netns instead",
			settings->place.bpffs);
	if (attached->no_native)
		xa_warn("%s is attached in generic mode, which is slower, because native mode is "
			"not to be had (%s); --mode generic does without this warning",
			settings->iface, xa_why_not_attached(attached->no_native));
	if (attached->is_new && attached->is_veth && attached->mode == XA_MODE_NATIVE)
		xa_warn("%s is a veth in native mode, and its peer receives replies only when it "
			"runs an XDP program as well; give it one that passes everything: ip link "
			"set dev PEER xdp obj pass.bpf.o sec xdp",
			settings->iface);
}

int cli_attach(void *data)
{
	const struct settings *settings = data;
	const struct xa_attach attach = {
		.ifname = settings->iface,
		.netns = settings->netns,
		.mode = settings->mode,
		.limits = settings->limits,
	};
	struct xa_attached attached;

	if (cli_begin(settings))
		return XA_EXIT_FAILED;
	if (xa_attach(&settings->place, &attach, &attached))
		return cli_failed();
	warn(settings, &attached);
	return xa_print(&settings->global, attached_json(settings, &attached));
}

int cli_detach(void *data)
{
	const struct settings *settings = data;

	if (cli_begin(settings))
		return XA_EXIT_FAILED;
	if (xa_detach(&settings->place, settings->iface, settings->netns))
		return cli_failed();
	return XA_EXIT_DONE;
}

int cli_destroy(void *data)
{
	const struct settings *settings = data;

	if (cli_begin(settings))
		return XA_EXIT_FAILED;
	if (xa_destroy(&settings->place))
		return cli_failed();
	return XA_EXIT_DONE;
}
