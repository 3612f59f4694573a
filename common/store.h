/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of one partition: an ordered key-value store on disk (LMDB) that follows a
 * compacted changelog topic. The topic is the truth, the store a copy that knows up to
 * which offset it is one; a copy that is missing, damaged or of another version is thrown
 * away and made again from the topic.
 *
 * A key is a group (an input key, any bytes, any length) and a suffix of fixed length
 * that names a record of the group; the records of a group are read together, in the
 * order of their suffixes. Most groups are met once: a filter in memory knows which were
 * never seen (key_filter.h), so that these cost no look-up.
 *
 *   store_stage     a change that the record in work asks for
 *   store_keep      the record went through: its changes belong to the open batch
 *   store_drop      it did not
 *   store_changes   what the batch changed, to be produced to the changelog
 *   store_commit    the batch is committed: its changes go to the disk
 *   store_abort     it is not: they are forgotten
 *
 * Reads see what was kept. What is read stays valid until store_commit, store_abort or
 * store_index. One thread.
 */
#pragma once

#include "err.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_SUFFIX_MAX = 64 };

/* The wall clock at which a record wants to be looked at; STORE_NEVER: not at all. */
typedef int64_t store_due_fn(void *state, struct slice key_suffix, struct slice value);
#define STORE_NEVER INT64_MAX

struct store_settings {
    size_t suffix_bytes; /* at most STORE_SUFFIX_MAX */
    size_t max_bytes;    /* of the file; it grows up to that */
    size_t batch_bytes;  /* changes of a batch above which store_full() is true */
    store_due_fn *due;   /* NULL: never */
    void *due_state;
    size_t *filter_budget; /* bytes for filters, of all stores of the thread; borrowed */
};

struct store;

/*
 * Opens, or makes, the store in `folder` (made with its parents' permissions 0700).
 * ERR_FATAL "store_unusable" naming the folder and what to do.
 */
enum err_kind store_open(const char *folder,
                         const struct store_settings *settings,
                         struct store **ret_store,
                         struct err *err);
void store_close(struct store *store); /* what is not committed is forgotten */
/* Why the copy that was found had to be thrown away; NULL: it was not. Borrowed. */
const char *store_discarded(const struct store *store);
const char *store_folder(const struct store *store); /* borrowed */

/* First offset of the changelog that is not in the store; 0 for a new one. */
int64_t store_offset(const struct store *store);

/* Called for each record of a group; ERR_OK goes on. */
typedef enum err_kind store_record_fn(void *state,
                                      struct slice key_suffix,
                                      struct slice value,
                                      struct err *err);
/* Errors of `record`; ERR_FATAL "store_unusable", "store_damaged". */
enum err_kind store_scan(struct store *store,
                         struct slice group,
                         store_record_fn *record,
                         void *state,
                         struct err *err);
/* `*ret_value` is null when there is none. */
enum err_kind store_get(struct store *store,
                        struct slice key,
                        struct slice *ret_value,
                        struct err *err);

/* Copies both. A null value removes. ERR_FATAL "out_of_memory". */
enum err_kind
store_stage(struct store *store, struct slice key, struct slice value, struct err *err);
/* The same, where what settings.due would say is known. */
enum err_kind store_stage_due(struct store *store,
                              struct slice key,
                              struct slice value,
                              int64_t due_ms,
                              struct err *err);
enum err_kind store_keep(struct store *store, struct err *err);
void store_drop(struct store *store);
/* The batch has grown so large that it should be committed. */
bool store_full(const struct store *store);
/* Memory that the changes of the batch take. */
size_t store_batch_bytes(const struct store *store);
/* Whether anything was kept. */
bool store_changed(const struct store *store);

typedef enum err_kind
store_change_fn(void *state, struct slice key, struct slice value, struct err *err);
/*
 * Each key that the batch changed since it was last asked, once, with its last value
 * (null: removed).
 */
enum err_kind
store_changes(struct store *store, store_change_fn *change, void *state, struct err *err);
/*
 * `next_offset`: where the changelog goes on after these changes; -1: as it was.
 * ERR_FATAL "store_full" when the file may not grow, "store_unusable" otherwise (a full
 * disk): the changelog has the changes, the store is behind and catches up when it is
 * opened again.
 */
enum err_kind store_commit(struct store *store, int64_t next_offset, struct err *err);
/*
 * Where the records of a commit are found goes into an index of its own, by and by, and
 * until then takes memory: so many bytes. After a process died they are found again.
 */
size_t store_index_bytes(const struct store *store);
/* Puts it all into the index. Errors of store_commit(). */
enum err_kind store_index(struct store *store, struct err *err);
void store_abort(struct store *store);

/* Empties it: it follows the changelog from its start. Errors of store_commit(). */
enum err_kind store_clear(struct store *store, struct err *err);

/*
 * Calls `record` for at most `max` committed records that are due and were not changed in
 * the open batch, the longest due first.
 */
enum err_kind store_due(struct store *store,
                        int64_t now_ms,
                        size_t max,
                        store_record_fn *record,
                        void *state,
                        struct err *err);
