/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sparse-endian.h - included before everything else when sparse reads a file: the byte order functions
 * of the C library with the types that they have in truth, so that a swap that is missing, or one too
 * many, is a type error. Only the types count here; nothing of this is ever compiled.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/types.h>
#include <netinet/in.h>

#define XA_SWAP(name, from, to)                                                                    \
	static inline to xa_##name(from x)                                                         \
	{                                                                                          \
		return (__attribute__((force)) to)x;                                               \
	}

XA_SWAP(ntohs, __be16, __u16)
XA_SWAP(ntohl, __be32, __u32)
XA_SWAP(be64toh, __be64, __u64)
XA_SWAP(htons, __u16, __be16)
XA_SWAP(htonl, __u32, __be32)
XA_SWAP(htobe64, __u64, __be64)
XA_SWAP(le32toh, __le32, __u32)
XA_SWAP(le64toh, __le64, __u64)
XA_SWAP(htole32, __u32, __le32)
XA_SWAP(htole64, __u64, __le64)

#undef ntohs
#undef ntohl
#undef be16toh
#undef be32toh
#undef be64toh
#undef htons
#undef htonl
#undef htobe16
#undef htobe32
#undef htobe64
#undef le32toh
#undef le64toh
#undef htole32
#undef htole64
#define ntohs   xa_ntohs
#define ntohl   xa_ntohl
#define be16toh xa_ntohs
#define be32toh xa_ntohl
#define be64toh xa_be64toh
#define htons   xa_htons
#define htonl   xa_htonl
#define htobe16 xa_htons
#define htobe32 xa_htonl
#define htobe64 xa_htobe64
#define le32toh xa_le32toh
#define le64toh xa_le64toh
#define htole32 xa_htole32
#define htole64 xa_htole64

/* The C library's macro compares plain integers with what htonl() gives. */
#undef IN6_IS_ADDR_V4MAPPED
#define IN6_IS_ADDR_V4MAPPED(a) ((a)->s6_addr[11] == 0xff)
