/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * requester.h - the requester's half of RDMA atomics, for hosts without an RNIC.
 *
 * A queue pair here is the send side of a reliable connection (RC) over RoCEv2, driven by its caller's
 * thread: there is no other thread and no driver. Names, numbers and behaviour follow libibverbs, so a
 * work request here is what ibv_post_send(3) calls one, and a status what ibv_poll_cq(3) calls one.
 *
 *	struct xatomic_qp_attr attr;
 *	struct xatomic_qp *qp;
 *	struct xatomic_wc wc;
 *	uint64_t original;
 *
 *	xatomic_qp_attr_init(&attr);
 *	attr.ifname = "eth0";
 *	inet_pton(AF_INET6, "::ffff:10.0.0.2", &attr.peer);
 *	attr.qp_num = 0x11; attr.dest_qp_num = 0x2f; attr.sq_psn = 100;
 *	qp = xatomic_qp_open(&attr);
 *	if (!qp)
 *		errx(1, "%s", xatomic_error());
 *	xatomic_post_send(qp, &(struct xatomic_wr){.opcode = XATOMIC_WR_ATOMIC_FETCH_AND_ADD,
 *		.remote_addr = 0x2000, .rkey = rkey, .compare_add = 1, .reply = &original,
 *		.send_flags = XATOMIC_SEND_SIGNALED});
 *	xatomic_ring_doorbell(qp);
 *	while (!xatomic_poll_cq(qp, 1, &wc))
 *		xatomic_wait(qp, -1);
 *
 * How it works. Work requests go into the send queue, a ring; nothing is sent before the doorbell rings.
 * Each becomes one packet with the next PSN. A request stays in the ring, which is its replay buffer,
 * until its own ATOMIC_ACKNOWLEDGE has come, in PSN order: atomics are not acknowledged in groups (rxe
 * check_psn, hfi1 do_rc_ack). The retry timer runs while a request is open. When it ends, and at once upon
 * a sequence NAK or an acknowledgement that skips the oldest request (an implied NAK), everything from the
 * oldest open request on is sent again (go-back-N), with the same PSNs; the responder answers what it has
 * run before from its own replay window, and runs nothing twice.
 *
 * Many queue pairs on one interface are best opened on one device, which sends and receives for all of them
 * in common batches, and whose completions can be polled together:
 *
 *	device = xatomic_device_open("eth0", NULL, XATOMIC_TRANSPORT_AUTO);
 *	attr.device = device;
 *	...	xatomic_qp_open(&attr), and xatomic_post_send() to as many as you like
 *	xatomic_device_doorbell(device);
 *	n = xatomic_device_poll(device, 64, wc);
 *
 * Threads: one thread at a time per device, with all its queue pairs. A queue pair that was opened without one
 * has a device of its own. Different devices share nothing.
 * Integers are in host byte order, addresses in network order. Functions that can fail return 0 or a
 * positive count, or a negative errno; xatomic_qp_open() says why in words.
 */
#ifndef XATOMIC_REQUESTER_H
#define XATOMIC_REQUESTER_H

#include <netinet/in.h>
#include <stdint.h>

#include "xatomic/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	XATOMIC_MAX_RD_ATOMIC = 128 /* most atomics in flight, as in rxe */
};

/* Operations, numbered as enum ibv_wr_opcode. */
enum xatomic_wr_opcode {
	XATOMIC_WR_ATOMIC_CMP_AND_SWP = 5,
	XATOMIC_WR_ATOMIC_FETCH_AND_ADD = 6,
};

/* What a completion was for, numbered as enum ibv_wc_opcode. */
enum xatomic_wc_opcode {
	XATOMIC_WC_COMP_SWAP = 3,
	XATOMIC_WC_FETCH_ADD = 4,
};

/* How an operation ended: those members of enum ibv_wc_status that can occur here, with its numbers. */
enum xatomic_wc_status {
	XATOMIC_WC_SUCCESS = 0,
	XATOMIC_WC_WR_FLUSH_ERR = 5,       /* the queue pair was or went into error before it */
	XATOMIC_WC_BAD_RESP_ERR = 7,       /* the response makes no sense */
	XATOMIC_WC_REM_INV_REQ_ERR = 9,    /* NAK 0x61 */
	XATOMIC_WC_REM_ACCESS_ERR = 10,    /* NAK 0x62 */
	XATOMIC_WC_REM_OP_ERR = 11,        /* NAK 0x63, and NAK codes that RC does not know */
	XATOMIC_WC_RETRY_EXC_ERR = 12,     /* no valid answer to the request and all its retries */
	XATOMIC_WC_RNR_RETRY_EXC_ERR = 13, /* RNR NAK more often than rnr_retry */
};

enum xatomic_send_flags {
	XATOMIC_SEND_SIGNALED = 2, /* post a completion also upon success; IBV_SEND_SIGNALED */
};

/* States of a queue pair, numbered as enum ibv_qp_state. */
enum xatomic_qp_state {
	XATOMIC_QPS_RTS = 3,
	XATOMIC_QPS_ERR = 6,
};

/* How frames get to the interface and back. */
enum xatomic_transport {
	/*
	 * A packet(7) socket, which gets copies of the responses. Any interface will do, and any number of
	 * programs can use it.
	 */
	XATOMIC_TRANSPORT_AF_PACKET,
	/*
	 * An AF_XDP socket, fed by an XDP program of its own: several times faster, but one process per
	 * interface, and none that has another XDP program or more than one receive queue in use. Drivers of
	 * NICs may reset the link when the program comes and goes. On a veth, the program also makes sure
	 * that what the other end sends by XDP_TX is delivered.
	 */
	XATOMIC_TRANSPORT_AF_XDP,
	/* AF_XDP where that works and the interface runs no XDP program yet, else AF_PACKET. */
	XATOMIC_TRANSPORT_AUTO,
};

struct xatomic_device;

/* A work request: one atomic on one remote 64-bit word. */
struct xatomic_wr {
	uint64_t wr_id;                /* comes back in the completion */
	enum xatomic_wr_opcode opcode; /* compare and swap, or fetch and add */
	unsigned int send_flags;       /* 0 or XATOMIC_SEND_SIGNALED */
	uint64_t remote_addr;          /* of the word; the responder wants a multiple of 8 */
	uint32_t rkey;                 /* of the responder's memory region */
	uint64_t compare_add;          /* value to compare with, or to add (modulo 2^64) */
	uint64_t swap;                 /* value to store if equal; unused by fetch and add */
	uint64_t *
		reply; /* gets the value before the operation; must live until completion; or NULL */
};

/* A work completion. */
struct xatomic_wc {
	uint64_t wr_id;
	enum xatomic_wc_status status;
	enum xatomic_wc_opcode opcode;
	uint32_t vendor_err; /* AETH syndrome of the NAK, 0 without one */
	uint32_t qp_num;     /* local QPN */
	uint32_t psn;        /* of the request's packet */
};

/*
 * What ibv_modify_qp(3) takes to bring an RC queue pair to RTS. Both sides must have agreed on QPNs and
 * PSN before. Start from xatomic_qp_attr_init().
 */
struct xatomic_qp_attr {
	const char *ifname; /* Ethernet interface to send on */
	const char *netns;  /* name of its network namespace under /run/netns; NULL: the caller's */
	enum xatomic_transport transport; /* default AF_PACKET */
	struct xatomic_device *device; /* instead of the three above: one that is open; or NULL */
	struct in6_addr peer;          /* responder, as a GID: IPv4 as ::ffff:a.b.c.d */
	struct in6_addr local; /* own address, of the same family; all zeros: as routing chooses */
	uint32_t qp_num;       /* local QPN, 24 bits: the DestQP of responses */
	uint32_t dest_qp_num;  /* responder's QPN, 24 bits */
	uint32_t sq_psn;       /* PSN of the first request, 24 bits: what the responder expects */
	uint16_t pkey;         /* default 0xffff */
	uint8_t max_rd_atomic; /* atomics in flight, 1-128, no more than the responder's depth; 1 */
	uint8_t timeout;      /* 0: never; else 4.096 us * 2^timeout, up to 31; default 14, 67 ms */
	uint8_t retry_cnt;    /* 0-7 retries without progress; 7 is seven, not endless; default 7 */
	uint8_t rnr_retry;    /* 0-6 waits upon RNR NAKs without progress, 7: endless; default 7 */
	uint32_t max_send_wr; /* slots of the send queue, rounded up to a power of two; 128 */
	unsigned int vlans;   /* VLAN tags of requests, 0-2 */
	uint16_t vlan_tpid[2]; /* outermost first: 0x8100, 0x88a8 */
	uint16_t vlan_tci[2];  /* priority, DEI and VLAN id */
};

/* What has happened on a queue pair since it was opened. Packets, unless said otherwise. */
struct xatomic_qp_counters {
	uint64_t requests;      /* sent for the first time */
	uint64_t resent;        /* sent again */
	uint64_t acks;          /* operations acknowledged */
	uint64_t timeouts;      /* times that the retry timer ended */
	uint64_t sequence_naks; /* NAK 0x60 that made us send again */
	uint64_t implied_naks;  /* responses beyond the oldest open request, likewise */
	uint64_t rnr_naks;      /* RNR NAKs that made us wait */
	uint64_t ignored; /* valid, but for no open request, or for one being sent again already */
	uint64_t
		rejected; /* for this QPN, but malformed, of a wrong address or P_Key, or bad ICRC */
};

struct xatomic_qp_info {
	enum xatomic_qp_state state;
	uint32_t next_psn;     /* of the next request to be posted */
	uint32_t open_psn;     /* of the oldest request without an answer, or next_psn */
	uint64_t timeout_ns;   /* of the retry timer */
	struct in6_addr local; /* the address in use, as a GID */
	struct xatomic_qp_counters counters;
};

struct xatomic_qp;

/* Fills in the defaults that struct xatomic_qp_attr tells, and zeros for the rest. */
void xatomic_qp_attr_init(struct xatomic_qp_attr *attr);

/*
 * Opens an interface for several queue pairs; `netns` as in struct xatomic_qp_attr. Needs the same privileges
 * as xatomic_qp_open(). Returns NULL with errno set and a sentence in xatomic_error().
 */
struct xatomic_device *xatomic_device_open(const char *ifname, const char *netns,
					   enum xatomic_transport transport);

/* Call it after xatomic_qp_close() of the device's queue pairs. NULL is allowed. */
void xatomic_device_close(struct xatomic_device *device);

/* Which transport it has got: "af_packet" or "af_xdp". */
const char *xatomic_device_transport(const struct xatomic_device *device);

/*
 * Opens a queue pair in state RTS. Finds the own address, the next hop and its MAC
 * address by the kernel's routing and neighbour tables; provokes neighbour resolution, and waits up to
 * about three seconds for it, when needed. The calling thread is in attr->netns meanwhile, and back in
 * its own when this returns. Needs CAP_NET_RAW there, CAP_NET_ADMIN and CAP_BPF for AF_XDP, and CAP_SYS_ADMIN
 * with attr->netns.
 *
 * Returns NULL with errno set and a sentence in xatomic_error().
 */
struct xatomic_qp *xatomic_qp_open(const struct xatomic_qp_attr *attr);

/* Frees a queue pair; open requests are forgotten. NULL is allowed. */
void xatomic_qp_close(struct xatomic_qp *qp);

/*
 * Puts a work request into the send queue; nothing is sent before the doorbell rings. On a queue pair in
 * error, the request completes at once with XATOMIC_WC_WR_FLUSH_ERR.
 *
 * Returns 0; -ENOMEM when the send queue is full (a slot is free again when the request has succeeded
 * unsignaled, or its completion has been polled); -EINVAL for an unknown opcode or flag.
 */
int xatomic_post_send(struct xatomic_qp *qp, const struct xatomic_wr *wr);

/*
 * Hands what has been posted to the sender, which sends as much as max_rd_atomic allows at once, and the
 * rest as acknowledgements come in (in xatomic_poll_cq() and xatomic_wait()).
 * Returns 0, or a negative errno of the socket such as -ENETDOWN.
 */
int xatomic_ring_doorbell(struct xatomic_qp *qp);

/*
 * Takes up to `n` completions off the completion queue: those of signaled requests, and of all that did not
 * succeed, in the order of posting. When it is empty, takes in what has arrived, lets the retry timer act
 * and sends what may be sent before. Does not block.
 * Returns their number, or a negative errno of the socket.
 */
int xatomic_poll_cq(struct xatomic_qp *qp, int n, struct xatomic_wc *wc);

/*
 * Does the work of xatomic_poll_cq() and sleeps in between until a completion can be polled or
 * `timeout_ms` milliseconds are over (negative: as long as it takes; note that nothing completes when
 * nothing signaled is open).
 * Returns 1 when a completion can be polled, 0 when the time is over, or a negative errno: -EINTR when a
 * signal was caught.
 */
int xatomic_wait(struct xatomic_qp *qp, int timeout_ms);

/*
 * The same for all queue pairs of a device: rings every doorbell, polls and waits for the completions of any.
 * They come in the order of posting on each queue pair; qp_num tells which it was.
 */
int xatomic_device_doorbell(struct xatomic_device *device);
int xatomic_device_poll(struct xatomic_device *device, int n, struct xatomic_wc *wc);
int xatomic_device_wait(struct xatomic_device *device, int timeout_ms);
int xatomic_device_fd(const struct xatomic_device *device);

/*
 * For an event loop of your own: call xatomic_poll_cq() when this descriptor is readable and when
 * xatomic_qp_deadline() nanoseconds are over (UINT64_MAX: no timer runs).
 */
int xatomic_qp_fd(const struct xatomic_qp *qp);
uint64_t xatomic_qp_deadline(const struct xatomic_qp *qp);

void xatomic_qp_query(const struct xatomic_qp *qp, struct xatomic_qp_info *info);

/*
 * What may explain that no valid answer comes (XATOMIC_WC_RETRY_EXC_ERR)? Knows three cases: the responder's
 * sequence NAKs ask for a PSN that is not in flight; responses come but fail a check; or none comes at all and
 * the interface is a veth without an XDP program, which gets nothing of what the peer sends by XDP_TX.
 * Returns a clause, which is valid until the next call, or NULL.
 */
const char *xatomic_qp_hint(struct xatomic_qp *qp);

/* The name that verbs give to a status: "IBV_WC_SUCCESS". "unknown" for a number that is none. */
const char *xatomic_wc_status_str(enum xatomic_wc_status status);

#ifdef __cplusplus
}
#endif

#endif
