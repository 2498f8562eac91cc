/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memcached_incr - "incr" on one key of memcached in a closed loop, by its text protocol over TCP, on some
 * connections with some requests in flight on each. Checks that the answers of all count up without a gap.
 *
 * Usage: memcached_incr ADDRESS CONNECTIONS PIPELINE SECONDS
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/samples.h"

enum { PORT = 11211, CONNECTIONS_MAX = 256, PIPELINE_MAX = 128, SAMPLES = 1 << 22 };

#define REQUEST "incr counter 1\r\n"

struct connection {
	int fd;
	int open; /* requests in flight */
	uint64_t sent_ns;
	char rest[32]; /* of a line that has not come whole */
	size_t rest_len;
};

static struct {
	struct connection connections[CONNECTIONS_MAX];
	struct pollfd polls[CONNECTIONS_MAX];
	int n, pipeline;
	uint64_t answered, sum;
	struct samples samples;
} c;

static int fail(const char *what)
{
	perror(what);
	return -1;
}

static int connect_to(const char *address)
{
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	inet_pton(AF_INET, address, &peer.sin_addr);
	if (fd < 0 || connect(fd, (struct sockaddr *)&peer, sizeof(peer)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		return fail("memcached_incr: cannot connect");
	return fd;
}

static int set_to_zero(int fd)
{
	static const char set[] = "set counter 0 0 1\r\n0\r\n";
	char line[32] = {0};

	if (send(fd, set, sizeof(set) - 1, 0) < 0 || recv(fd, line, sizeof(line) - 1, 0) <= 0 ||
	    strcmp(line, "STORED\r\n"))
		return fail("memcached_incr: cannot set the counter");
	return 0;
}

static int send_batch(struct connection *k)
{
	char batch[PIPELINE_MAX * sizeof(REQUEST)];
	size_t len = sizeof(REQUEST) - 1;

	for (int i = 0; i < c.pipeline; i++)
		memcpy(batch + i * len, REQUEST, len);
	k->open = c.pipeline;
	k->sent_ns = now_ns();
	return send(k->fd, batch, len * c.pipeline, 0) < 0 ? fail("memcached_incr: send") : 0;
}

/* Counts the whole lines in `text`; each is a number, their sum proves that none came twice. */
static void take_lines(struct connection *k, char *text, size_t len, uint64_t now)
{
	char *line = text, *end;

	while ((end = memchr(line, '\n', text + len - line))) {
		c.sum += strtoull(line, NULL, 10);
		samples_add(&c.samples, now - k->sent_ns);
		k->open--;
		c.answered++;
		line = end + 1;
	}
	k->rest_len = text + len - line;
	memmove(k->rest, line, k->rest_len < sizeof(k->rest) ? k->rest_len : sizeof(k->rest));
}

static int receive(struct connection *k)
{
	char text[8192];
	ssize_t len;

	memcpy(text, k->rest, k->rest_len);
	len = recv(k->fd, text + k->rest_len, sizeof(text) - k->rest_len, 0);
	if (len <= 0)
		return fail("memcached_incr: connection ended");
	take_lines(k, text, k->rest_len + len, now_ns());
	return 0;
}

/* One round over whoever has an answer. Batches go out while `going`. Returns those still open, or -1. */
static int turn(bool going)
{
	int open = 0;

	if (c.n > 1 && poll(c.polls, c.n, 1000) <= 0)
		return fail("memcached_incr: no answer");
	for (int i = 0; i < c.n; i++) {
		struct connection *k = &c.connections[i];

		if (k->open && (c.n == 1 || c.polls[i].revents) && receive(k))
			return -1;
		if (!k->open && going && send_batch(k))
			return -1;
		open += k->open;
	}
	return open;
}

static int run(double seconds)
{
	uint64_t end;
	int open = 0;

	samples_begin(&c.samples, SAMPLES);
	end = c.samples.begin_ns + seconds * 1e9;
	for (int i = 0; i < c.n; i++)
		if (send_batch(&c.connections[i]))
			return -1;
	do {
		open = turn(now_ns() < end);
	} while (open > 0);
	if (open < 0)
		return -1;
	if (c.sum != c.answered * (c.answered + 1) / 2) {
		fprintf(stderr, "memcached_incr: the answers do not count up\n");
		return -1;
	}
	samples_print(&c.samples, c.answered);
	return 0;
}

int main(int argc, char **argv)
{
	c.n = argc == 5 ? atoi(argv[2]) : 0;
	c.pipeline = argc == 5 ? atoi(argv[3]) : 0;
	if (c.n < 1 || c.n > CONNECTIONS_MAX || c.pipeline < 1 || c.pipeline > PIPELINE_MAX) {
		fprintf(stderr, "Usage: memcached_incr ADDRESS CONNECTIONS PIPELINE SECONDS\n");
		return 2;
	}
	for (int i = 0; i < c.n; i++) {
		c.connections[i].fd = connect_to(argv[1]);
		if (c.connections[i].fd < 0)
			return 1;
		c.polls[i] = (struct pollfd){.fd = c.connections[i].fd, .events = POLLIN};
	}
	return set_to_zero(c.connections[0].fd) || run(strtod(argv[4], NULL)) ? 1 : 0;
}
