/* SPDX-License-Identifier: Apache-2.0 */
/* Topics as a cluster keeps them, by librdkafka's admin calls. */
#include "kafka_admin.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "kafka_client.h"

enum { REASON_BYTES = 512 };

struct kafka_admin {
    struct kafka_client client;
    rd_kafka_queue_t *queue;
    int timeout_ms;
};

struct kafka_admin *
kafka_admin_new(const struct kafka_settings *settings, int timeout_ms, struct err *err)
{
    struct kafka_admin *admin = calloc(1, sizeof *admin);
    if (!admin) {
        err_no_memory(err, "the admin client");
        return NULL;
    }
    if (kafka_client_open(&admin->client, KAFKA_PRODUCES, settings, NULL, NULL, NULL,
                          err)) {
        free(admin);
        return NULL;
    }
    admin->timeout_ms = timeout_ms;
    admin->queue = rd_kafka_queue_new(admin->client.rk);
    return admin;
}

void
kafka_admin_free(struct kafka_admin *admin)
{
    if (!admin)
        return;
    rd_kafka_queue_destroy(admin->queue);
    rd_kafka_destroy(admin->client.rk);
    free(admin);
}

static void
event_free(rd_kafka_event_t **event)
{
    if (*event)
        rd_kafka_event_destroy(*event);
}

/*
 * How one call is bounded on the broker's side; the answer is awaited a little longer.
 * What makes something waits until the brokers know it.
 */
static rd_kafka_AdminOptions_t *
call_options(const struct kafka_admin *admin, rd_kafka_admin_op_t op)
{
    char reason[REASON_BYTES];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(admin->client.rk, op);
    if (op == RD_KAFKA_ADMIN_OP_CREATETOPICS || op == RD_KAFKA_ADMIN_OP_CREATEPARTITIONS)
        rd_kafka_AdminOptions_set_operation_timeout(options, admin->timeout_ms, reason,
                                                    sizeof reason);
    rd_kafka_AdminOptions_set_request_timeout(options, admin->timeout_ms, reason,
                                              sizeof reason);
    return options;
}

enum { ANSWER_GRACE_MS = 2000 };

/* The answer to the call that was just made, the whole call's error already looked at. */
static rd_kafka_event_t *
wait_answer(struct kafka_admin *admin, const char *what, struct err *err)
{
    rd_kafka_event_t *event =
        rd_kafka_queue_poll(admin->queue, admin->timeout_ms + ANSWER_GRACE_MS);
    rd_kafka_resp_err_t answer =
        event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (!answer)
        return event;
    if (answer == RD_KAFKA_RESP_ERR__TIMED_OUT || answer == RD_KAFKA_RESP_ERR__TRANSPORT)
        err_fatal(err, EXIT_UNREACHABLE, "broker_unreachable", "%s: %s", what,
                  event ? rd_kafka_event_error_string(event) : "no answer");
    else
        kafka_error(err, answer, "admin_failed", what,
                    event ? rd_kafka_event_error_string(event) : NULL);
    event_free(&event);
    return NULL;
}

static enum err_kind
topic_result(const rd_kafka_topic_result_t *const *results,
             size_t n,
             const char *topic,
             struct err *err)
{
    rd_kafka_resp_err_t answer =
        n == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__BAD_MSG;
    /* Somebody else was faster, or the metadata that said otherwise was old. */
    if (!answer || answer == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
        return ERR_OK;
    return kafka_error(err, answer, "admin_failed", topic,
                       n == 1 ? rd_kafka_topic_result_error_string(results[0]) : NULL);
}

static enum err_kind
create(struct kafka_admin *admin,
       const char *topic,
       rd_kafka_NewTopic_t *wanted,
       struct err *err)
{
    rd_kafka_AdminOptions_t *options =
        call_options(admin, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_CreateTopics(admin->client.rk, &wanted, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    CLEANUP(event_free) rd_kafka_event_t *event = wait_answer(admin, topic, err);
    if (!event)
        return err->kind;
    size_t n = 0;
    const rd_kafka_topic_result_t **results = rd_kafka_CreateTopics_result_topics(
        rd_kafka_event_CreateTopics_result(event), &n);
    return topic_result(results, n, topic, err);
}

enum err_kind
kafka_admin_create(struct kafka_admin *admin,
                   const char *topic,
                   int32_t partitions,
                   const struct topic_setting *settings,
                   size_t n_settings,
                   struct err *err)
{
    enum { DEFAULT_REPLICATION = -1 };
    char reason[REASON_BYTES];
    rd_kafka_NewTopic_t *wanted = rd_kafka_NewTopic_new(
        topic, partitions, DEFAULT_REPLICATION, reason, sizeof reason);
    if (!wanted)
        return err_fatal(err, EXIT_CONFIG, "topic_invalid", "%s: %s", topic, reason);
    rd_kafka_resp_err_t refused = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (size_t i = 0; i < n_settings && !refused; i++)
        refused =
            rd_kafka_NewTopic_set_config(wanted, settings[i].name, settings[i].value);
    enum err_kind kind = refused ? kafka_error(err, refused, "admin_failed", topic, NULL)
                                 : create(admin, topic, wanted, err);
    rd_kafka_NewTopic_destroy(wanted);
    return kind;
}

enum err_kind
kafka_admin_grow(struct kafka_admin *admin,
                 const char *topic,
                 int32_t partitions,
                 struct err *err)
{
    char reason[REASON_BYTES];
    rd_kafka_NewPartitions_t *wanted =
        rd_kafka_NewPartitions_new(topic, (size_t)partitions, reason, sizeof reason);
    if (!wanted)
        return err_fatal(err, EXIT_CONFIG, "topic_invalid", "%s: %s", topic, reason);
    rd_kafka_AdminOptions_t *options =
        call_options(admin, RD_KAFKA_ADMIN_OP_CREATEPARTITIONS);
    rd_kafka_CreatePartitions(admin->client.rk, &wanted, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_NewPartitions_destroy(wanted);
    CLEANUP(event_free) rd_kafka_event_t *event = wait_answer(admin, topic, err);
    if (!event)
        return err->kind;
    size_t n = 0;
    const rd_kafka_topic_result_t **results = rd_kafka_CreatePartitions_result_topics(
        rd_kafka_event_CreatePartitions_result(event), &n);
    return topic_result(results, n, topic, err);
}

void
topic_configs_done(struct topic_configs *configs)
{
    for (size_t i = 0; i < configs->n; i++) {
        free(configs->items[i].name);
        free(configs->items[i].value);
    }
    free(configs->items);
    *configs = (struct topic_configs){0};
}

static enum err_kind
copy_configs(const rd_kafka_ConfigResource_t *resource,
             struct topic_configs *ret_configs,
             struct err *err)
{
    size_t n = 0;
    const rd_kafka_ConfigEntry_t **entries =
        rd_kafka_ConfigResource_configs(resource, &n);
    ret_configs->items = calloc(n ? n : 1, sizeof *ret_configs->items);
    if (!ret_configs->items)
        return err_no_memory(err, "the settings of a topic");
    for (; ret_configs->n < n; ret_configs->n++) {
        const rd_kafka_ConfigEntry_t *entry = entries[ret_configs->n];
        const char *value = rd_kafka_ConfigEntry_value(entry);
        struct topic_config *config = &ret_configs->items[ret_configs->n];
        config->name = strdup(rd_kafka_ConfigEntry_name(entry));
        config->value = value ? strdup(value) : NULL;
        config->own = rd_kafka_ConfigEntry_source(entry) ==
                      RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG;
        if (!config->name || (value && !config->value)) {
            ret_configs->n++;
            return err_no_memory(err, "the settings of a topic");
        }
    }
    return ERR_OK;
}

/* The one resource of an answer about configurations. */
static enum err_kind
one_resource(const rd_kafka_ConfigResource_t **resources,
             size_t n,
             const char *topic,
             struct err *err)
{
    rd_kafka_resp_err_t answer =
        n == 1 ? rd_kafka_ConfigResource_error(resources[0]) : RD_KAFKA_RESP_ERR__BAD_MSG;
    if (!answer)
        return ERR_OK;
    return kafka_error(err, answer, "admin_failed", topic,
                       n == 1 ? rd_kafka_ConfigResource_error_string(resources[0])
                              : NULL);
}

enum err_kind
kafka_admin_configs(struct kafka_admin *admin,
                    const char *topic,
                    struct topic_configs *ret_configs,
                    struct err *err)
{
    rd_kafka_ConfigResource_t *wanted =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    rd_kafka_AdminOptions_t *options =
        call_options(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(admin->client.rk, &wanted, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ConfigResource_destroy(wanted);
    CLEANUP(event_free) rd_kafka_event_t *event = wait_answer(admin, topic, err);
    if (!event)
        return err->kind;
    size_t n = 0;
    const rd_kafka_ConfigResource_t **resources =
        rd_kafka_DescribeConfigs_result_resources(
            rd_kafka_event_DescribeConfigs_result(event), &n);
    struct topic_configs configs = {0};
    if (one_resource(resources, n, topic, err) ||
        copy_configs(resources[0], &configs, err)) {
        topic_configs_done(&configs);
        return err->kind;
    }
    *ret_configs = configs;
    return ERR_OK;
}

static bool
is_among(const char *name, const struct topic_setting *settings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(settings[i].name, name) == 0)
            return true;
    return false;
}

enum err_kind
kafka_admin_alter(struct kafka_admin *admin,
                  const char *topic,
                  const struct topic_configs *present,
                  const struct topic_setting *settings,
                  size_t n_settings,
                  struct err *err)
{
    rd_kafka_ConfigResource_t *wanted =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    for (size_t i = 0; i < present->n; i++)
        if (present->items[i].own && present->items[i].value &&
            !is_among(present->items[i].name, settings, n_settings))
            rd_kafka_ConfigResource_set_config(wanted, present->items[i].name,
                                               present->items[i].value);
    for (size_t i = 0; i < n_settings; i++)
        rd_kafka_ConfigResource_set_config(wanted, settings[i].name, settings[i].value);
    rd_kafka_AdminOptions_t *options =
        call_options(admin, RD_KAFKA_ADMIN_OP_ALTERCONFIGS);
    rd_kafka_AlterConfigs(admin->client.rk, &wanted, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ConfigResource_destroy(wanted);
    CLEANUP(event_free) rd_kafka_event_t *event = wait_answer(admin, topic, err);
    if (!event)
        return err->kind;
    size_t n = 0;
    const rd_kafka_ConfigResource_t **resources = rd_kafka_AlterConfigs_result_resources(
        rd_kafka_event_AlterConfigs_result(event), &n);
    return one_resource(resources, n, topic, err);
}
