/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi.h - what the BPF program and user space share: keys and values of the maps.
 *
 * The maps outlive both sides, and during an upgrade two programs work on them at once, so any change
 * of a layout here, or of what a field means, must raise XA_LAYOUT_VERSION. All numbers are in host byte
 * order unless the type says __be. `bpftool map dump` prints these structures by name, so nothing here
 * is anonymous.
 */
#ifndef XATOMIC_ABI_H
#define XATOMIC_ABI_H

#include <linux/types.h>

#include "xatomic/static_assert.h"

#define XA_LAYOUT_VERSION 1

#define XA_NAME_LEN    64 /* MR and instance names, with the NUL */
#define XA_MAX_DEPTH   128
#define XA_MAX_QPS     65536 /* leaves 8 bits of generation in a QPN */
#define XA_MAX_MRS     65536
#define XA_DEF_QPS     1024
#define XA_DEF_MRS     1024
#define XA_RING_BYTES  (256 * 1024)
#define XA_GID_V4_WORD 3  /* an IPv4 address is the last word of its mapped GID */
#define XA_GID_V4_BYTE 12 /* the same in bytes */

/* Access bits of MRs and QPs, numbered as IBV_ACCESS_REMOTE_*. */
#define XA_ACCESS_WRITE  2
#define XA_ACCESS_READ   4
#define XA_ACCESS_ATOMIC 8

/* Beside them in a QP: `xatomic serve` made it, and takes it down. */
#define XA_QP_SERVED 0x80

/*
 * Why a packet ended as it did: one word per cause, the same in `stats`, in a QP's last NAK, in
 * events and in every tool. X(word, verdict, meaning).
 */
#define XA_REASONS(X)                                                                              \
	X(executed, TX, "atomic executed and acknowledged")                                        \
	X(replayed, TX, "duplicate answered from the replay window")                               \
	X(sequence, NAK, "PSN ahead of the expected one (NAK 0x60)")                               \
	X(opcode, NAK, "operation that this responder does not do (NAK 0x61)")                     \
	X(qp_access, NAK, "QP without remote atomic access (NAK 0x61)")                            \
	X(rkey, NAK, "rkey that names no memory region (NAK 0x62)")                                \
	X(pd, NAK, "memory region of another protection domain (NAK 0x62)")                        \
	X(mr_access, NAK, "memory region without remote atomic access (NAK 0x62)")                 \
	X(bounds, NAK, "address outside the memory region (NAK 0x62)")                             \
	X(alignment, NAK, "address that is no multiple of 8 (NAK 0x61)")                           \
	X(not_roce, PASS, "no RoCEv2 packet that concerns us")                                     \
	X(gsi, PASS, "packet for QP 1, left to the connection manager")                            \
	X(foreign, PASS, "known QPN at an address that is not the QP's")                           \
	X(unknown_qp, CONFIG, "QPN that no queue pair has")                                        \
	X(malformed, DROP, "UDP length that lies, or no room for the headers")                     \
	X(version, DROP, "transport version other than 0")                                         \
	X(reserved_qpn, DROP, "QPN 0 or 0xffffff")                                                 \
	X(cnp, DROP, "congestion notification packet")                                             \
	X(response, DROP, "response opcode at a responder")                                        \
	X(transport, DROP, "opcode of another transport than the queue pair's")                    \
	X(qp_state, DROP, "queue pair not ready to receive, or in error")                          \
	X(peer, DROP, "source address that is not the QP's peer")                                  \
	X(pkey, DROP, "P_Key other than the default partition")                                    \
	X(length, DROP, "length or pad count that does not fit the opcode")                        \
	X(icrc, DROP, "invariant CRC wrong")                                                       \
	X(gsi_agent, DROP, "packet for QP 1, handed to the connection manager")                    \
	X(gsi_full, DROP, "packet for QP 1, while the connection manager's ring is full")          \
	X(ahead, DROP, "PSN ahead of the expected one, already NAKed")                             \
	X(duplicate_differs, DROP, "duplicate PSN with another request than the saved one")        \
	X(duplicate_lost, DROP, "duplicate that the replay window no longer holds")                \
	X(busy, DROP, "QP lock or replay window not to be had in bounded time")

#define XA_REASON_ENUM(word, verdict, meaning) XA_REASON_##word,
enum xa_reason { XA_REASONS(XA_REASON_ENUM) XA_REASON_COUNT };

/* One counter per reason, in the order of enum xa_reason. */
#define XA_REASON_COUNTER(word, verdict, meaning) __u64 word;
struct xa_counters {
	XA_REASONS(XA_REASON_COUNTER)
};

/* Value of `stats` (PERCPU_ARRAY, one entry): packets by what they asked for and how they ended. */
enum xa_class { XA_CLASS_CMP_SWAP, XA_CLASS_FETCH_ADD, XA_CLASS_OTHER, XA_CLASS_COUNT };

struct xa_stats {
	struct xa_counters cmp_swap;
	struct xa_counters fetch_add;
	struct xa_counters other;
};

/* Value of `config` (ARRAY, one entry), written once when the instance is made. */
enum xa_unknown_qp { XA_UNKNOWN_QP_PASS, XA_UNKNOWN_QP_DROP };

struct xa_config {
	__u32 layout_version;
	__u32 max_qps; /* a power of two */
	__u32 max_mrs;
	__u32 replay_windows;
	enum xa_unknown_qp unknown_qp;
};

enum xa_family { XA_IPV4, XA_IPV6 } __attribute__((packed));

enum xa_qp_state {
	XA_QP_RESET, /* free, or between two lives; packets are dropped */
	XA_QP_RTR,   /* ready to receive */
	XA_QP_ERR,   /* after a fatal NAK; silent until reset */
} __attribute__((packed));

/*
 * The word that a QP is locked and advanced by: 8 bytes, changed only as a whole and only by
 * compare-and-swap while `lock` is 0, or by the holder of the lock. Nobody holds it across a system
 * call, so a killed process cannot leave it behind.
 */
struct xa_qp_ctl {
	__u32 epsn;             /* expected PSN, 24 bits */
	enum xa_qp_state state; /* what packets may do */
	__u8 nak_sent;          /* a sequence NAK is out for epsn */
	__u8 lock;              /* a packet is between PSN check and save */
	__u8 life;              /* counts resets: an old compare-and-swap cannot fit */
} __attribute__((aligned(8)));

struct xa_nak {
	__u64 va;   /* 0 when the packet had none */
	__u32 rkey; /* likewise */
	__u32 psn;
	enum xa_reason reason;
	__u32 opcode;
};

/*
 * Value of `qps` (ARRAY, BPF_F_MMAPABLE; index = low bits of the QPN): two cache lines, the first of
 * which is all that an atomic over IPv4 needs but for the local address.
 */
struct xa_qp {
	struct xa_qp_ctl ctl;
	__u32 qpn;         /* whole local QPN; 0: never used */
	__u32 rqpn;        /* peer's QPN */
	__u32 msn;         /* messages completed, 24 bits */
	__u32 pdn;         /* protection domain */
	__u32 request_crc; /* ICRC register before a request's PSN, see user/lib/icrc.h */
	__u32 ack_crc;     /* likewise, of an ATOMIC_ACKNOWLEDGE */
	__u32 nak_crc;     /* likewise, of an ACKNOWLEDGE */
	__u8 access;       /* XA_ACCESS_* */
	enum xa_family family;
	__u8 depth;     /* atomics that the replay window holds, a power of two, 1-128 */
	__u8 qpn_step;  /* what the generation grows by at the next use of the index; odd */
	__u64 requests; /* requests that reached the PSN check */
	__u8 peer[16];  /* GID, as on the wire; IPv4 as ::ffff:a.b.c.d */
	/* second cache line */
	__u8 local[16];
	__u64 replayed;           /* duplicates answered */
	__u64 duplicates_dropped; /* duplicates not answered */
	__u32 sequence_naks;
	__u32 fatal_naks;
	struct xa_nak last_nak; /* means something when one of the two above is not 0 */
};

/* Value of `mrs` (ARRAY; index = rkey >> 8). The name is only for people. */
enum xa_mr_state { XA_MR_FREE, XA_MR_VALID };

struct xa_mr {
	__u64 iova;   /* first byte, a multiple of 8 */
	__u64 length; /* bytes, a multiple of 8 */
	__u32 rkey;   /* kept when freed: the next key byte grows from it */
	__u32 pdn;
	enum xa_mr_state state;
	__u16 access;   /* XA_ACCESS_* */
	__u16 key_step; /* what the key byte grows by at the next registration; odd */
	char name[XA_NAME_LEN];
};

/*
 * One saved atomic. `guard` is original ^ xa_replay_mix(qpn, psn, opcode): a slot whose words come
 * from two writers, which can be when an LRU element was recycled, does not check.
 */
struct xa_saved {
	__u64 original;
	__u64 guard;
	__u64 va;
	__u64 swap_add;
	__u64 compare;
	__u32 rkey;
	__u32 qpn;
	__u32 psn;
	__u32 opcode;
};

/* Value of `replay` (LRU_HASH, key = QPN). Slot = PSN modulo the QP's depth. */
struct xa_window {
	struct xa_saved saved[XA_MAX_DEPTH];
};

/* Injective in its 56 input bits (a multiplication by an odd number is a bijection). */
static inline __u64 xa_replay_mix(__u32 qpn, __u32 psn, __u8 opcode)
{
	return ((__u64)qpn << 32 | (__u64)psn << 8 | opcode) * 0x9e3779b97f4a7c15ull;
}

/* Record of `events` (RINGBUF), named as the verbs events are (ibv_get_async_event(3)). */
enum xa_event_type {
	XA_EVENT_QP_REQ_ERR,    /* fatal NAK 0x61 */
	XA_EVENT_QP_ACCESS_ERR, /* fatal NAK 0x62 */
};

struct xa_event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	enum xa_event_type type;
	enum xa_reason reason;
	__u32 lqpn;
	__u32 psn;
	__u64 va;
	__u32 rkey;
	__u32 opcode;
};

/*
 * Value of `agent` (ARRAY, one entry, BPF_F_MMAPABLE): the connection manager renews the time as long as it
 * lives, so packets for QP 1 find their way to the host's stack again when it has died.
 */
struct xa_agent {
	__u64 alive_until_ns; /* CLOCK_MONOTONIC */
	__u64 ca_guid;        /* of this instance, in CM messages; 0 before the first one */
};

/* Longest frame with a CM datagram: Ethernet, two tags, IPv6, UDP, 280 bytes of RoCE. */
#define XA_GSI_FRAME_MAX 352

/* Record of `gsi` (RINGBUF): a datagram for QP 1 whose lengths and ICRC are right. */
struct xa_gsi_packet {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 ifindex; /* where it came in */
	__u32 length;  /* of the frame; nothing is behind the ICRC */
	__u8 frame[XA_GSI_FRAME_MAX];
};

/*
 * Value of `connections` (ARRAY, BPF_F_MMAPABLE; index = low bits of the QPN): what the connection manager has
 * to know of a queue pair that it made, so that another process can go on where one has died. The program does
 * not read it.
 */
enum xa_connection_state { XA_CONNECTION_NONE, XA_CONNECTION_HALF_OPEN, XA_CONNECTION_ESTABLISHED };

struct xa_connection {
	enum xa_connection_state state; /* written last, and first when it ends */
	__u32 lqpn;
	__u32 rqpn;
	__u32 local_comm_id;
	__u32 remote_comm_id;
	__u32 psn; /* first one of the requester */
	__u64 tid; /* of the REQ */
	__u64 remote_guid;
	__u8 peer[16]; /* GIDs, as on the wire */
	__u8 local[16];
	__u32 ifindex;
	enum xa_family family;
	__u8 vlans;
	__u8 depth;   /* that the requester was granted */
	__u8 access;  /* XA_ACCESS_* */
	__u8 timeout; /* of the requester's answers, 4.096 us * 2^timeout */
	__u8 retries;
	__u8 peer_mac[6];
	__u8 local_mac[6];
	__u16 port; /* of RDMA_PS_TCP that it came by */
	__u16 vlan_tpid[2];
	__u16 vlan_tci[2];
	__u64 iova; /* of the memory region, as the REP told it */
	__u64 length;
	__u32 rkey;
	__u32 reserved;
	char name[XA_NAME_LEN];
};

XA_STATIC_ASSERT(sizeof(struct xa_connection) == 192, "no hole in a connection");
XA_STATIC_ASSERT(sizeof(struct xa_gsi_packet) == 368, "no hole in a record");
XA_STATIC_ASSERT(sizeof(struct xa_qp_ctl) == 8, "the control word is one word");
XA_STATIC_ASSERT(sizeof(struct xa_counters) == 8 * XA_REASON_COUNT, "one counter per reason");
XA_STATIC_ASSERT(sizeof(struct xa_saved) == 56, "no hole in a saved atomic");
XA_STATIC_ASSERT(sizeof(struct xa_qp) == 128, "two cache lines, no hole");
XA_STATIC_ASSERT(sizeof(struct xa_mr) == 96, "no hole");

#endif
