/* SPDX-License-Identifier: Apache-2.0 */
/* The table of topics beside what a cluster has. Pure. */
#pragma once

#include "buf.h"
#include "kafka.h"
#include "kafka_admin.h"
#include "options.h"
#include "topics.h"

#include <stdbool.h>

/* What the operator wants otherwise than ops/topics.tsv. */
struct topics_wish {
    int64_t retention_ms;          /* -1: for ever */
    struct option_list partitions; /* "heddle.tunings=16" */
};

/* What has to be done about one topic. */
enum topic_change {
    TOPIC_FITS,
    TOPIC_MISSING,   /* make it */
    TOPIC_TOO_FEW,   /* grow it, set it */
    TOPIC_DIFFERS,   /* set it */
    TOPIC_TOO_MANY,  /* partitions can't be taken away: a person decides */
    TOPIC_HAS_ERROR, /* the cluster reports one */
};

/* ERR_FATAL EXIT_CONFIG for a wish that names no topic of ours or no number. */
enum err_kind topics_wish_check(const struct topics_wish *wish, struct err *err);
/*
 * Partitions that `topic` should have: as wished, else as in the table. The state of a
 * worker has as many as its input, because a part lies where its event lies.
 */
int32_t topics_wanted_partitions(const struct topics_wish *wish,
                                 const struct topic *topic);

/*
 * Compares one topic. `info` NULL: it is not there; `configs` NULL: its settings are
 * unknown (the embedded broker) and count as fitting. Appends a line when it does not
 * fit: "+" missing, "~" different, "!" nothing that apply can mend.
 */
enum topic_change topics_compare(const struct topic *topic,
                                 const struct topics_wish *wish,
                                 bool mock,
                                 const struct topic_info *info,
                                 const struct topic_configs *configs,
                                 struct buf *out);
/* The topic's entry in the metadata; NULL when it is not there. */
const struct topic_info *topics_find(const struct cluster_info *cluster,
                                     const char *name);
/* A heading with the cluster's id and brokers. */
void topics_heading(const struct cluster_info *cluster, struct buf *out);
/* One line of `describe`: partitions and settings as they are and should be. */
void topics_describe_one(const struct topic *topic,
                         const struct topics_wish *wish,
                         bool mock,
                         const struct topic_info *info,
                         const struct topic_configs *configs,
                         struct buf *out);
