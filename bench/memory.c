/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/memory.h"

#include <bpf/libbpf.h>
#include <json-c/json.h>
#include <stdio.h>

#include "bench/rig.h"
#include "responder.skel.h"

static double charged(int map_fd)
{
	char path[64], line[128];
	double bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %lf", &bytes) == 1)
			break;
	if (file)
		fclose(file);
	return bytes;
}

static double per_entry(const struct bpf_map *map)
{
	return charged(bpf_map__fd(map)) / bpf_map__max_entries(map);
}

static double words_of_mr(struct rig *rig, uint64_t words)
{
	struct rig_mrs mrs;
	double bytes;

	if (rig_add_mrs(rig, 0, 1, words, &mrs))
		return 0;
	bytes = charged(mrs.fd);
	rig_del_mrs(&mrs);
	return bytes;
}

struct json_object *memory_report(struct rig *rig)
{
	const struct responder_bpf *r = rig->responder;
	const struct {
		const char *key;
		double bytes;
	} lines[] = {
		{"qp", per_entry(r->maps.qps)},
		{"replay_window", per_entry(r->maps.replay)},
		{"mr", per_entry(r->maps.mrs) + per_entry(r->maps.mr_words)},
		{"words_8_bytes", words_of_mr(rig, 1)},
		{"words_4_KiB", words_of_mr(rig, 512)},
		{"words_1_MiB", words_of_mr(rig, 1 << 17)},
	};
	json_object *o = json_object_new_object();

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		json_object_object_add(o, lines[i].key, json_object_new_double(lines[i].bytes));
	return o;
}
