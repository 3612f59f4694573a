/* SPDX-License-Identifier: Apache-2.0 */
/* Clients from properties, what the broker's answers mean, and metadata. */
#include "kafka.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kafka_client.h"

#include "cleanup.h"
#include "clock.h"
#include "log.h"
#include "topics.h"

enum {
    TEXT_BYTES = 512,
    LOG_WARNING_LEVEL = 4, /* as syslog counts */
    AGAIN_MS = 100,        /* until a coordinator is asked again */
};

/* Well below the smallest topic's maximum, as the library's own default. */
static const struct kafka_property common_defaults[] = {
    {"socket.nagle.disable", "true"},
    {"socket.keepalive.enable", "true"},
    {"reconnect.backoff.max.ms", "2000"},
    {"log.connection.close", "false"},
    {NULL, NULL},
};

/* Properties that the promises of a worker hang on, and what to use instead. */
static const struct {
    const char *name;
    const char *instead;
} owned_properties[] = {
    {"auto.offset.reset", "the setting start"},
    {"client.id", "the setting instance"},
    {"enable.auto.commit", "nothing: a batch is committed once it was delivered"},
    {"enable.auto.offset.store", "nothing: a batch is committed once it was delivered"},
    {"enable.partition.eof", "nothing"},
    {"group.id", "the setting group"},
    {"group.instance.id", "the settings static and instance"},
    {"statistics.interval.ms", "the metrics of the admin port"},
    {"transactional.id", "the setting instance"},
};

const char *
kafka_property(const struct kafka_settings *settings, const char *name)
{
    for (size_t i = settings->n_properties; i > 0; i--)
        if (strcmp(settings->properties[i - 1].name, name) == 0)
            return settings->properties[i - 1].value;
    return NULL;
}

const char *
kafka_brokers(const struct kafka_settings *settings)
{
    const char *brokers = kafka_property(settings, "bootstrap.servers");
    if (!brokers)
        brokers = kafka_property(settings, "metadata.broker.list");
    if (!brokers)
        brokers = settings->brokers;
    return brokers ? brokers : "";
}

/* --- callbacks from the library's threads ------------------------------------------- */

static enum log_level
level_of(int syslog_level, const char *facility)
{
    /* A refused connection is said again at every attempt; the runner says it once. And
     * every property goes to every client, so those for the other kind are expected. */
    if (strcmp(facility, "FAIL") == 0 || strcmp(facility, "CONFWARN") == 0)
        return LOG_DEBUG;
    if (syslog_level <= 4)
        return LOG_WARNING;
    return syslog_level <= 6 ? LOG_INFO : LOG_DEBUG;
}

static void
on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    enum log_level ours = level_of(level, facility);
    if (!log_wants(ours))
        return;
    log_event(ours, text,
              LOG_FIELDS(LOG_STR("facility", facility),
                         LOG_STR("client", rk ? rd_kafka_name(rk) : NULL)));
}

static void
on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque)
{
    struct kafka_client *client = opaque;
    if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION) {
        atomic_fetch_add(&client->refused, 1);
        on_log(rk, LOG_WARNING_LEVEL, "AUTH", reason);
    }
    if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        return;
    atomic_store(&client->down, true);
    atomic_store(&client->connected, false);
}

static int
on_statistics(rd_kafka_t *rk, char *json, size_t len, void *opaque)
{
    (void)rk;
    (void)len;
    struct kafka_client *client = opaque;
    /* Only a broker's state is written in capitals. */
    bool up = strstr(json, "\"state\":\"UP\"") != NULL;
    atomic_store(&client->connected, up);
    if (up) {
        atomic_store(&client->down, false);
        atomic_store(&client->refused, 0);
    }
    if (client->statistics)
        client->statistics(client, json);
    return 0; /* the library frees the text */
}

void
kafka_watch_connection(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_stats_cb(conf, on_statistics);
}

/* --- errors ------------------------------------------------------------------------- */

static enum err_kind
permission_denied(struct err *err,
                  rd_kafka_resp_err_t answer,
                  const char *what,
                  const char *text)
{
    bool login = answer == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
                 answer == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED;
    bool old_scram = login && kafka_has_defect(rd_kafka_version(), KAFKA_DEFECT_SCRAM);
    return err_fatal(
        err, EXIT_PERMISSION, "permission_denied", "%s: %s; %s%s", what, text,
        login ? "check sasl.mechanism, sasl.username and sasl.password"
              : "ask for an ACL that allows it",
        old_scram ? " (with SCRAM, librdkafka before 2.6.1 can't log in to Kafka 4)"
                  : "");
}

/* What an answer means, apart from those that may pass. */
static enum err_kind
lasting_error(struct err *err,
              rd_kafka_resp_err_t answer,
              const char *what,
              const char *text)
{
    switch ((int)answer) {
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
        return err_set(err, ERR_RECORD, "record_refused_by_broker", "%s: %s", what, text);
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
        return err_set(err, ERR_RECORD, "record_too_large", "%s: %s", what, text);
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return permission_denied(err, answer, what, text);
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        return err_fatal(err, EXIT_CONFIG, "topic_unknown",
                         "%s: %s; see what is missing with heddle topics plan", what,
                         text);
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
        return err_fatal(err, EXIT_FENCED, "fenced",
                         "%s: %s; a newer process holds this instance", what, text);
    default:
        return ERR_OK;
    }
}

enum err_kind
kafka_error(struct err *err,
            rd_kafka_resp_err_t answer,
            const char *code,
            const char *what,
            const char *detail)
{
    const char *text = detail && *detail ? detail : rd_kafka_err2str(answer);
    enum err_kind kind = lasting_error(err, answer, what, text);
    return kind ? kind : err_set(err, ERR_RETRY, code, "%s: %s", what, text);
}

enum err_kind
kafka_fatal_error(const struct kafka_client *client, struct err *err)
{
    char text[TEXT_BYTES] = "";
    rd_kafka_resp_err_t answer = rd_kafka_fatal_error(client->rk, text, sizeof text);
    if (!answer)
        return ERR_OK;
    enum err_kind kind = lasting_error(err, answer, "the Kafka client gave up", text);
    if (kind == ERR_FATAL)
        return kind;
    return err_fatal(err, EXIT_TRY_AGAIN, "client_fatal",
                     "the Kafka client gave up: %s; start the process again", text);
}

enum err_kind
kafka_login_error(const struct kafka_client *client, int times, struct err *err)
{
    if (atomic_load(&client->refused) < times)
        return ERR_OK;
    return kafka_error(err, RD_KAFKA_RESP_ERR__AUTHENTICATION, "permission_denied",
                       "the login at the broker", NULL);
}

/* --- properties --------------------------------------------------------------------- */

/* The name column of the library's own table, one name a line. ERR_OK or no memory. */
static char *
property_table(void)
{
    char *table = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&table, &size);
    if (!out)
        return NULL;
    rd_kafka_conf_properties_show(out);
    fclose(out);
    return table;
}

enum { MAX_PROPERTIES = 512 };

static size_t
split_names(char *table, const char **names, size_t max)
{
    size_t n = 0;
    char *save = NULL;
    for (char *line = strtok_r(table, "\n", &save); line && n < max;
         line = strtok_r(NULL, "\n", &save)) {
        size_t len = strcspn(line, " \t");
        if (len > 0 && strchr(line, '|')) {
            line[len] = '\0';
            names[n++] = line;
        }
    }
    return n;
}

static enum err_kind
unknown_property(const char *name, struct err *err)
{
    const char *names[MAX_PROPERTIES];
    char *table = property_table();
    size_t n = table ? split_names(table, names, MAX_PROPERTIES) : 0;
    const char *near = options_nearest(name, names, n);
    err_fatal(err, EXIT_CONFIG, "kafka_property",
              "librdkafka %s has no property %s%s%s%s", rd_kafka_version_str(), name,
              near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    free(table);
    return ERR_FATAL;
}

static enum err_kind
set_property(rd_kafka_conf_t *conf, const char *name, const char *value, struct err *err)
{
    char text[TEXT_BYTES];
    switch (rd_kafka_conf_set(conf, name, value, text, sizeof text)) {
    case RD_KAFKA_CONF_OK:
        return ERR_OK;
    case RD_KAFKA_CONF_UNKNOWN:
        return unknown_property(name, err);
    case RD_KAFKA_CONF_INVALID:
    default:
        return err_fatal(err, EXIT_CONFIG, "kafka_property", "property %s: %s", name,
                         text);
    }
}

static enum err_kind
set_all(rd_kafka_conf_t *conf, const struct kafka_property *list, struct err *err)
{
    for (; list && list->name; list++)
        if (set_property(conf, list->name, list->value, err))
            return ERR_FATAL;
    return ERR_OK;
}

/* The largest record that the process may write; the batch stays below the smallest. */
static enum err_kind
set_size_limits(rd_kafka_conf_t *conf, const char *const *topics, struct err *err)
{
    static const char *const any[] = {NULL};
    char text[KAFKA_NUMBER_BYTES];
    snprintf(text, sizeof text, "%zu", topics_largest(topics ? topics : any));
    if (set_property(conf, "message.max.bytes", text, err))
        return ERR_FATAL;
    size_t smallest = topics_smallest(topics ? topics : any);
    snprintf(text, sizeof text, "%zu", smallest - smallest / 16);
    return set_property(conf, "batch.size", text, err);
}

static enum err_kind
set_given(rd_kafka_conf_t *conf, const struct kafka_settings *settings, struct err *err)
{
    if (settings->client_id && set_property(conf, "client.id", settings->client_id, err))
        return ERR_FATAL;
    if (settings->brokers &&
        set_property(conf, "bootstrap.servers", settings->brokers, err))
        return ERR_FATAL;
    for (size_t i = 0; i < settings->n_properties; i++)
        if (set_property(conf, settings->properties[i].name,
                         settings->properties[i].value, err))
            return ERR_FATAL;
    return ERR_OK;
}

static enum err_kind
check_owned(const struct option_property *property, struct err *err)
{
    size_t n = sizeof owned_properties / sizeof owned_properties[0];
    for (size_t i = 0; i < n; i++)
        if (strcmp(property->name, owned_properties[i].name) == 0)
            return err_fatal(err, EXIT_CONFIG, "kafka_property",
                             "property %s is set by Heddle itself; use %s",
                             property->name, owned_properties[i].instead);
    return ERR_OK;
}

static void
conf_destroyp(rd_kafka_conf_t **conf)
{
    if (*conf)
        rd_kafka_conf_destroy(*conf);
}

enum err_kind
kafka_check_properties(const struct kafka_settings *settings, struct err *err)
{
    CLEANUP(conf_destroyp) rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (size_t i = 0; i < settings->n_properties; i++)
        if (check_owned(&settings->properties[i], err))
            return ERR_FATAL;
    return set_given(conf, settings, err);
}

/* Said once a process, however many clients it makes. */
static void
warn_of_defects(const struct kafka_settings *settings)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const char *mechanism = kafka_property(settings, "sasl.mechanism");
    if (!mechanism)
        mechanism = kafka_property(settings, "sasl.mechanisms");
    if (!mechanism || strncmp(mechanism, "SCRAM", 5) != 0 ||
        !kafka_has_defect(rd_kafka_version(), KAFKA_DEFECT_SCRAM) ||
        atomic_flag_test_and_set(&said))
        return;
    log_event(LOG_WARNING,
              "Kafka 4 refuses this login of a librdkafka before 2.6.1: take another "
              "sasl.mechanism or a newer library",
              LOG_FIELDS(LOG_STR("sasl_mechanism", mechanism),
                         LOG_STR("librdkafka", rd_kafka_version_str())));
}

/* --- making a client ---------------------------------------------------------------- */

/* Library threads inherit the mask: signals stay with the process's own threads. */
static rd_kafka_t *
new_with_signals_blocked(rd_kafka_type_t type,
                         rd_kafka_conf_t *conf,
                         char *text,
                         size_t size)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rd_kafka_t *rk = rd_kafka_new(type, conf, text, size);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rk;
}

static enum err_kind
set_number(rd_kafka_conf_t *conf, const char *name, int64_t value, struct err *err)
{
    char text[KAFKA_NUMBER_BYTES];
    snprintf(text, sizeof text, "%" PRId64, value);
    return set_property(conf, name, text, err);
}

static enum err_kind
set_bounds(rd_kafka_conf_t *conf,
           enum kafka_role role,
           const struct memory_plan *plan,
           struct err *err)
{
    enum { KIB = 1024 };
    if (!plan || !plan->limit)
        return ERR_OK;
    if (role == KAFKA_CONSUMES)
        return set_number(conf, "queued.max.messages.kbytes", plan->fetched_bytes / KIB,
                          err) ||
                       set_number(conf, "queued.min.messages", plan->fetched_records,
                                  err) ||
                       set_number(conf, "fetch.max.bytes", plan->fetch_bytes, err) ||
                       /* not above it, says the library; a larger record comes all the
                          same */
                       set_number(conf, "message.max.bytes", plan->fetch_bytes, err)
                   ? ERR_FATAL
                   : ERR_OK;
    return set_number(conf, "queue.buffering.max.kbytes", plan->sent_bytes / KIB, err) ||
                   set_number(conf, "queue.buffering.max.messages", plan->sent_records,
                              err)
               ? ERR_FATAL
               : ERR_OK;
}

enum err_kind
kafka_client_open(struct kafka_client *client,
                  enum kafka_role role,
                  const struct kafka_settings *settings,
                  const struct kafka_property *defaults,
                  const struct kafka_property *owned,
                  void (*prepare)(rd_kafka_conf_t *conf),
                  struct err *err)
{
    CLEANUP(conf_destroyp) rd_kafka_conf_t *conf = rd_kafka_conf_new();
    struct kafka_property tuning[KAFKA_TUNING_MAX];
    kafka_tuning(rd_kafka_version(), role, tuning);
    if (set_all(conf, common_defaults, err) || set_all(conf, tuning, err) ||
        set_size_limits(conf, settings->topics, err) || set_all(conf, defaults, err) ||
        set_bounds(conf, role, settings->memory, err) || set_given(conf, settings, err) ||
        set_all(conf, owned, err))
        return ERR_FATAL;
    warn_of_defects(settings);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_opaque(conf, client);
    if (prepare)
        prepare(conf);
    char text[TEXT_BYTES];
    client->rk = new_with_signals_blocked(role == KAFKA_CONSUMES ? RD_KAFKA_CONSUMER
                                                                 : RD_KAFKA_PRODUCER,
                                          conf, text, sizeof text);
    if (!client->rk)
        return err_fatal(err, EXIT_CONFIG, "kafka_property",
                         "no Kafka client with these properties: %s", text);
    conf = NULL; /* the client owns it now */
    return ERR_OK;
}

/* --- records ------------------------------------------------------------------------ */

size_t
kafka_headers(const rd_kafka_message_t *record, struct header *ret, size_t max)
{
    rd_kafka_headers_t *headers = NULL;
    if (rd_kafka_message_headers(record, &headers))
        return 0;
    size_t n = 0;
    const char *name = NULL;
    const void *value = NULL;
    size_t size = 0;
    while (n < max && !rd_kafka_header_get_all(headers, n, &name, &value, &size)) {
        ret[n].name = slice_of(name);
        ret[n].value = (struct slice){value, size};
        n++;
    }
    return n;
}

void
kafka_message_fill(const rd_kafka_message_t *record,
                   const char *topic,
                   struct message *ret)
{
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    *ret = (struct message){
        .topic = topic,
        .partition = record->partition,
        .offset = record->offset,
        .timestamp_ms = rd_kafka_message_timestamp(record, &type),
        .key = {record->key, record->key ? record->key_len : 0},
        .value = {record->payload, record->payload ? record->len : 0},
    };
}

/* --- metadata ----------------------------------------------------------------------- */

static enum err_kind
unreachable(const struct kafka_client *client,
            const struct kafka_settings *settings,
            rd_kafka_resp_err_t answer,
            struct err *err)
{
    rd_kafka_poll(client->rk, 0); /* the login's refusal comes by callback alone */
    if (kafka_login_error(client, 1, err))
        return err->kind;
    enum err_kind kind = lasting_error(err, answer, "metadata", rd_kafka_err2str(answer));
    if (kind)
        return kind;
    return err_fatal(err, EXIT_UNREACHABLE, "broker_unreachable",
                     "no broker answers at %s: %s; start one with heddle dev up, or set "
                     "brokers",
                     kafka_brokers(settings), rd_kafka_err2str(answer));
}

enum err_kind
kafka_partition_count(const struct kafka_client *client,
                      const struct kafka_settings *settings,
                      const char *topic,
                      int timeout_ms,
                      int32_t *ret_n,
                      struct err *err)
{
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client->rk, topic, NULL);
    if (!handle)
        return err_fatal(err, EXIT_CONFIG, "topic_unknown", "%s is no topic name", topic);
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t answer =
        rd_kafka_metadata(client->rk, 0, handle, &metadata, timeout_ms);
    rd_kafka_topic_destroy(handle);
    if (answer)
        return unreachable(client, settings, answer, err);
    enum err_kind kind = ERR_OK;
    if (metadata->topic_cnt == 1 && metadata->topics[0].err)
        kind =
            kafka_error(err, metadata->topics[0].err, "topic_unavailable", topic, NULL);
    else if (metadata->topic_cnt != 1 || metadata->topics[0].partition_cnt < 1 ||
             metadata->topics[0].partition_cnt > KAFKA_MAX_PARTITIONS)
        kind = err_fatal(err, EXIT_CONFIG, "topic_unknown", "topic %s has no partitions",
                         topic);
    else
        *ret_n = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    return kind;
}

enum err_kind
kafka_find_topic(const struct kafka_settings *settings,
                 const char *topic,
                 int timeout_ms,
                 int32_t *ret_n,
                 struct err *err)
{
    struct kafka_client client = {0};
    /* A consumer: its question does not make the topic. */
    if (kafka_client_open(&client, KAFKA_CONSUMES, settings, NULL, NULL, NULL, err))
        return err->kind;
    enum err_kind kind =
        kafka_partition_count(&client, settings, topic, timeout_ms, ret_n, err);
    rd_kafka_destroy(client.rk);
    return kind;
}

struct range_job {
    rd_kafka_t *rk;
    char *topic;
    int32_t n;
    int timeout_ms;
    struct partition_range *ranges;
    rd_kafka_resp_err_t answer;
};

static void
range_job_free(struct range_job *job)
{
    free(job->topic);
    free(job->ranges);
    free(job);
}

static void *
run_range_job(void *state)
{
    struct range_job *job = state;
    for (int32_t p = 0; p < job->n && !job->answer; p++) {
        struct partition_range *range = &job->ranges[p];
        range->partition = p;
        job->answer = rd_kafka_query_watermark_offsets(
            job->rk, job->topic, p, &range->start, &range->end, job->timeout_ms);
    }
    return NULL;
}

static struct range_job *
new_range_job(const struct kafka_client *client,
              const char *topic,
              int32_t n,
              int timeout_ms)
{
    struct range_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    *job = (struct range_job){client->rk, strdup(topic), n, timeout_ms, NULL, 0};
    job->ranges = calloc(n > 0 ? (size_t)n : 1, sizeof *job->ranges);
    if (job->topic && job->ranges)
        return job;
    range_job_free(job);
    return NULL;
}

enum err_kind
kafka_ranges(const struct kafka_client *client,
             const char *topic,
             int32_t n,
             int timeout_ms,
             struct partition_range *ret_ranges,
             bool *ret_stuck,
             struct err *err)
{
    *ret_stuck = false;
    struct range_job *job = new_range_job(client, topic, n, timeout_ms);
    pthread_t thread;
    if (!job || pthread_create(&thread, NULL, run_range_job, job)) {
        if (job)
            range_job_free(job);
        return err_no_memory(err, "the offsets of a topic");
    }
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += timeout_ms / 1000 + 1;
    if (pthread_timedjoin_np(thread, NULL, &deadline)) {
        pthread_detach(thread);
        *ret_stuck = true; /* the job stays with its thread */
        return err_fatal(err, EXIT_UNREACHABLE, "broker_unreachable",
                         "the offsets of %s did not come in %d ms", topic, timeout_ms);
    }
    enum err_kind kind = ERR_OK;
    if (job->answer)
        kind = err_fatal(err, EXIT_UNREACHABLE, "broker_unreachable",
                         "the offsets of %s can't be read: %s", topic,
                         rd_kafka_err2str(job->answer));
    else
        memcpy(ret_ranges, job->ranges, (size_t)n * sizeof *ret_ranges);
    range_job_free(job);
    return kind;
}

static enum err_kind
copy_topics(const struct rd_kafka_metadata *metadata,
            struct cluster_info *info,
            struct err *err)
{
    info->n_brokers = metadata->broker_cnt;
    size_t n = metadata->topic_cnt > 0 ? (size_t)metadata->topic_cnt : 0;
    info->topics = calloc(n ? n : 1, sizeof *info->topics);
    if (!info->topics)
        return err_no_memory(err, "the list of topics");
    for (size_t i = 0; i < n; i++) {
        const struct rd_kafka_metadata_topic *topic = &metadata->topics[i];
        info->topics[i] = (struct topic_info){
            strdup(topic->topic),
            topic->partition_cnt,
            topic->err ? rd_kafka_err2str(topic->err) : NULL,
        };
        if (!info->topics[i].name)
            return err_no_memory(err, "the list of topics");
        info->n_topics++;
    }
    return ERR_OK;
}

static enum err_kind
read_cluster(const struct kafka_client *client,
             const struct kafka_settings *settings,
             int timeout_ms,
             struct cluster_info *info,
             struct err *err)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t answer =
        rd_kafka_metadata(client->rk, 1, NULL, &metadata, timeout_ms);
    if (answer)
        return unreachable(client, settings, answer, err);
    enum err_kind kind = copy_topics(metadata, info, err);
    rd_kafka_metadata_destroy(metadata);
    if (kind)
        return kind;
    char *id = rd_kafka_clusterid(client->rk, timeout_ms);
    info->cluster_id = strdup(id ? id : "");
    if (id)
        rd_kafka_mem_free(client->rk, id);
    if (!info->cluster_id)
        return err_no_memory(err, "the cluster id");
    info->mock = strncmp(info->cluster_id, KAFKA_MOCK_CLUSTER_PREFIX,
                         strlen(KAFKA_MOCK_CLUSTER_PREFIX)) == 0;
    return ERR_OK;
}

enum err_kind
cluster_info_get(const struct kafka_settings *settings,
                 int timeout_ms,
                 struct cluster_info *ret_info,
                 struct err *err)
{
    struct kafka_client client = {0};
    if (kafka_client_open(&client, KAFKA_PRODUCES, settings, NULL, NULL, NULL, err))
        return err->kind;
    struct cluster_info info = {0};
    enum err_kind kind = read_cluster(&client, settings, timeout_ms, &info, err);
    rd_kafka_destroy(client.rk);
    if (kind)
        cluster_info_done(&info);
    else
        *ret_info = info;
    return kind;
}

void
cluster_info_done(struct cluster_info *info)
{
    for (size_t i = 0; i < info->n_topics; i++)
        free(info->topics[i].name);
    free(info->topics);
    free(info->cluster_id);
    *info = (struct cluster_info){0};
}

/* --- lag of a group ----------------------------------------------------------------- */

/* A coordinator that moves or still loads passes: asked again until the time is up. */
static rd_kafka_resp_err_t
ask_committed(const struct kafka_client *client,
              rd_kafka_topic_partition_list_t *list,
              int timeout_ms)
{
    int64_t deadline_ms = clock_monotonic_ms() + timeout_ms;
    for (;;) {
        int64_t left_ms = deadline_ms - clock_monotonic_ms();
        rd_kafka_resp_err_t answer =
            rd_kafka_committed(client->rk, list, left_ms > 0 ? (int)left_ms : 0);
        for (int i = 0; i < list->cnt && !answer; i++)
            answer = list->elems[i].err;
        bool passing = answer == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
                       answer == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
                       answer == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE;
        if (!passing || left_ms <= AGAIN_MS)
            return answer;
        poll(NULL, 0, AGAIN_MS);
    }
}

static enum err_kind
read_committed_offsets(const struct kafka_client *client,
                       const char *topic,
                       int32_t n,
                       int timeout_ms,
                       struct group_lag *lags,
                       struct err *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(n);
    for (int32_t p = 0; p < n; p++)
        rd_kafka_topic_partition_list_add(list, topic, p);
    rd_kafka_resp_err_t answer = ask_committed(client, list, timeout_ms);
    for (int32_t p = 0; p < n && !answer; p++) {
        lags[p].partition = p;
        lags[p].committed = list->elems[p].offset < 0 ? -1 : list->elems[p].offset;
    }
    rd_kafka_topic_partition_list_destroy(list);
    if (!answer)
        return ERR_OK;
    enum err_kind kind = kafka_error(err, answer, "committed_unknown", topic, NULL);
    return kind == ERR_RETRY ? err_fatal(err, EXIT_UNREACHABLE, "committed_unknown",
                                         "the committed offsets of %s can't be read: %s",
                                         topic, rd_kafka_err2str(answer))
                             : kind;
}

static void
fill_lags(const struct partition_range *ranges, int32_t n, struct group_lag *lags)
{
    for (int32_t p = 0; p < n; p++) {
        int64_t from =
            lags[p].committed > ranges[p].start ? lags[p].committed : ranges[p].start;
        lags[p].start = ranges[p].start;
        lags[p].end = ranges[p].end;
        lags[p].lag = ranges[p].end > from ? ranges[p].end - from : 0;
    }
}

static enum err_kind
read_lags(const struct kafka_client *client,
          const struct kafka_settings *settings,
          const char *topic,
          int timeout_ms,
          struct group_lag **ret_lags,
          int32_t *ret_n,
          bool *ret_stuck,
          struct err *err)
{
    int32_t n = 0;
    if (kafka_partition_count(client, settings, topic, timeout_ms, &n, err))
        return err->kind;
    size_t room = n > 0 ? (size_t)n : 1;
    struct group_lag *lags = calloc(room, sizeof *lags);
    struct partition_range *ranges = calloc(room, sizeof *ranges);
    enum err_kind kind = ERR_OK;
    if (!lags || !ranges)
        kind = err_no_memory(err, "the lag of a group");
    if (!kind)
        kind = read_committed_offsets(client, topic, n, timeout_ms, lags, err);
    if (!kind)
        kind = kafka_ranges(client, topic, n, timeout_ms, ranges, ret_stuck, err);
    if (!kind)
        fill_lags(ranges, n, lags);
    free(ranges);
    if (kind) {
        free(lags);
        return kind;
    }
    *ret_lags = lags;
    *ret_n = n;
    return ERR_OK;
}

enum err_kind
kafka_group_lag(const struct kafka_settings *settings,
                const char *group,
                const char *topic,
                int timeout_ms,
                struct group_lag **ret_lags,
                size_t *ret_n,
                struct err *err)
{
    const struct kafka_property owned[] = {{"group.id", group}, {NULL, NULL}};
    struct kafka_client client = {0};
    if (kafka_client_open(&client, KAFKA_CONSUMES, settings, NULL, owned, NULL, err))
        return err->kind;
    int32_t n = 0;
    bool stuck = false;
    enum err_kind kind =
        read_lags(&client, settings, topic, timeout_ms, ret_lags, &n, &stuck, err);
    if (!stuck)
        rd_kafka_destroy(client.rk);
    if (!kind)
        *ret_n = (size_t)n;
    return kind;
}

/* --- the library -------------------------------------------------------------------- */

int64_t
kafka_prefetched_records(void)
{
    enum { USUALLY = 100000 };
    struct kafka_property tuning[KAFKA_TUNING_MAX];
    kafka_tuning(rd_kafka_version(), KAFKA_CONSUMES, tuning);
    for (const struct kafka_property *at = tuning; at->name; at++)
        if (strcmp(at->name, "queued.min.messages") == 0)
            return strtoll(at->value, NULL, 10);
    return USUALLY;
}

const char *
kafka_version(void)
{
    return rd_kafka_version_str();
}

void
kafka_features(char *ret_text, size_t size)
{
    CLEANUP(conf_destroyp) rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (rd_kafka_conf_get(conf, "builtin.features", ret_text, &size) && size > 0)
        ret_text[0] = '\0';
}
