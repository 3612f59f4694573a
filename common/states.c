/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a worker, partition by partition. */
#include "states.h"

#include <stdio.h>
#include <stdlib.h>

#include "changelog.h"
#include "clock.h"
#include "log.h"
#include "watchdog.h"

enum {
    RESTORE_TIMEOUT_MS = 240000, /* below max.poll.interval.ms, which is 300 s */
    TELL_EVERY_MS = 5000,
    UNREACHABLE_WAIT_MS = 1000,
    TICK_MS = 500,
    DUE_AT_ONCE = 256,    /* records of one partition in one tick */
    DUE_AGAIN_MS = 60000, /* after a failure */
};

/* Quarters of the memory, over all stores: their filters, entries that wait for an index,
 * and the open batch. */
enum { QUARTERS = 4, FILTERS_SHARE = 1, INDEX_SHARE = 1, BATCH_SHARE = 2 };

struct part_state {
    int32_t partition;
    struct store *store;
    int64_t due_again_ms; /* monotonic; after a failure */
};

struct states {
    struct states_settings settings;
    void *worker_state;
    struct part_state *parts;
    size_t n_parts;
    size_t filter_budget; /* of the stores, what is left of it */
    int64_t tick_ms;
};

static size_t
share(const struct states *states, int quarters)
{
    return (size_t)(states->settings.max_memory / QUARTERS * quarters);
}

struct states *
states_new(const struct states_settings *settings, struct err *err)
{
    struct states *states = calloc(1, sizeof *states);
    if (!states) {
        err_no_memory(err, "the state of a worker");
        return NULL;
    }
    states->settings = *settings;
    states->filter_budget = share(states, FILTERS_SHARE);
    return states;
}

void
states_free(struct states *states)
{
    if (!states)
        return;
    for (size_t i = 0; i < states->n_parts; i++)
        store_close(states->parts[i].store);
    free(states->parts);
    free(states);
}

void
states_set_worker(struct states *states, void *worker_state)
{
    states->worker_state = worker_state;
}

static const struct worker_state *
kind_of(const struct states *states)
{
    return states->settings.worker->state;
}

static struct part_state *
find_part(const struct states *states, int32_t partition)
{
    for (size_t i = 0; i < states->n_parts; i++)
        if (states->parts[i].partition == partition)
            return &states->parts[i];
    return NULL;
}

struct store *
states_find(struct states *states, int32_t partition)
{
    struct part_state *part = find_part(states, partition);
    return part ? part->store : NULL;
}

/* --- bringing a store up to date ------------------------------------------------------
 */

struct restore {
    struct states *states;
    struct store *store;
    int32_t partition;
    int64_t told_ms;
    uint64_t records;
};

static enum err_kind
settle(struct restore *restore, int64_t next, struct err *err)
{
    struct store *store = restore->store;
    if (store_commit(store, next, err))
        return err->kind;
    return store_index_bytes(store) > share(restore->states, INDEX_SHARE)
               ? store_index(store, err)
               : ERR_OK;
}

static enum err_kind
apply(void *state, const struct message *in, struct err *err)
{
    struct restore *restore = state;
    if (in->key.len < kind_of(restore->states)->suffix_bytes)
        return ERR_OK; /* none of ours */
    restore->records++;
    if (store_stage(restore->store, in->key, in->value, err) ||
        store_keep(restore->store, err))
        return err->kind;
    return store_full(restore->store) ? settle(restore, in->offset + 1, err) : ERR_OK;
}

static bool
tell(void *state, int64_t next, int64_t end)
{
    struct restore *restore = state;
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - restore->told_ms >= TELL_EVERY_MS) {
        restore->told_ms = now_ms;
        log_event(LOG_INFO, "reading the state of a partition from its changelog",
                  LOG_FIELDS(LOG_STR("topic", kind_of(restore->states)->topic),
                             LOG_INTEGER("partition", restore->partition),
                             LOG_INTEGER("offset", next), LOG_INTEGER("end", end)));
    }
    return !watchdog_stopping();
}

static enum err_kind
read_changelog(struct restore *restore, int64_t *ret_next, struct err *err)
{
    const struct states *states = restore->states;
    const struct changelog_reading reading = {
        .topic = kind_of(states)->topic,
        .partition = restore->partition,
        .from = store_offset(restore->store),
        .timeout_ms = RESTORE_TIMEOUT_MS,
        .record = apply,
        .waiting = tell,
        .state = restore,
    };
    int64_t give_up_ms = clock_monotonic_ms() + RESTORE_TIMEOUT_MS;
    for (;;) {
        enum err_kind kind =
            changelog_read(states->settings.kafka, &reading, ret_next, err);
        bool passing = kind == ERR_FATAL && err_exit_code(err) == EXIT_UNREACHABLE &&
                       clock_monotonic_ms() < give_up_ms && !watchdog_stopping();
        if (!passing)
            return kind;
        store_abort(restore->store);
        watchdog_wait(UNREACHABLE_WAIT_MS);
    }
}

static enum err_kind
bring_up(struct restore *restore, struct err *err)
{
    int64_t next = 0;
    int64_t since_ms = clock_monotonic_ms();
    int64_t from = store_offset(restore->store);
    enum err_kind kind = read_changelog(restore, &next, err);
    if (kind == ERR_RECORD && from > 0) { /* the topic was made anew */
        log_err(LOG_WARNING, err);
        if (store_clear(restore->store, err))
            return err->kind;
        kind = read_changelog(restore, &next, err);
    }
    if (kind)
        return kind;
    if (settle(restore, next, err))
        return err->kind;
    log_event(LOG_INFO, "state is up to date",
              LOG_FIELDS(LOG_STR("topic", kind_of(restore->states)->topic),
                         LOG_INTEGER("partition", restore->partition),
                         LOG_INTEGER("from", from), LOG_INTEGER("next", next),
                         LOG_INTEGER("records", restore->records),
                         LOG_INTEGER("ms", clock_monotonic_ms() - since_ms)));
    return ERR_OK;
}

static enum err_kind
open_store(struct states *states,
           int32_t partition,
           struct store **ret_store,
           struct err *err)
{
    char *folder = NULL;
    const struct store_settings settings = {
        .suffix_bytes = kind_of(states)->suffix_bytes,
        .max_bytes = (size_t)states->settings.max_bytes,
        .batch_bytes = share(states, BATCH_SHARE),
        .due = kind_of(states)->due,
        .due_state = states->worker_state,
        .filter_budget = &states->filter_budget,
    };
    if (asprintf(&folder, "%s/%s-%d", states->settings.folder,
                 states->settings.worker->input, (int)partition) < 0)
        return err_no_memory(err, "the path of a store");
    enum err_kind kind = store_open(folder, &settings, ret_store, err);
    free(folder);
    if (!kind && store_discarded(*ret_store))
        log_event(LOG_WARNING, "a store was thrown away, its changelog is read again",
                  LOG_FIELDS(LOG_STR("folder", store_folder(*ret_store)),
                             LOG_STR("why", store_discarded(*ret_store))));
    return kind;
}

enum err_kind
states_take(struct states *states, int32_t partition, struct err *err)
{
    struct part_state *parts =
        realloc(states->parts, (states->n_parts + 1) * sizeof *parts);
    if (!parts)
        return err_no_memory(err, "the state of a partition");
    states->parts = parts;
    if (find_part(states, partition))
        return ERR_OK;
    struct restore restore = {
        .states = states, .partition = partition, .told_ms = clock_monotonic_ms()};
    if (open_store(states, partition, &restore.store, err))
        return err->kind;
    enum err_kind kind = bring_up(&restore, err);
    if (kind) {
        store_close(restore.store);
        return kind;
    }
    parts[states->n_parts++] = (struct part_state){partition, restore.store, 0};
    return ERR_OK;
}

void
states_release(struct states *states, int32_t partition)
{
    struct part_state *part = find_part(states, partition);
    if (!part)
        return;
    store_close(part->store);
    *part = states->parts[--states->n_parts];
}

/* --- the open batch -------------------------------------------------------------------
 */

enum err_kind
states_keep(struct states *states, int32_t partition, struct err *err)
{
    struct part_state *part = find_part(states, partition);
    return part ? store_keep(part->store, err) : ERR_OK;
}

void
states_drop(struct states *states, int32_t partition)
{
    struct part_state *part = find_part(states, partition);
    if (part)
        store_drop(part->store);
}

bool
states_full(const struct states *states)
{
    size_t bytes = 0;
    for (size_t i = 0; i < states->n_parts; i++)
        bytes += store_batch_bytes(states->parts[i].store);
    return bytes >= share(states, BATCH_SHARE);
}

bool
states_changed(const struct states *states)
{
    for (size_t i = 0; i < states->n_parts; i++)
        if (store_changed(states->parts[i].store))
            return true;
    return false;
}

struct producing {
    const char *topic;
    int32_t partition;
    int64_t now_ms;
    states_send_fn *send;
    void *state;
};

static enum err_kind
produce_change(void *state, struct slice key, struct slice value, struct err *err)
{
    const struct producing *producing = state;
    const struct outgoing record = {
        .topic = producing->topic,
        .key = key,
        .value = value,
        .timestamp_ms = producing->now_ms,
        .placed = true,
        .partition = producing->partition,
    };
    return producing->send(producing->state, &record, err);
}

enum err_kind
states_produce(struct states *states, states_send_fn *send, void *state, struct err *err)
{
    for (size_t i = 0; i < states->n_parts; i++) {
        struct producing producing = {kind_of(states)->topic, states->parts[i].partition,
                                      clock_now_ms(), send, state};
        if (store_changes(states->parts[i].store, produce_change, &producing, err))
            return err->kind;
    }
    return ERR_OK;
}

/* The store with the most entries to come, and the bytes of all. */
static struct store *
most_unindexed(const struct states *states, size_t *ret_bytes)
{
    struct store *most = NULL;
    *ret_bytes = 0;
    for (size_t i = 0; i < states->n_parts; i++) {
        struct store *store = states->parts[i].store;
        *ret_bytes += store_index_bytes(store);
        if (!most || store_index_bytes(store) > store_index_bytes(most))
            most = store;
    }
    return most;
}

static enum err_kind
index_what_is_too_much(const struct states *states, struct err *err)
{
    for (size_t i = 0; i < states->n_parts; i++) {
        size_t bytes = 0;
        struct store *most = most_unindexed(states, &bytes);
        if (bytes <= share(states, INDEX_SHARE))
            return ERR_OK;
        if (store_index(most, err))
            return err->kind;
    }
    return ERR_OK;
}

enum err_kind
states_commit(struct states *states, const struct producer *producer, struct err *err)
{
    for (size_t i = 0; i < states->n_parts; i++) {
        struct part_state *part = &states->parts[i];
        int64_t next = producer_acknowledged(producer, part->partition);
        bool behind = !store_changed(part->store) || next <= store_offset(part->store);
        if (store_commit(part->store, behind ? -1 : next, err))
            return err->kind;
    }
    return index_what_is_too_much(states, err);
}

void
states_abort(struct states *states)
{
    for (size_t i = 0; i < states->n_parts; i++)
        store_abort(states->parts[i].store);
}

/* --- what is due ----------------------------------------------------------------------
 */

struct ticking {
    struct states *states;
    struct part_state *part;
    struct arena *arena;
    states_emit_fn *emit;
    void *state;
    size_t n;
};

static enum err_kind
put_off(struct ticking *ticking, const struct err *why)
{
    store_drop(ticking->part->store);
    log_err(LOG_WARNING, why);
    ticking->part->due_again_ms = clock_monotonic_ms() + DUE_AGAIN_MS;
    return ERR_OK;
}

static enum err_kind
on_due(void *state, struct slice key_suffix, struct slice value, struct err *err)
{
    struct ticking *ticking = state;
    struct states *states = ticking->states;
    struct emits out = {.arena = ticking->arena};
    (void)key_suffix;
    if (clock_monotonic_ms() < ticking->part->due_again_ms)
        return ERR_OK;
    arena_reset(ticking->arena);
    ticking->n++;
    enum err_kind kind = kind_of(states)->on_due(states->worker_state,
                                                 ticking->part->store, value, &out, err);
    if (kind == ERR_FATAL)
        return kind;
    if (kind)
        return put_off(ticking, err);
    kind = ticking->emit(ticking->state, &out, err);
    if (kind == ERR_RECORD)
        return put_off(ticking, err);
    return kind ? kind : store_keep(ticking->part->store, err);
}

enum err_kind
states_tick(struct states *states,
            struct arena *arena,
            states_emit_fn *emit,
            void *state,
            struct err *err)
{
    int64_t now_ms = clock_monotonic_ms();
    bool more = false;
    if (now_ms - states->tick_ms < TICK_MS)
        return ERR_OK;
    for (size_t i = 0; i < states->n_parts; i++) {
        struct ticking ticking = {states, &states->parts[i], arena, emit, state, 0};
        if (now_ms < ticking.part->due_again_ms)
            continue;
        if (store_due(ticking.part->store, clock_now_ms(), DUE_AT_ONCE, on_due, &ticking,
                      err))
            return err->kind;
        more |= ticking.n == DUE_AT_ONCE;
    }
    states->tick_ms = more ? 0 : now_ms;
    return ERR_OK;
}
