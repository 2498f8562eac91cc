/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cli.h - the program `xatomic`: its settings, its commands, and what they share.
 */
#ifndef XATOMIC_CLI_CLI_H
#define XATOMIC_CLI_CLI_H

#include <json-c/json.h>

#include "cm/serve.h"
#include "common/options.h"
#include "lib/attach.h"
#include "lib/mrs.h"
#include "lib/qps.h"
#include "lib/upgrade.h"

#define CLI_RANDOM_PSN UINT32_MAX /* rq_psn that was not given */
#define CLI_ALL        UINT64_MAX /* count that was not given */

enum { CLI_USER_LEN = 64 };

/* Everything that a command line can say, see program.c. */
struct settings {
	struct xa_globals global; /* must be first */
	struct xa_place place;
	/* attach, detach */
	const char *iface;
	const char *netns;
	int mode; /* enum xa_mode */
	struct xa_limits limits;
	/* mr */
	const char *name;
	uint32_t words;
	uint64_t iova;
	const char *owner;
	uint32_t perm;
	uint64_t offset;
	uint64_t count;
	uint64_t value;
	/* mr and qp */
	uint32_t pd;
	uint32_t access; /* XA_ACCESS_* */
	/* qp */
	struct xa_ip peer;
	struct xa_ip local; /* all zero: not given */
	uint32_t lqpn;      /* 0: not given */
	uint32_t rqpn;
	uint32_t rq_psn;
	uint32_t depth;
	/* save, restore */
	const char *file;
	/* stat */
	uint32_t watch; /* seconds, 0: once */
	bool openmetrics;
	/* serve */
	const char *config;
	struct cm_config serve;
	char user[CLI_USER_LEN]; /* "": stay who we are */
};

extern const struct xa_program cli_program;

/* The defaults; the BPF file system from the environment. */
void cli_defaults(struct settings *settings);

int cli_attach(void *settings);
int cli_detach(void *settings);
int cli_destroy(void *settings);
int cli_upgrade(void *settings);
int cli_show(void *settings);
int cli_mr_add(void *settings);
int cli_mr_show(void *settings);
int cli_mr_del(void *settings);
int cli_mr_dump(void *settings);
int cli_mr_set(void *settings);
int cli_qp_add(void *settings);
int cli_qp_show(void *settings);
int cli_qp_del(void *settings);
int cli_qp_reset(void *settings);
int cli_save(void *settings);
int cli_restore(void *settings);
int cli_stat(void *settings);
int cli_monitor(void *settings);
int cli_serve(void *settings);

/* Quiets libbpf unless -v was given, and checks privileges. Returns -1 after it said what is missing. */
int cli_begin(const struct settings *settings);

/* cli_begin() and xa_instance_open(). Returns -1 after it said what went wrong. */
int cli_open(const struct settings *settings, struct xa_instance *instance, int operation);

/* Prints xa_error()'s sentence. Returns XA_EXIT_FAILED. */
int cli_failed(void);

/* What people and programs see of these, with the keys of the manual page. */
struct json_object *cli_program_json(const struct xa_prog *program);
/* An interface in a namespace that cannot be entered has no more than its index; the rest is null. */
void cli_put_interface(struct json_object *object, const struct xa_interface *interface);
struct json_object *cli_mr_json(const struct xa_instance *instance, const struct xa_mr *mr);
struct json_object *cli_qp_json(const struct xa_qp *qp, bool with_counters);
struct json_object *cli_counts_json(const __u64 (*counts)[XA_REASON_COUNT]);
struct json_object *cli_event_json(const struct xa_event *event, int64_t clock_offset_ns);

/* Prints memory regions as `mr show` does. Returns the exit status. */
int cli_print_mrs(const struct settings *settings, const struct xa_instance *instance,
		  const struct xa_mr *list, size_t count);

/* "tx", "nak", "pass" or "drop". */
const char *cli_verdict(const struct xa_instance *instance, int reason);

/* Nanoseconds to add to CLOCK_MONOTONIC to get the time of day. */
int64_t cli_clock_offset(void);

/* The time of day in nanoseconds, and a member "time" for it. */
int64_t cli_now(void);
void cli_put_time(struct json_object *object, int64_t ns);

/* For xa_option.parse. */
bool cli_parse_access(const struct xa_option *, const char *, void *, char *); /* uint32_t */
bool cli_parse_perm(const struct xa_option *, const char *, void *, char *);   /* uint32_t */
bool cli_parse_watch(const struct xa_option *, const char *, void *, char *);  /* uint32_t */
bool cli_parse_offer(const struct xa_option *, const char *, void *, char *); /* struct cm_policy */
bool cli_parse_ports(const struct xa_option *, const char *, void *, char *); /* struct cm_ports */
bool cli_parse_user(const struct xa_option *, const char *, void *,
		    char *); /* char[CLI_USER_LEN] */

/* Reads a file of such options into the settings; must stand before them in a synopsis. */
bool cli_parse_config(const struct xa_option *, const char *, void *, char *); /* const char * */

/*
 * Looks up USER[:GROUP], names or numbers. Returns -1 with xa_error(). A part that is not given stays as it
 * is.
 */
int cli_find_owner(const char *text, uid_t *owner, gid_t *group);

/*
 * The one address among `interfaces` that a peer can mean, when there is only one of its family, or only
 * one that is as link-local as the peer is. Returns -1 with xa_error().
 */
int cli_choose_local(const struct xa_interfaces *interfaces, const struct xa_ip *peer,
		     struct xa_ip *local);

/* Is it an address of one of them? True also when one of them is where it cannot be looked at. */
bool cli_may_be_local(const struct xa_interfaces *interfaces, const struct xa_ip *local);

/*
 * Waits until a number of milliseconds has gone by (-1: for ever) or `fd` is readable (-1: no such). Returns
 * false once SIGINT, SIGTERM or SIGHUP has come, which cli_catch_signals() must have been called for before.
 */
bool cli_wait(int signals, int fd, int timeout_ms);
int cli_catch_signals(void);

/* How often those that go on for long look whether their instance is still there. */
#define CLI_CHECK_MS 1000

#endif
