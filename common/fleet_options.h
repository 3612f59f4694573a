/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings that every Heddle program shares: one struct, one table. A program puts
 * the table before its own (program.h does).
 */
#pragma once

#include "err.h"
#include "kafka.h"
#include "options.h"
#include "registry.h"
#include "remote.h"

#include <stdbool.h>
#include <stdint.h>

/* Positions of the choices; the table lists them in this order. */
enum fleet_delivery { DELIVERY_EXACTLY_ONCE, DELIVERY_AT_LEAST_ONCE };
enum fleet_start { START_EARLIEST, START_LATEST };
enum fleet_dead_headers { DEAD_HEADERS_HEDDLE, DEAD_HEADERS_CONNECT };

struct fleet_settings {
    const char *brokers;   /* host:port,...; NULL: none given */
    const char *group;     /* NULL: heddle-NAME */
    const char *instance;  /* NULL: host name and a free number */
    const char *admin;     /* host:port of /metrics; port 0: a free one; "off" */
    const char *state_dir; /* NULL: $XDG_STATE_HOME/heddle */
    int64_t store_max;     /* bytes of the store of one partition */
    int64_t delivery;      /* enum fleet_delivery */
    int64_t start;         /* enum fleet_start */
    int64_t log_format;    /* enum log_format of log_line.h */
    int64_t log_level;     /* enum log_level of log_line.h */
    int64_t drain_timeout_ms;
    int64_t batch_records; /* a batch is committed at the first of the three */
    int64_t batch_time_ms;
    int64_t batch_bytes;
    int64_t memory;          /* bytes; 0: no limit */
    int64_t job_deadline_ms; /* of one record's derivation */
    int64_t retry_first_ms;  /* delay before the second attempt, doubled each time */
    int64_t retry_max_ms;
    int64_t retry_attempts; /* then dead-lettered; 0: no end */
    int64_t dead_headers;   /* enum fleet_dead_headers */
    int64_t dead_max_attempts;
    struct option_list claim_roots;
    struct remote_settings remote;
    struct {
        const char *registry; /* URL; NULL: single-object encoding, no registry */
        const char *username;
        const char *password;
        const char *ca_file;
        const char *cert_file;
        const char *key_file;
        const char *cache_dir; /* NULL: "schemas" in the state folder */
        int64_t timeout_ms;
        int64_t unknown_grace_ms;
        bool registers;
    } schema;
    bool static_member;
    /* What a person asks of the program itself; flags only. */
    const char *config;
    bool help;
    bool version;
    bool features;
    bool check;
};

/* What every program takes; and how a worker runs, which has flags in workers alone. Both
 * fill a struct fleet_settings. */
extern const struct option fleet_options[];
extern const size_t n_fleet_options;
extern const struct option fleet_run_options[];
extern const size_t n_fleet_run_options;

/* Sections of a configuration file that belong to programs of the fleet: a program checks
 * the keys of its own and leaves the others alone. NULL-terminated. */
extern const char *const fleet_sections[];

/* What clients are made from. Borrows from `settings` and `options`. */
struct kafka_settings fleet_kafka_settings(const struct fleet_settings *settings,
                                           const struct options *options,
                                           const char *client_id);
/* What a registry client is made from; `url` is NULL without one. Borrows from
 * `settings`. */
struct registry_settings fleet_registry_settings(const struct fleet_settings *settings);
/*
 * ERR_FATAL EXIT_CONFIG "brokers_missing" when neither `brokers` nor the property
 * bootstrap.servers is set; says how to set it.
 */
enum err_kind fleet_check_brokers(const struct kafka_settings *kafka, struct err *err);
