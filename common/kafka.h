/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one face of librdkafka: clients from properties, a producer with delivery reports,
 * a reader of whole topics without a group, metadata, and the group consumer that the
 * runner drives. A client belongs to one thread.
 *
 * The library's log and error callbacks come from its own threads; they are forwarded to
 * log.h and to an atomic, nothing else. Signals are blocked around the making of a
 * client. What is known to go wrong with its settings on the library that is loaded
 * (kafka_tuning.h) is warned of once a process, when the first client is made.
 *
 * What the broker answers becomes an error so, wherever it happens:
 *   INVALID_RECORD, INVALID_TIMESTAMP            ERR_RECORD "record_refused_by_broker"
 *   MSG_SIZE_TOO_LARGE, RECORD_LIST_TOO_LARGE    ERR_RECORD "record_too_large"
 *   an authorization or authentication failure   ERR_FATAL EXIT_PERMISSION
 *                                                "permission_denied"
 *   an unknown or invalid topic                  ERR_FATAL EXIT_CONFIG "topic_unknown"
 *   a fenced client                              ERR_FATAL EXIT_FENCED "fenced"
 *   a fatal error of the library                 ERR_FATAL EXIT_TRY_AGAIN "client_fatal"
 *   anything else                                ERR_RETRY, code of the call
 */
#pragma once

#include "err.h"
#include "memory_plan.h"
#include "options.h"
#include "record.h"

#include <stdbool.h>
#include <stdint.h>

/* What every client is made from. Borrowed by the calls below. */
struct kafka_settings {
    const char *brokers; /* bootstrap.servers; a property overrides it */
    const struct option_property *properties; /* as given; applied last */
    size_t n_properties;
    const char *client_id;
    /* Topics that the process writes (NULL-terminated), for the size limits; NULL: any.
     */
    const char *const *topics;
    const struct memory_plan *memory; /* bounds of the queues; NULL: the usual ones */
};

/* Cluster ids that start so belong to the embedded broker (librdkafka's mock). */
#define KAFKA_MOCK_CLUSTER_PREFIX "mockCluster"

/* The properties' names and values are librdkafka's: ERR_FATAL EXIT_CONFIG with the
 * nearest name. */
enum err_kind kafka_check_properties(const struct kafka_settings *settings,
                                     struct err *err);

/* How long a call that may be made again goes on: `wait` is asked before each, and may
 * take its time. */
struct patience {
    bool (*wait)(void *state); /* false: no more; the answer is ERR_RETRY */
    void *state;
};

/* --- producer ----------------------------------------------------------------------- */

struct producer;

/*
 * Called from producer_poll/flush for each record that was sent with a non-NULL token.
 * `err` is NULL when it was acknowledged.
 */
typedef void producer_report_fn(void *state, void *token, const struct err *err);

struct producer *producer_new(const struct kafka_settings *settings,
                              producer_report_fn *report,
                              void *state,
                              struct err *err);
/*
 * As above, with transactions under `transactional_id`, each at most `timeout_ms` long
 * (the property transaction.timeout.ms comes first).
 */
struct producer *producer_new_transactional(const struct kafka_settings *settings,
                                            const char *transactional_id,
                                            int64_t timeout_ms,
                                            producer_report_fn *report,
                                            void *state,
                                            struct err *err);
void producer_free(struct producer *producer); /* purges what was not flushed */

struct outgoing {
    const char *topic;
    struct slice key;   /* data NULL: none */
    struct slice value; /* data NULL: tombstone; copied */
    int64_t timestamp_ms;
    const struct header *headers;
    size_t n_headers;
    void *token; /* given to the report; NULL: no report wanted, failures are counted */
    bool placed; /* to `partition`, and its acknowledgement is remembered */
    int32_t partition;
};

/*
 * Queues a copy. A full queue is waited out by polling, up to `timeout_ms`, then
 * ERR_RETRY "producer_queue_full". ERR_RECORD "record_too_large".
 */
enum err_kind producer_send(struct producer *producer,
                            const struct outgoing *record,
                            int timeout_ms,
                            struct err *err);
/* Serves delivery reports for at most `timeout_ms`; returns how many. */
int producer_poll(struct producer *producer, int timeout_ms);
/*
 * Waits until everything queued is reported. ERR_RETRY "flush_timeout" when that takes
 * longer; the first failed delivery since the last flush otherwise (ERR_RECORD
 * "record_refused_by_broker", ERR_RETRY "delivery_failed", ERR_FATAL).
 */
enum err_kind producer_flush(struct producer *producer, int timeout_ms, struct err *err);
/* Gives the first failed delivery since the last flush, and forgets it; `err` may be
 * NULL. */
enum err_kind producer_take_failure(struct producer *producer, struct err *err);
/* The offset after the last record that was placed in `partition` and acknowledged; -1:
 * none. */
int64_t producer_acknowledged(const struct producer *producer, int32_t partition);
/* Records queued and not yet reported. */
int producer_pending(const struct producer *producer);
/* Whether a broker connection is up; kept for a transactional producer that is polled. */
bool producer_connected(const struct producer *producer);
/*
 * Asks a broker and waits for its answer; without one, it counts as not connected until
 * it is heard of again. From any thread.
 */
bool producer_answered(struct producer *producer, int timeout_ms);
/* Whether the cluster is the embedded broker's; false as well while that is unknown. */
bool producer_on_mock(const struct producer *producer, int timeout_ms);

/* --- reading a topic without a group ------------------------------------------------ */

struct topic_reader;

enum topic_start { TOPIC_FROM_START, TOPIC_FROM_END };

/* Headers of a record that a reader gives at most; further ones are left out. */
enum { TOPIC_READER_HEADERS = 256 };

/*
 * Assigns every partition of `topic` and takes the end offsets once (high watermark; on a
 * real Kafka the last stable offset). ERR_FATAL EXIT_UNREACHABLE "broker_unreachable",
 * "topic_unknown".
 */
struct topic_reader *topic_reader_new(const struct kafka_settings *settings,
                                      const char *topic,
                                      enum topic_start start,
                                      int timeout_ms,
                                      struct err *err);
/* Where a partition is to be read from. */
typedef int64_t topic_from_fn(void *state, int32_t partition);
/* As above from the start, but each partition begins at `from` when that lies between its
 * log start and its end. */
struct topic_reader *topic_reader_new_from(const struct kafka_settings *settings,
                                           const char *topic,
                                           topic_from_fn *from,
                                           void *state,
                                           int timeout_ms,
                                           struct err *err);
void topic_reader_free(struct topic_reader *reader);
/*
 * Next record, valid until the next call; NULL: none within `timeout_ms`, or (with
 * `*ret_done` true) the end offsets taken at the start are reached in every partition.
 * An error that ends the reading is in `err` (kind != ERR_OK).
 */
const struct message *topic_reader_next(struct topic_reader *reader,
                                        int timeout_ms,
                                        bool *ret_done,
                                        struct err *err);

struct partition_range {
    int32_t partition;
    int64_t start; /* log start: low watermark */
    int64_t end;   /* as taken at the start */
};
const struct partition_range *topic_reader_ranges(const struct topic_reader *reader,
                                                  size_t *ret_n);

/* --- metadata ----------------------------------------------------------------------- */

struct topic_info {
    char *name;
    int32_t n_partitions;
    const char *error; /* NULL when fine */
};

struct cluster_info {
    char *cluster_id;
    bool mock; /* the embedded broker */
    int n_brokers;
    struct topic_info *topics;
    size_t n_topics;
};

/* ERR_FATAL EXIT_UNREACHABLE "broker_unreachable" after `timeout_ms`. */
enum err_kind cluster_info_get(const struct kafka_settings *settings,
                               int timeout_ms,
                               struct cluster_info *ret_info,
                               struct err *err);
void cluster_info_done(struct cluster_info *info);
/*
 * Number of partitions of one topic, asked for by its name: a cluster leaves topics that
 * we may not see out of its list, but says "permission_denied" of one that is named.
 * Never to be asked on the embedded broker, which would make it.
 */
enum err_kind kafka_find_topic(const struct kafka_settings *settings,
                               const char *topic,
                               int timeout_ms,
                               int32_t *ret_n,
                               struct err *err);

/* Committed offset, log start and end of each partition of `topic` for `group`. */
struct group_lag {
    int32_t partition;
    int64_t committed; /* -1: none yet */
    int64_t start;
    int64_t end;
    int64_t lag; /* end - max(committed, start) */
};
/* `*ret_lags` is malloc()ed, `*ret_n` rows. */
enum err_kind kafka_group_lag(const struct kafka_settings *settings,
                              const char *group,
                              const char *topic,
                              int timeout_ms,
                              struct group_lag **ret_lags,
                              size_t *ret_n,
                              struct err *err);

/* --- group consumer ----------------------------------------------------------------- */

struct consumer;
struct consumed; /* one record and its memory */

struct topic_partition {
    const char *topic; /* borrowed */
    int32_t partition;
    int64_t offset;
};

/*
 * Called from consumer_poll() and consumer_close(), in the polling thread. What they must
 * do is bounded by session.timeout.ms.
 */
struct consumer_events {
    /* Partitions came; `offset` is the committed one, -1 without a commit. */
    void (*assigned)(void *state, const struct topic_partition *parts, size_t n);
    /* They are about to go. Not lost: finish, produce and commit now. Lost: they belong
     * to somebody else already; drop what is open, commit nothing. */
    void (*revoked)(void *state,
                    const struct topic_partition *parts,
                    size_t n,
                    bool lost);
    /* About every second while the committed offsets of an assignment are waited for,
     * as an open transaction of a dead member makes necessary.
     * False: the process stops, nothing is read any more. NULL: it never does. */
    bool (*waiting)(void *state);
    void *state;
};

struct consumer_settings {
    const struct kafka_settings *kafka;
    const char *group;
    const char *topic;
    const char *group_instance_id; /* NULL: a dynamic member */
    enum topic_start start;        /* where a partition without a commit begins */
    bool read_committed;           /* whatever the properties say */
    struct consumer_events events; /* copied */
};

/*
 * Joins the group: cooperative-sticky unless a property says otherwise, no automatic
 * commit, the start set on assignment from the committed offset (events.md 9). Connects
 * in the background: an unreachable broker is no error here.
 */
struct consumer *consumer_new(const struct consumer_settings *settings, struct err *err);
/*
 * Leaves the group, which revokes what is assigned; then frees. Every struct consumed
 * must be freed before. It may hang in the library: run it under a deadline of your own.
 */
void consumer_close(struct consumer *consumer);

/*
 * The next record within `timeout_ms`, to be freed by the caller; NULL: none, or an error
 * in `err`: ERR_RETRY "consume_failed" passes by itself; ERR_FATAL "offset_out_of_range"
 * (EXIT_CONFIG), "committed_unknown" (EXIT_UNREACHABLE), and the table above.
 */
struct consumed *
consumer_poll(struct consumer *consumer, int timeout_ms, struct err *err);
const struct message *consumed_message(const struct consumed *consumed); /* borrowed */
void consumed_free(struct consumed *consumed);

/* Whether a broker connection is up, by the library's statistics (within a second). */
bool consumer_connected(const struct consumer *consumer);
/* Stops and restarts the flow of one assigned partition; resuming goes on after the last
 * record that was polled. Only resume what was paused. */
enum err_kind consumer_pause(struct consumer *consumer,
                             const char *topic,
                             int32_t partition,
                             struct err *err);
enum err_kind consumer_resume(struct consumer *consumer,
                              const char *topic,
                              int32_t partition,
                              struct err *err);
/* Goes on at these offsets; -1 stands for the start setting. */
enum err_kind consumer_seek(struct consumer *consumer,
                            const struct topic_partition *parts,
                            size_t n,
                            struct err *err);
/* The committed offset of each, -1 without one, into its `offset`; waits as `patience`
 * says. ERR_RETRY "committed_unknown". */
enum err_kind consumer_committed(struct consumer *consumer,
                                 struct topic_partition *parts,
                                 size_t n,
                                 const struct patience *patience,
                                 struct err *err);
/* session.timeout.ms as it holds. */
int64_t consumer_session_timeout_ms(const struct consumer *consumer);
/* Commits `offset` (last finished + 1) of each and waits, a few seconds at most.
 * ERR_RETRY "commit_failed". */
enum err_kind consumer_commit(struct consumer *consumer,
                              const struct topic_partition *parts,
                              size_t n,
                              struct err *err);
/*
 * Log start and end as the last fetch had them; false while they are unknown. The end
 * counts what no reader will ever get: the marks of transactions.
 */
bool consumer_watermarks(struct consumer *consumer,
                         const char *topic,
                         int32_t partition,
                         int64_t *ret_start,
                         int64_t *ret_end);
/* The last stable offset, from the library's statistics (within a second); -1 while it is
 * unknown. */
int64_t consumer_stable_end(const struct consumer *consumer, int32_t partition);
/* Up to which offset everything there is to read was read; -1: not at an end. */
int64_t consumer_read_to(const struct consumer *consumer, int32_t partition);

/* --- transactions ------------------------------------------------------------------- */

/*
 * What the calls of a transaction answer:
 *   ERR_RETRY   it must be aborted, and its input read again
 *   ERR_FATAL   out: "fenced" (EXIT_FENCED) by a newer process or by the coordinator,
 *               "client_fatal", and the table above
 * Answers that pass are waited out by making the call again, while `patience` lasts.
 */

/* Once, before the first: fences whoever held the id before. ERR_RETRY
 * "transaction_pending" after `timeout_ms`: call it again. */
enum err_kind
transactions_init(struct producer *producer, int timeout_ms, struct err *err);
enum err_kind transaction_begin(struct producer *producer,
                                const struct patience *patience,
                                struct err *err);
/* `offset` of each: last finished + 1. A stale generation is an ordinary ERR_RETRY. */
enum err_kind transaction_send_offsets(struct producer *producer,
                                       struct consumer *consumer,
                                       const struct topic_partition *parts,
                                       size_t n,
                                       int timeout_ms,
                                       const struct patience *patience,
                                       struct err *err);
enum err_kind transaction_commit(struct producer *producer,
                                 const struct patience *patience,
                                 struct err *err);
enum err_kind transaction_abort(struct producer *producer,
                                const struct patience *patience,
                                struct err *err);
/* Another member of `group` with our client id, as text; false: none is seen. */
bool consumer_find_namesake(struct consumer *consumer,
                            const char *group,
                            const char *client_id,
                            char *ret_text,
                            size_t size);

/* Fetched records that may wait in a consumer, their number, on the library that is
 * loaded. */
int64_t kafka_prefetched_records(void);

/* --- the library -------------------------------------------------------------------- */

/* Version of the library at run time ("2.0.2") and its features, for --version
 * --features. */
const char *kafka_version(void);
void kafka_features(char *ret_text, size_t size);
