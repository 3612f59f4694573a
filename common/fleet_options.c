/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the shared settings, and what this build can promise. */
#include "fleet_options.h"

#include <string.h>

#define SETTING(section_, name_, type_, member)                                          \
    .section = (section_), .name = (name_), .type = (type_),                             \
    .offset = offsetof(struct fleet_settings, member)
#define QUESTION(name_, member)                                                          \
    .name = (name_), .type = OPTION_FLAG,                                                \
    .offset = offsetof(struct fleet_settings, member), .traits = OPTION_CLI_ONLY

const struct option fleet_options[] = {
    {SETTING(NULL, "config", OPTION_TEXT, config), .traits = OPTION_CLI_ONLY,
     .letter = 'c', .arg = "FILE",
     .help = "Reads the settings from FILE instead of looking for heddle.ini."},
    {SETTING("heddle", "brokers", OPTION_TEXT, brokers), .letter = 'b',
     .arg = "HOST:PORT,...", .help = "Kafka brokers to start from."},
    {SETTING("heddle", "group", OPTION_TEXT, group), .arg = "NAME",
     .help = "Consumer group; a worker's own is heddle-NAME."},
    {SETTING("heddle", "state_dir", OPTION_TEXT, state_dir), .arg = "DIR",
     .help = "Folder for what is remembered; else $XDG_STATE_HOME/heddle."},
    {SETTING("heddle", "store_max", OPTION_SIZE, store_max), .value = "16GiB",
     .min = 1 << 20, .max = INT64_C(1) << 44, .arg = "SIZE",
     .help = "Largest file of the state of one partition."},
    {SETTING("heddle", "log_format", OPTION_CHOICE, log_format), .value = "text",
     .choices = "text|json", .help = "How a line of the log is written."},
    {SETTING("heddle", "log_level", OPTION_CHOICE, log_level), .value = "info",
     .choices = "debug|info|warning|error", .help = "The least that is logged."},
    {SETTING("schema", "registry", OPTION_TEXT, schema.registry), .arg = "URL",
     .traits = OPTION_LONG_FLAG,
     .help = "Schema registry (Confluent's API); none: values say their schema by "
             "fingerprint."},
    {SETTING("schema", "username", OPTION_TEXT, schema.username), .arg = "NAME",
     .traits = OPTION_LONG_FLAG, .help = "Name at the registry."},
    {SETTING("schema", "password", OPTION_TEXT, schema.password), .arg = "TEXT",
     .traits = OPTION_LONG_FLAG | OPTION_SECRET, .help = "Password at the registry."},
    {SETTING("schema", "ca_file", OPTION_TEXT, schema.ca_file), .arg = "FILE",
     .traits = OPTION_LONG_FLAG,
     .help =
         "Certificates (PEM) that the registry's is checked with; else the system's."},
    {SETTING("schema", "cert_file", OPTION_TEXT, schema.cert_file), .arg = "FILE",
     .traits = OPTION_LONG_FLAG, .help = "Our certificate (PEM) for the registry."},
    {SETTING("schema", "key_file", OPTION_TEXT, schema.key_file), .arg = "FILE",
     .traits = OPTION_LONG_FLAG, .help = "Key (PEM) of our certificate."},
    {SETTING("schema", "cache_dir", OPTION_TEXT, schema.cache_dir), .arg = "DIR",
     .traits = OPTION_LONG_FLAG,
     .help = "Folder of fetched schemas for when the registry is away; else `schemas` in "
             "the state folder."},
    {SETTING("schema", "timeout", OPTION_DURATION, schema.timeout_ms), .value = "5s",
     .min = 1, .max = 300000, .traits = OPTION_LONG_FLAG,
     .help = "How long the registry may take to answer."},
    {SETTING("schema", "unknown_grace", OPTION_DURATION, schema.unknown_grace_ms),
     .value = "30s", .max = 86400000, .traits = OPTION_LONG_FLAG,
     .help = "How long an id that the registry denies is asked for again."},
    {SETTING("schema", "register", OPTION_BOOL, schema.registers), .value = "no",
     .traits = OPTION_LONG_FLAG,
     .help = "Registers what a worker writes when the registry does not know it; else "
             "the worker refuses to send."},
    {SETTING("dead", "max_attempts", OPTION_INT, dead_max_attempts), .value = "5",
     .min = 1, .max = 1000000, .traits = OPTION_NO_FLAG,
     .help = "Attempts until a dead letter is in quarantine."},
    {QUESTION("check", check),
     .help = "Prints each effective setting and where it came from, and leaves."},
    {QUESTION("version", version), .help = "Prints the version, and leaves."},
    {QUESTION("features", features),
     .help = "With --version: the libraries and what they were built with."},
    {QUESTION("help", help), .letter = 'h', .help = "Prints this, and leaves."},
};
const size_t n_fleet_options = sizeof fleet_options / sizeof *fleet_options;

const struct option fleet_run_options[] = {
    {SETTING("heddle", "instance", OPTION_TEXT, instance), .arg = "NAME",
     .help = "Name of this process in the group; else the host's and a free number."},
    {SETTING("heddle", "static", OPTION_BOOL, static_member), .value = "no",
     .help = "Joins as a static member, so that a restart moves no partition."},
    {SETTING("heddle", "start", OPTION_CHOICE, start), .value = "earliest",
     .choices = "earliest|latest",
     .help = "Where a partition without a committed offset is read from."},
    {SETTING("heddle", "delivery", OPTION_CHOICE, delivery), .value = "exactly-once",
     .choices = "exactly-once|at-least-once",
     .help = "What is promised of each record. Exactly-once wants a broker with "
             "transactions; a worker refuses it on the embedded one."},
    {SETTING("heddle", "batch_records", OPTION_INT, batch_records), .value = "10000",
     .min = 1, .max = 1000000,
     .help = "Commits a batch at the latest after so many records."},
    {SETTING("heddle", "batch_time", OPTION_DURATION, batch_time_ms), .value = "1s",
     .min = 1, .max = 60000, .help = "Commits a batch at the latest after this time."},
    {SETTING("heddle", "batch_bytes", OPTION_SIZE, batch_bytes), .value = "16MiB",
     .min = 1024, .max = (int64_t)1 << 30,
     .help = "Commits a batch at the latest after so many bytes of input."},
    {SETTING("heddle", "memory", OPTION_SIZE, memory), .value = "512MiB",
     .max = INT64_C(1) << 44,
     .help = "What queues, batches and changes of the state may take together, at least "
             "128MiB; 0: no limit but their own."},
    {SETTING("heddle", "retry_first", OPTION_DURATION, retry_first_ms), .value = "250ms",
     .min = 1, .max = 3600000,
     .help = "Wait before a record is tried again, doubled each time."},
    {SETTING("heddle", "retry_max", OPTION_DURATION, retry_max_ms), .value = "30s",
     .min = 1, .max = 3600000,
     .help = "The longest wait before a record is tried again."},
    {SETTING("heddle", "retry_attempts", OPTION_INT, retry_attempts), .value = "10",
     .max = 1000000, .help = "Attempts until a record is a dead letter; 0: no end."},
    {SETTING("heddle", "job_deadline", OPTION_DURATION, job_deadline_ms), .value = "20s",
     .min = 100, .max = 400000,
     .help = "How long one record may be in work: then the worker is not ready and names "
             "it; after twice the time it leaves with status 83."},
    {SETTING("heddle", "drain_timeout", OPTION_DURATION, drain_timeout_ms),
     .value = "30s", .min = 100, .max = 3600000,
     .help = "How long a worker that is told to stop may take to finish its batch."},
    {SETTING("heddle", "admin", OPTION_TEXT, admin), .value = "127.0.0.1:0",
     .arg = "HOST:PORT",
     .help = "Where /metrics, /healthz and /readyz answer; port 0: a free one; off: "
             "nowhere."},
    {SETTING("claim", "roots", OPTION_LIST, claim_roots), .arg = "DIR",
     .traits = OPTION_LONG_FLAG,
     .help = "Folder below which file:// claims may be read; repeatable."},
    {SETTING("claim", "ca_file", OPTION_TEXT, remote.ca_file), .arg = "FILE",
     .traits = OPTION_LONG_FLAG,
     .help = "Certificates (PEM) that servers of https:// and s3:// claims are checked "
             "with; else the system's."},
    {SETTING("claim", "cert_file", OPTION_TEXT, remote.cert_file), .arg = "FILE",
     .traits = OPTION_LONG_FLAG, .help = "Our certificate (PEM) for these servers."},
    {SETTING("claim", "key_file", OPTION_TEXT, remote.key_file), .arg = "FILE",
     .traits = OPTION_LONG_FLAG, .help = "Key (PEM) of our certificate."},
    {SETTING("claim", "connect_timeout", OPTION_DURATION, remote.connect_timeout_ms),
     .value = "5s", .min = 1, .max = 300000, .traits = OPTION_LONG_FLAG,
     .help = "How long a server may take to be reached."},
    {SETTING("claim", "stall_timeout", OPTION_DURATION, remote.stall_timeout_ms),
     .value = "30s", .min = 1000, .max = 3600000, .traits = OPTION_LONG_FLAG,
     .help = "How long a transfer may go without a byte; counted in whole seconds."},
    {SETTING("s3", "endpoint", OPTION_TEXT, remote.s3.endpoint), .arg = "URL",
     .traits = OPTION_LONG_FLAG,
     .help = "Where s3:// is; else Amazon's endpoint of the region."},
    {SETTING("s3", "region", OPTION_TEXT, remote.s3.region), .arg = "NAME",
     .value = "us-east-1", .traits = OPTION_LONG_FLAG,
     .help = "Region that requests are signed for."},
    {SETTING("s3", "addressing", OPTION_CHOICE, remote.s3.addressing), .value = "path",
     .choices = "path|virtual", .traits = OPTION_LONG_FLAG,
     .help = "Whether the bucket stands in the path or in the host's name."},
    {SETTING("s3", "access_key", OPTION_TEXT, remote.s3.access_key), .arg = "ID",
     .traits = OPTION_LONG_FLAG,
     .help = "Id of the key that requests are signed with; none: they are not signed."},
    {SETTING("s3", "secret_key", OPTION_TEXT, remote.s3.secret_key), .arg = "TEXT",
     .traits = OPTION_LONG_FLAG | OPTION_SECRET,
     .help = "The key itself; @file:PATH reads it from a file."},
    {SETTING("s3", "session_token", OPTION_TEXT, remote.s3.session_token), .arg = "TEXT",
     .traits = OPTION_LONG_FLAG | OPTION_SECRET,
     .help = "Token of a key that is lent for a while."},
    {SETTING("dead", "headers", OPTION_CHOICE, dead_headers), .value = "heddle",
     .choices = "heddle|connect", .traits = OPTION_LONG_FLAG,
     .help = "Header names of a dead letter: Heddle's, or Kafka Connect's besides."},
};
const size_t n_fleet_run_options = sizeof fleet_run_options / sizeof *fleet_run_options;

const char *const fleet_sections[] = {
    "heddle", "kafka",    "claim", "dead", "audit",  "feed",  "split",  "gate", "resolve",
    "review", "dispatch", "redis", "s3",   "schema", "table", "topics", NULL};

struct kafka_settings
fleet_kafka_settings(const struct fleet_settings *settings,
                     const struct options *options,
                     const char *client_id)
{
    struct kafka_settings kafka = {.brokers = settings->brokers, .client_id = client_id};
    kafka.properties = options_properties(options, &kafka.n_properties);
    return kafka;
}

struct registry_settings
fleet_registry_settings(const struct fleet_settings *settings)
{
    return (struct registry_settings){
        .url = settings->schema.registry,
        .http = {.username = settings->schema.username,
                 .password = settings->schema.password,
                 .ca_file = settings->schema.ca_file,
                 .cert_file = settings->schema.cert_file,
                 .key_file = settings->schema.key_file,
                 .timeout_ms = settings->schema.timeout_ms},
        .cache_dir = settings->schema.cache_dir,
        .unknown_grace_ms = settings->schema.unknown_grace_ms,
        .registers = settings->schema.registers,
    };
}

enum err_kind
fleet_check_brokers(const struct kafka_settings *kafka, struct err *err)
{
    if (kafka->brokers)
        return ERR_OK;
    for (size_t i = 0; i < kafka->n_properties; i++)
        if (strcmp(kafka->properties[i].name, "bootstrap.servers") == 0)
            return ERR_OK;
    return err_fatal(err, EXIT_CONFIG, "brokers_missing",
                     "no broker is set: start a local one with `heddle dev up`, or give "
                     "--brokers HOST:PORT, HEDDLE_BROKERS or `brokers` in [heddle]");
}
