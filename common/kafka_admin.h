/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topics as a cluster keeps them: make, grow, read and change their settings. Never to be
 * called on the embedded broker, whose admin answers do not come.
 */
#pragma once

#include "err.h"
#include "kafka.h"
#include "topics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kafka_admin;

/* A setting as the cluster has it. */
struct topic_config {
    char *name;
    char *value; /* NULL: kept secret by the broker */
    bool own;    /* set on the topic itself, not a default of the broker */
};

struct topic_configs {
    struct topic_config *items;
    size_t n;
};

/* `settings` is borrowed for the client's life. ERR_FATAL EXIT_CONFIG. */
struct kafka_admin *
kafka_admin_new(const struct kafka_settings *settings, int timeout_ms, struct err *err);
void kafka_admin_free(struct kafka_admin *admin);

/* Makes the topic with the cluster's default replication; one that is there already is
 * left as it is. Errors by the table of kafka.h. */
enum err_kind kafka_admin_create(struct kafka_admin *admin,
                                 const char *topic,
                                 int32_t partitions,
                                 const struct topic_setting *settings,
                                 size_t n_settings,
                                 struct err *err);
/* Raises the number of partitions to `partitions`. */
enum err_kind kafka_admin_grow(struct kafka_admin *admin,
                               const char *topic,
                               int32_t partitions,
                               struct err *err);
/* Every setting of the topic. */
enum err_kind kafka_admin_configs(struct kafka_admin *admin,
                                  const char *topic,
                                  struct topic_configs *ret_configs,
                                  struct err *err);
void topic_configs_done(struct topic_configs *configs);
/* The value of a setting; NULL when the cluster does not know it. Borrowed. */
static inline const char *
topic_configs_get(const struct topic_configs *configs, const char *name)
{
    for (size_t i = 0; i < configs->n; i++)
        if (strcmp(configs->items[i].name, name) == 0)
            return configs->items[i].value;
    return NULL;
}
/*
 * Sets `settings` and keeps what else the topic itself has: the request replaces them
 * all, so those in `present` are sent along.
 */
enum err_kind kafka_admin_alter(struct kafka_admin *admin,
                                const char *topic,
                                const struct topic_configs *present,
                                const struct topic_setting *settings,
                                size_t n_settings,
                                struct err *err);
