/* SPDX-License-Identifier: Apache-2.0 */
/* What feed remembers of each folder and kind. */
#include "feed_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "config.h"
#include "sent.h"

enum {
    COMMIT_EVERY_MS = 1000, /* a crash repeats what was delivered since */
    COMMIT_ENTRIES = 2048,
};

CLEANUP_DEFINE(struct topic_reader, topic_reader_free);

static enum err_kind
count_topic(struct feed *feed, enum feed_kind kind, struct err *err)
{
    CLEANUP(topic_reader_freep)
    struct topic_reader *reader = topic_reader_new(
        &feed->kafka, feed_topic(kind), TOPIC_FROM_END, FEED_BROKER_TIMEOUT_MS, err);
    if (!reader)
        return err->kind;
    size_t n;
    const struct partition_range *ranges = topic_reader_ranges(reader, &n);
    for (size_t i = 0; i < n; i++)
        feed->topic_end[kind] += (uint64_t)ranges[i].end;
    return ERR_OK;
}

enum err_kind
feed_count_topics(struct feed *feed, struct err *err)
{
    for (enum feed_kind kind = 0; kind < FEED_KINDS; kind++)
        if (feed->has_topic[kind] && count_topic(feed, kind, err))
            return err->kind;
    return ERR_OK;
}

/* A memory of more events than the topic has ever seen is of a topic that is gone. */
static enum err_kind
check_memory(struct feed *feed, enum feed_kind kind, struct sent *sent, struct err *err)
{
    if (sent_delivered(sent) <= feed->topic_end[kind])
        return ERR_OK;
    progress_clear(&feed->report.progress);
    fprintf(stderr, "%s: %s was made anew since %s was fed; everything is sent again\n",
            feed->report.program, feed_topic(kind), feed->root->path);
    return sent_forget(sent, err);
}

static void
freep(char **text)
{
    free(*text);
}

/* LMDB opens a file once a process, so a memory stays open. */
enum err_kind
feed_open_memory(struct feed *feed,
                 enum feed_kind kind,
                 struct sent **ret_sent,
                 struct err *err)
{
    struct sent **sent = &feed->root->sent[kind];
    *ret_sent = *sent;
    if (*sent)
        return ERR_OK;
    CLEANUP(freep)
    char *folder =
        config_state_dir(feed->call->fleet.state_dir,
                         kind == FEED_RUNS ? "feed" : "feed/traces", true, err);
    if (!folder)
        return err->kind;
    *sent = sent_open(folder, feed->cluster_id, feed->root->path, err);
    if (!*sent)
        return err->kind;
    *ret_sent = *sent;
    return check_memory(feed, kind, *sent, err);
}

static struct feed_root *
find_root(struct feed *feed, const char *path)
{
    for (size_t i = 0; i < feed->n_roots; i++)
        if (strcmp(feed->roots[i].path, path) == 0)
            return &feed->roots[i];
    return NULL;
}

enum err_kind
feed_open_root(struct feed *feed,
               char *path,
               struct feed_root **ret_root,
               struct err *err)
{
    struct sent *runs;
    struct feed_root *root = find_root(feed, path);
    if (root) {
        free(path);
    } else {
        root = &feed->roots[feed->n_roots++];
        root->path = path;
    }
    *ret_root = feed->root = root;
    return feed_open_memory(feed, FEED_RUNS, &runs, err);
}

enum err_kind
feed_commit(struct feed *feed, struct err *err)
{
    feed->commit_ms = clock_monotonic_ms();
    for (size_t i = 0; i < feed->n_roots; i++)
        for (int kind = 0; kind < FEED_KINDS; kind++)
            if (feed->roots[i].sent[kind] && sent_commit(feed->roots[i].sent[kind], err))
                return err->kind;
    return ERR_OK;
}

enum err_kind
feed_commit_when_due(struct feed *feed, struct err *err)
{
    size_t pending = 0;
    for (size_t i = 0; i < feed->n_roots; i++)
        for (int kind = 0; kind < FEED_KINDS; kind++)
            if (feed->roots[i].sent[kind])
                pending += sent_pending(feed->roots[i].sent[kind]);
    if (pending < COMMIT_ENTRIES &&
        clock_monotonic_ms() - feed->commit_ms < COMMIT_EVERY_MS)
        return ERR_OK;
    return feed_commit(feed, err);
}

void
feed_memory_done(struct feed *feed)
{
    for (size_t i = 0; i < feed->n_roots; i++) {
        for (int kind = 0; kind < FEED_KINDS; kind++)
            sent_free(feed->roots[i].sent[kind]);
        free(feed->roots[i].path);
    }
    free(feed->roots);
}
