/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h - datagrams of the communication manager as they lie on the wire (IBA volume 1 chapters 12 and 13;
 * annex A11 for the addresses in the private data of a REQ), and what xatomic puts into their private data.
 *
 * Everything is big endian. Fields that are not whole bytes are named after what they hold from the top bit
 * down, with macros for the parts that are used.
 */
#ifndef XATOMIC_CM_WIRE_H
#define XATOMIC_CM_WIRE_H

#include <stddef.h>

#include "xatomic/wire.h"

#define CM_QKEY         0x80010000u
#define CM_BASE_VERSION 1
#define CM_CLASS        0x07
#define CM_VERSION      2
#define CM_METHOD_SEND  3

#define CM_SERVICE(port)    (0x0000000001060000ull | (port)) /* of RDMA_PS_TCP */
#define CM_IP_VERSION(byte) ((byte) >> 4)

enum cm_attribute {
	CM_REQ = 0x10,
	CM_MRA,
	CM_REJ,
	CM_REP,
	CM_RTU,
	CM_DREQ,
	CM_DREP,
};

enum cm_rejected { CM_REJECTED_REQ, CM_REJECTED_REP, CM_REJECTED_OTHER };

/* Reasons of a REJ. */
enum cm_reason {
	CM_REASON_NO_RESOURCES = 3,
	CM_REASON_TIMEOUT = 4,
	CM_REASON_UNSUPPORTED = 5,
	CM_REASON_SERVICE_ID = 8,
	CM_REASON_TRANSPORT = 9,
	CM_REASON_STALE = 10,
	CM_REASON_GID = 12,
	CM_REASON_MTU = 26,
	CM_REASON_CONSUMER = 28,
};

struct cm_mad_header {
	__u8 base_version;
	__u8 class;
	__u8 class_version;
	__u8 method;
	__be16 status;
	__be16 class_specific;
	__be64 tid;
	__be16 attribute;
	__be16 reserved;
	__be32 modifier;
} __attribute__((packed));

/* First 36 bytes of a REQ's private data (annex A11; rdma_cm's cma_hdr). IPv4: last 4 bytes of 16. */
struct cm_ip_header {
	__u8 version;
	__u8 ip_version; /* upper half of the byte */
	__be16 source_port;
	__be32 source[4];
	__be32 destination[4];
} __attribute__((packed));

enum { CM_REQ_PRIVATE = 56, CM_REP_PRIVATE = 196, CM_REJ_PRIVATE = 148 };

struct cm_req {
	__be32 local_comm_id;
	__be32 vendor;
	__be64 service_id;
	__be64 ca_guid;
	__be32 reserved;
	__be32 qkey;
	__be32 qpn_resources; /* 24 QPN, 8 responder resources */
	__be32 eecn_depth;    /* 24 EECN, 8 initiator depth */
	__be32 eecn_timeout;  /* 24 EECN, 5 remote response timeout, 2 transport, 1 flow control */
	__be32 psn_timeout;   /* 24 starting PSN, 5 local response timeout, 3 retry count */
	__be16 pkey;
	__u8 mtu_rnr;     /* 4 path MTU, 1 RDC exists, 3 RNR retry count */
	__u8 retries_srq; /* 4 CM retries, 1 SRQ, 3 extended transport */
	__be16 local_lid;
	__be16 remote_lid;
	__be32 local_gid[4];
	__be32 remote_gid[4];
	__be32 flow_rate;
	__u8 traffic_class;
	__u8 hop_limit;
	__u8 sl;
	__u8 ack_timeout; /* 5 local ACK timeout */
	__u8 alternate_path[44];
	struct cm_ip_header ip;
	__u8 private[CM_REQ_PRIVATE];
} __attribute__((packed));

struct cm_rep {
	__be32 local_comm_id;
	__be32 remote_comm_id;
	__be32 qkey;
	__be32 qpn_vendor; /* 24 QPN */
	__be32 eecn_vendor;
	__be32 psn_vendor;   /* 24 starting PSN */
	__u8 resources;      /* responder resources */
	__u8 depth;          /* initiator depth */
	__u8 delay_failover; /* 5 target ACK delay, 2 failover accepted, 1 flow control */
	__u8 rnr_srq;        /* 3 RNR retry count, 1 SRQ */
	__be64 ca_guid;
	__u8 private[CM_REP_PRIVATE];
} __attribute__((packed));

/* RTU and DREP. */
struct cm_ids {
	__be32 local_comm_id;
	__be32 remote_comm_id;
	__u8 private[224];
} __attribute__((packed));

struct cm_dreq {
	__be32 local_comm_id;
	__be32 remote_comm_id;
	__be32 qpn; /* 24 remote QPN */
	__u8 private[220];
} __attribute__((packed));

struct cm_rej {
	__be32 local_comm_id;
	__be32 remote_comm_id;
	__u8 message;  /* 2 enum cm_rejected */
	__u8 info_len; /* 7 bytes of `info` that count */
	__be16 reason;
	__u8 info[72];
	__u8 private[CM_REJ_PRIVATE];
} __attribute__((packed));

struct cm_mra {
	__be32 local_comm_id;
	__be32 remote_comm_id;
	__u8 message; /* 2 enum cm_rejected */
	__u8 timeout; /* 5 service timeout */
	__u8 private[222];
} __attribute__((packed));

struct cm_mad {
	struct cm_mad_header header;
	union {
		struct cm_req req;
		struct cm_rep rep;
		struct cm_ids ids;
		struct cm_dreq dreq;
		struct cm_rej rej;
		struct cm_mra mra;
	};
} __attribute__((packed));

/* Parts of the fields above, in host order. */
#define CM_HIGH24(field)       ((field) >> 8)
#define CM_LOW8(field)         ((field)&0xff)
#define CM_TIMEOUT(field)      ((field) >> 3 & 0x1f)
#define CM_TRANSPORT(field)    ((field) >> 1 & 0x03)
#define CM_MTU(byte)           ((byte) >> 4)
#define CM_RETRIES(byte)       ((byte) >> 4)
#define CM_EXT_TRANSPORT(byte) ((byte)&0x07)
#define CM_MESSAGE(byte)       ((byte) >> 6)

/*
 * Private data of xatomic, docs/cm.md. A structure that does not begin like this is somebody else's.
 */
#define CM_MAGIC        0x5841544fu /* "XATO" */
#define CM_DATA_VERSION 1

enum cm_data_kind { CM_DATA_WISH = 1, CM_DATA_OFFER, CM_DATA_REFUSAL };

enum { CM_WISH_NAME = 48, CM_REFUSAL_TEXT = 140 };

struct cm_data_header {
	__be32 magic;
	__u8 version;
	__u8 kind;
	__be16 length; /* of the whole structure, in bytes */
} __attribute__((packed));

/* In a REQ, behind the addresses: which memory region. */
struct cm_wish {
	struct cm_data_header header;
	char name[CM_WISH_NAME]; /* NUL padded; empty: any */
} __attribute__((packed));

/* In a REP: the memory region. */
struct cm_offer_data {
	struct cm_data_header header;
	__be64 iova;
	__be64 bytes;
	__be32 rkey;
	__u8 access; /* bits as IBV_ACCESS_REMOTE_* */
	__u8 reserved[3];
	char name[64]; /* NUL padded */
} __attribute__((packed));

/* In a REJ with the reason 28, consumer defined: why, for people. */
struct cm_refusal {
	struct cm_data_header header;
	char text[CM_REFUSAL_TEXT]; /* ASCII, NUL padded */
} __attribute__((packed));

#define CM_AT(type, member, at)                                                                    \
	_Static_assert(offsetof(struct type, member) == (at), #type "." #member " is at " #at)

CM_AT(cm_mad_header, tid, 8);
CM_AT(cm_mad_header, modifier, 20);
CM_AT(cm_req, service_id, 8);
CM_AT(cm_req, qkey, 28);
CM_AT(cm_req, qpn_resources, 32);
CM_AT(cm_req, psn_timeout, 44);
CM_AT(cm_req, pkey, 48);
CM_AT(cm_req, retries_srq, 51);
CM_AT(cm_req, local_gid, 56);
CM_AT(cm_req, flow_rate, 88);
CM_AT(cm_req, ack_timeout, 95);
CM_AT(cm_req, ip, 140);
CM_AT(cm_rep, qpn_vendor, 12);
CM_AT(cm_rep, psn_vendor, 20);
CM_AT(cm_rep, resources, 24);
CM_AT(cm_rep, rnr_srq, 27);
CM_AT(cm_rep, ca_guid, 28);
CM_AT(cm_rep, private, 36);
CM_AT(cm_dreq, qpn, 8);
CM_AT(cm_rej, reason, 10);
CM_AT(cm_rej, private, 84);
CM_AT(cm_mra, private, 10);
_Static_assert(sizeof(struct cm_mad_header) == 24, "a MAD header is 24 bytes");
_Static_assert(sizeof(struct cm_ip_header) == 36, "the addresses are 36 bytes");
_Static_assert(sizeof(struct cm_req) == 232 && sizeof(struct cm_rep) == 232 &&
		       sizeof(struct cm_ids) == 232 && sizeof(struct cm_dreq) == 232 &&
		       sizeof(struct cm_rej) == 232 && sizeof(struct cm_mra) == 232,
	       "every message is 232 bytes");
_Static_assert(sizeof(struct cm_mad) == XA_MAD_LEN, "a MAD is 256 bytes");
_Static_assert(sizeof(struct cm_wish) == CM_REQ_PRIVATE, "a wish fills a REQ");
_Static_assert(sizeof(struct cm_offer_data) <= CM_REP_PRIVATE, "an offer fits into a REP");
_Static_assert(sizeof(struct cm_refusal) == CM_REJ_PRIVATE, "a refusal fills a REJ");

#endif
