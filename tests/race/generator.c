/* SPDX-License-Identifier: BSD-2-Clause */
#include "generator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "race/traffic.skel.h"
#include "traffic.h"

struct traffic_bpf *generator_open(const struct race_rig *rig, uint32_t qp_index, bool by_life)
{
	struct traffic_bpf *traffic = traffic_bpf__open();
	uint32_t first = 0;

	race_must(!traffic, "the generator");
	traffic->rodata->qp_index = qp_index;
	traffic->rodata->by_life = by_life;
	race_must(bpf_map__reuse_fd(traffic->maps.qps, rig->instance.maps[XA_MAP_QPS]), "qps");
	race_must(traffic_bpf__load(traffic), "the generator");
	race_must(bpf_map_update_elem(bpf_map__fd(traffic->maps.under_test), &first, &rig->prog,
				      BPF_ANY),
		  "the program under test");
	return traffic;
}

void generator_close(struct traffic_bpf *traffic)
{
	traffic_bpf__destroy(traffic);
}

void generator_set(struct traffic_bpf *traffic, uint32_t number, const struct packet *packet)
{
	struct twin_request request = {0};
	uint8_t frame[PACKET_MAX];

	race_must(packet_build(packet, frame) != TWIN_FRAME, "length of a request");
	memcpy(&request, frame, TWIN_FRAME);
	race_must(bpf_map_update_elem(bpf_map__fd(traffic->maps.requests), &number, &request,
				      BPF_ANY),
		  "a request");
}

int generator_fd(const struct traffic_bpf *traffic)
{
	return bpf_program__fd(traffic->progs.generate);
}
