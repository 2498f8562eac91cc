/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.c - replies as a pcap file, with a list of what each of them says, for other decoders.
 */
#include "capture.h"

#include <errno.h>
#include <string.h>

enum { MAGIC = 0xa1b2c3d4, ETHERNET = 1 };

int capture_open(struct rig *rig, const char *path)
{
	const uint32_t header[] = {MAGIC, 2 | 4 << 16, 0, 0, PACKET_MAX, ETHERNET};
	char list[4096];

	snprintf(list, sizeof(list), "%s.txt", path);
	rig->pcap = fopen(path, "wb");
	rig->expect = fopen(list, "w");
	if (!rig->pcap || !rig->expect || fwrite(header, sizeof(header), 1, rig->pcap) != 1)
		return -errno;
	return 0;
}

int capture_close(struct rig *rig)
{
	return fclose(rig->pcap) || fclose(rig->expect) ? -errno : 0;
}

void record_reply(struct rig *rig, const uint8_t *frame, size_t len)
{
	const uint32_t header[] = {0, 0, len, len};
	struct answer a;

	if (!rig->pcap)
		return;
	fwrite(header, sizeof(header), 1, rig->pcap);
	fwrite(frame, len, 1, rig->pcap);
	answer_parse(frame, &a);
	fprintf(rig->expect, "%u %u %u %u %u %lu\n", a.opcode, a.qpn, a.psn, a.syndrome, a.msn,
		a.original);
}
