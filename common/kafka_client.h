/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside kafka.h: what its files share about librdkafka's clients. The only header that
 * includes the library's; included by kafka*.c alone.
 */
#pragma once

#include <stdatomic.h>

#include <librdkafka/rdkafka.h>

#include "kafka.h"
#include "kafka_tuning.h"

/* What the library's callbacks may touch; first member of producer, consumer, reader. */
struct kafka_client {
    rd_kafka_t *rk;
    atomic_bool down;      /* every known broker connection is down */
    atomic_bool connected; /* statistics: at least one is up */
    atomic_int refused; /* logins refused in a row; statistics that show one up end it */
    /* Sees each text of statistics; may be NULL. */
    void (*statistics)(struct kafka_client *client, const char *json);
};

enum { KAFKA_MAX_PARTITIONS = 10000, KAFKA_NUMBER_BYTES = 24 };

/*
 * Makes the client: common defaults, those of the library's version, `defaults`, the
 * properties of `settings`, `owned` (each ends with a NULL name, may be NULL). ERR_FATAL
 * EXIT_CONFIG "kafka_property".
 */
enum err_kind kafka_client_open(struct kafka_client *client,
                                enum kafka_role role,
                                const struct kafka_settings *settings,
                                const struct kafka_property *defaults,
                                const struct kafka_property *owned,
                                void (*prepare)(rd_kafka_conf_t *conf),
                                struct err *err);

/* Keeps `connected` by the statistics, for a client that is polled; with this interval.
 */
#define KAFKA_STATISTICS_MS "1000"
void kafka_watch_connection(rd_kafka_conf_t *conf);

/* Fills `err` by the table of kafka.h. `code` names what can be tried again; `what` is
 * the object, `detail` the library's text (may be NULL). */
enum err_kind kafka_error(struct err *err,
                          rd_kafka_resp_err_t answer,
                          const char *code,
                          const char *what,
                          const char *detail);
/* As above when the library has had a fatal error; ERR_OK otherwise. */
enum err_kind kafka_fatal_error(const struct kafka_client *client, struct err *err);

/* ERR_FATAL "permission_denied" once `times` logins were refused in a row: one may be a
 * broker that went away meanwhile. */
enum err_kind
kafka_login_error(const struct kafka_client *client, int times, struct err *err);

/* The value of a property in `settings`; NULL when it is not set there. */
const char *kafka_property(const struct kafka_settings *settings, const char *name);
/* bootstrap.servers as it holds; "" when there is none. */
const char *kafka_brokers(const struct kafka_settings *settings);

/* Number of partitions of `topic`. ERR_FATAL "broker_unreachable", "topic_unknown". */
enum err_kind kafka_partition_count(const struct kafka_client *client,
                                    const struct kafka_settings *settings,
                                    const char *topic,
                                    int timeout_ms,
                                    int32_t *ret_n,
                                    struct err *err);
/*
 * Log start and end of partitions 0..n-1, asked in a thread of its own, for the call does
 * not keep its timeout on library 2.0.2. When it hangs (`*ret_stuck`), the client must
 * not be destroyed any more.
 */
enum err_kind kafka_ranges(const struct kafka_client *client,
                           const char *topic,
                           int32_t n,
                           int timeout_ms,
                           struct partition_range *ret_ranges,
                           bool *ret_stuck,
                           struct err *err);

/* The clients inside. */
struct kafka_client *producer_client(struct producer *producer);
struct kafka_client *consumer_client(struct consumer *consumer);
/* For the library's calls; to be destroyed by the caller. */
rd_kafka_topic_partition_list_t *kafka_partition_list(const struct topic_partition *parts,
                                                      size_t n);

/* Headers of a record into `ret` (at most `max`); returns how many. Borrowed. */
size_t kafka_headers(const rd_kafka_message_t *record, struct header *ret, size_t max);
/* The record as our struct, without headers. Borrowed from `record`. */
void kafka_message_fill(const rd_kafka_message_t *record,
                        const char *topic,
                        struct message *ret);
