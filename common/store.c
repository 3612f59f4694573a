/* SPDX-License-Identifier: Apache-2.0 */
/* State of one partition: the changes of the open batch in memory, above the disk
 * (store_disk.c). */
#include "store_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A batch may pass batch_bytes by what one record asks for, which is an arena full. */
#define BATCH_SLACK_BYTES (2 * ARENA_MAX_BYTES)

/* What a store keeps of a batch's memory for the next: there may be many stores. */
enum { KEEP_SHARE = 32 };

/* --- keys ----------------------------------------------------------------------------
 */

/* A group may be of any length, a key of LMDB may not. */
static void
digest_group(struct store *store, struct slice group, uint8_t ret[DIGEST_BYTES])
{
    struct known_group *known = &store->group;
    if (known->len == group.len && group.len &&
        memcmp(known->name, group.data, group.len) == 0) {
        memcpy(ret, known->digest, DIGEST_BYTES);
        return;
    }
    digest_sha256(group, ret);
    if (group.len == 0 || group.len > STORE_GROUP_BYTES)
        return;
    memcpy(known->name, group.data, group.len);
    memcpy(known->digest, ret, DIGEST_BYTES);
    known->len = group.len;
}

static void
make_key(struct store *store, struct slice name, uint8_t ret[STORE_KEY_MAX])
{
    size_t suffix = store->settings.suffix_bytes;
    struct slice group = {name.data, name.len - suffix};
    digest_group(store, group, ret);
    memcpy(ret + DIGEST_BYTES, name.data + group.len, suffix);
}

static struct slice
suffix_of(const struct store *store, const void *key)
{
    return (struct slice){(const char *)key + DIGEST_BYTES, store->settings.suffix_bytes};
}

/* --- the open batch: a skip list ------------------------------------------------------
 */

static void
batch_new(struct store *store)
{
    arena_reset_keeping(&store->arena, store->settings.batch_bytes / KEEP_SHARE);
    store_drop(store);
    memset(&store->head, 0, sizeof store->head);
    store->untold = NULL;
    store->last_untold = &store->untold;
}

static bool
is_before(const struct node *node, uint64_t prefix, const uint8_t *key, size_t len)
{
    if (node->prefix != prefix)
        return node->prefix < prefix;
    return memcmp(node->key, key, len) < 0;
}

/* The first node not before the key; on the way, what leads to it on each level. */
static struct node *
find_node(struct store *store,
          const uint8_t *key,
          size_t len,
          struct node *ret_before[STORE_LEVELS])
{
    struct node *at = &store->head;
    uint64_t prefix = unindexed_prefix(key);
    for (int level = STORE_LEVELS - 1; level >= 0; level--) {
        while (at->next[level] && is_before(at->next[level], prefix, key, len))
            at = at->next[level];
        ret_before[level] = at;
    }
    return at->next[0];
}

static struct node *
node_of(struct store *store, const uint8_t *key)
{
    struct node *before[STORE_LEVELS];
    struct node *node = find_node(store, key, store_key_bytes(store), before);
    return node && memcmp(node->key, key, store_key_bytes(store)) == 0 ? node : NULL;
}

/* Each level has a quarter of the one below; xorshift is random enough for that. */
static int
random_levels(struct store *store)
{
    int levels = 1;
    store->random ^= store->random << 13;
    store->random ^= store->random >> 7;
    store->random ^= store->random << 17;
    for (uint64_t bits = store->random; levels < STORE_LEVELS && (bits & 3) == 0;
         bits >>= 2)
        levels++;
    return levels;
}

static bool
is_mate(const struct store *store, const struct node *node, const uint8_t *key)
{
    return node && node != &store->head && memcmp(node->key, key, DIGEST_BYTES) == 0;
}

/* What is known of a new node's group, from its neighbours in the batch or from below. */
static void
look_below(struct store *store,
           const struct node *before,
           const struct node *behind,
           struct node *node)
{
    const struct node *mate = is_mate(store, before, node->key)   ? before
                              : is_mate(store, behind, node->key) ? behind
                                                                  : NULL;
    if (mate) {
        node->unseen = mate->unseen;
        node->fresh = mate->fresh;
        return;
    }
    node->unseen = !key_filter_add(&store->filter, node->key);
    const struct unindexed_key *waits =
        node->unseen ? NULL : store_unindexed_mate(store, node->key);
    node->fresh = node->unseen || (waits && waits->fresh);
}

static struct node *
add_node(struct store *store, const uint8_t *key, struct node *const *before)
{
    struct node *node = arena_calloc(&store->arena, 1, sizeof *node);
    if (!node)
        return NULL;
    memcpy(node->key, key, store_key_bytes(store));
    node->prefix = unindexed_prefix(key);
    node->told = true; /* there is nothing yet */
    look_below(store, before[0], before[0]->next[0], node);
    int levels = random_levels(store);
    for (int level = 0; level < levels; level++) {
        node->next[level] = before[level]->next[level];
        before[level]->next[level] = node;
    }
    return node;
}

static enum err_kind
put_node(struct store *store, const struct staged *staged, struct err *err)
{
    uint8_t key[STORE_KEY_MAX];
    struct node *before[STORE_LEVELS];
    make_key(store, staged->name, key);
    struct node *node = find_node(store, key, store_key_bytes(store), before);
    if (!node || memcmp(node->key, key, store_key_bytes(store)) != 0)
        node = add_node(store, key, before);
    if (!node)
        return err_no_memory(err, "a change of the state");
    node->name = staged->name;
    node->value = staged->value;
    node->due_ms = staged->due_ms;
    if (!node->told)
        return ERR_OK;
    node->told = false;
    node->next_untold = NULL;
    *store->last_untold = node;
    store->last_untold = &node->next_untold;
    return ERR_OK;
}

enum err_kind
store_stage(struct store *store, struct slice key, struct slice value, struct err *err)
{
    const struct store_settings *settings = &store->settings;
    int64_t due_ms = STORE_NEVER;
    if (value.data && settings->due && key.len >= settings->suffix_bytes) {
        size_t group = key.len - settings->suffix_bytes;
        struct slice suffix = {key.data + group, settings->suffix_bytes};
        due_ms = settings->due(settings->due_state, suffix, value);
    }
    return store_stage_due(store, key, value, due_ms, err);
}

enum err_kind
store_stage_due(struct store *store,
                struct slice key,
                struct slice value,
                int64_t due_ms,
                struct err *err)
{
    struct staged *staged = arena_calloc(&store->arena, 1, sizeof *staged);
    if (!staged)
        return err_no_memory(err, "a change of the state");
    if (key.len < store->settings.suffix_bytes)
        return err_fatal(err, EXIT_INTERNAL, "store_key", "a key of the state is short");
    staged->due_ms = due_ms;
    staged->name = arena_copy(&store->arena, key);
    if (value.data)
        staged->value = arena_copy(&store->arena, value);
    if (!staged->name.data || (value.data && !staged->value.data))
        return err_no_memory(err, "a change of the state");
    *store->last = staged;
    store->last = &staged->next;
    return ERR_OK;
}

enum err_kind
store_keep(struct store *store, struct err *err)
{
    for (const struct staged *staged = store->first; staged; staged = staged->next)
        if (put_node(store, staged, err))
            return err->kind;
    store_drop(store);
    return ERR_OK;
}

void
store_drop(struct store *store)
{
    store->first = NULL;
    store->last = &store->first;
}

bool
store_full(const struct store *store)
{
    return store->arena.taken >= store->settings.batch_bytes;
}

size_t
store_batch_bytes(const struct store *store)
{
    return store->arena.taken;
}

bool
store_changed(const struct store *store)
{
    return store->head.next[0] != NULL;
}

enum err_kind
store_changes(struct store *store, store_change_fn *change, void *state, struct err *err)
{
    for (struct node *node = store->untold; node; node = store->untold) {
        if (change(state, node->name, node->value, err))
            return err->kind;
        node->told = true;
        store->untold = node->next_untold;
    }
    store->last_untold = &store->untold;
    return ERR_OK;
}

/* --- reading --- */

enum err_kind
store_get(struct store *store, struct slice key, struct slice *ret_value, struct err *err)
{
    uint8_t bytes[STORE_KEY_MAX];
    struct number number;
    struct record record;
    *ret_value = (struct slice){NULL, 0};
    if (key.len < store->settings.suffix_bytes)
        return ERR_OK;
    make_key(store, key, bytes);
    if (!key_filter_has(&store->filter, bytes))
        return ERR_OK;
    const struct node *node = node_of(store, bytes);
    if (node) {
        *ret_value = node->value;
        return ERR_OK;
    }
    int code = store_begin_reading(store);
    if (code == 0)
        code = store_find_record(store, store->reader, bytes, &number, &record);
    if (code == MDB_NOTFOUND)
        return ERR_OK;
    if (code)
        return store_unusable(store, code, err);
    *ret_value = record.value;
    return ERR_OK;
}

/* The ordered streams of one group: by the index, by what it does not have yet, and above
 * both the open batch. */
struct merge {
    struct store *store;
    const uint8_t *group;
    MDB_cursor *cursor; /* of the index; NULL: it has nothing of the group */
    const uint8_t *indexed;
    struct number number; /* of that */
    size_t entry;
    const struct unindexed_key *unindexed;
    const struct node *node;
};

static int
step_index(struct merge *merge, MDB_cursor_op op)
{
    MDB_val key = {DIGEST_BYTES, (void *)(uintptr_t)merge->group};
    MDB_val found;
    int code = mdb_cursor_get(merge->cursor, &key, &found, op);
    merge->indexed = NULL;
    if (code)
        return code == MDB_NOTFOUND ? 0 : code;
    if (key.mv_size != store_key_bytes(merge->store))
        return MDB_CORRUPTED;
    if (memcmp(key.mv_data, merge->group, DIGEST_BYTES) != 0)
        return 0;
    merge->indexed = key.mv_data;
    return store_take_number(&found, &merge->number);
}

static int
open_index(struct merge *merge)
{
    struct store *store = merge->store;
    if (merge->unindexed && merge->unindexed->fresh)
        return 0;
    int code = mdb_cursor_open(store->reader, store->index, &merge->cursor);
    return code ? code : step_index(merge, MDB_SET_RANGE);
}

static const struct node *
of_group(const struct merge *merge, const struct node *node)
{
    return node && memcmp(node->key, merge->group, DIGEST_BYTES) == 0 ? node : NULL;
}

static void
take_unindexed(struct merge *merge, size_t entry)
{
    merge->entry = entry;
    merge->unindexed =
        unindexed_at(&merge->store->unindexed, entry, merge->group, DIGEST_BYTES);
}

/* The first key, and which of the streams have it; the upper ones hide the lower. */
struct front {
    const uint8_t *key;
    bool indexed, unindexed, open;
};

static struct front
front_of(const struct merge *merge)
{
    size_t len = store_key_bytes(merge->store);
    const uint8_t *unindexed = merge->unindexed ? merge->unindexed->key : NULL;
    const uint8_t *open = merge->node ? merge->node->key : NULL;
    const uint8_t *first = merge->indexed;
    if (!first || (unindexed && memcmp(unindexed, first, len) < 0))
        first = unindexed;
    if (!first || (open && memcmp(open, first, len) < 0))
        first = open;
    return (struct front){
        .key = first,
        .indexed = merge->indexed && memcmp(merge->indexed, first, len) == 0,
        .unindexed = unindexed && memcmp(unindexed, first, len) == 0,
        .open = open && memcmp(open, first, len) == 0,
    };
}

/* `ret->value` is null when there is none. */
static int
read_front(const struct merge *merge, const struct front *front, struct record *ret)
{
    const struct store *store = merge->store;
    *ret = (struct record){.key = front->key};
    if (front->open) {
        ret->value = merge->node->value;
        return 0;
    }
    struct number number = merge->number;
    if (front->unindexed) {
        number = store_number_of(merge->unindexed->number);
        if (merge->unindexed->number == UNINDEXED_REMOVED)
            return 0;
    }
    int code = store_read_record(store, store->reader, number, front->key, ret);
    if (code == MDB_NOTFOUND)
        ret->value = (struct slice){NULL, 0};
    return code == MDB_NOTFOUND ? 0 : code;
}

static int
step(struct merge *merge, const struct front *front)
{
    if (front->open)
        merge->node = of_group(merge, merge->node->next[0]);
    if (front->unindexed)
        take_unindexed(merge, merge->entry + 1);
    return front->indexed ? step_index(merge, MDB_NEXT) : 0;
}

static enum err_kind
give_merged(struct merge *merge,
            store_record_fn *record,
            void *state,
            int *ret_code,
            struct err *err)
{
    struct record found;
    for (;;) {
        const struct front front = front_of(merge);
        if (!front.key)
            return ERR_OK;
        if ((*ret_code = read_front(merge, &front, &found)) != 0)
            return ERR_OK;
        if (found.value.data &&
            record(state, suffix_of(merge->store, front.key), found.value, err))
            return err->kind;
        if ((*ret_code = step(merge, &front)) != 0)
            return ERR_OK;
    }
}

enum err_kind
store_scan(struct store *store,
           struct slice group,
           store_record_fn *record,
           void *state,
           struct err *err)
{
    uint8_t digest[DIGEST_BYTES];
    struct node *before[STORE_LEVELS];
    enum err_kind kind = ERR_OK;
    digest_group(store, group, digest);
    if (!key_filter_has(&store->filter, digest))
        return ERR_OK;
    struct merge merge = {.store = store, .group = digest};
    merge.node = of_group(&merge, find_node(store, digest, DIGEST_BYTES, before));
    take_unindexed(&merge, unindexed_find(&store->unindexed, digest, DIGEST_BYTES));
    int code = store_begin_reading(store);
    if (code == 0)
        code = open_index(&merge);
    if (code == 0)
        kind = give_merged(&merge, record, state, &code, err);
    if (merge.cursor)
        mdb_cursor_close(merge.cursor);
    return code ? store_unusable(store, code, err) : kind;
}

enum err_kind
store_due(struct store *store,
          int64_t now_ms,
          size_t max,
          store_record_fn *record,
          void *state,
          struct err *err)
{
    MDB_cursor *cursor = NULL;
    struct record found;
    enum err_kind kind = ERR_OK;
    int code = store_begin_reading(store);
    if (code == 0)
        code = mdb_cursor_open(store->reader, store->due, &cursor);
    for (size_t n = 0; code == 0 && kind == ERR_OK && n < max;) {
        code = store_next_due(store, cursor, now_ms, &found);
        if (code || node_of(store, found.key))
            continue;
        kind = record(state, suffix_of(store, found.key), found.value, err);
        n++;
    }
    if (cursor)
        mdb_cursor_close(cursor);
    if (code && code != MDB_NOTFOUND)
        return store_unusable(store, code, err);
    return kind;
}

/* --- writing ------------------------------------------------------------------------ */

enum err_kind
store_commit(struct store *store, int64_t next_offset, struct err *err)
{
    int64_t offset = next_offset < 0 ? store->offset : next_offset;
    store_end_reading(store);
    int code = 0;
    if (store_changed(store) || offset != store->offset)
        code = store_disk_write(store, offset);
    if (code)
        return store_unusable(store, code, err);
    store_abort(store);
    return ERR_OK;
}

size_t
store_index_bytes(const struct store *store)
{
    return unindexed_bytes(&store->unindexed);
}

enum err_kind
store_index(struct store *store, struct err *err)
{
    int code = store->unindexed.n ? store_disk_index(store) : 0;
    return code ? store_unusable(store, code, err) : ERR_OK;
}

void
store_abort(struct store *store)
{
    store_end_reading(store);
    batch_new(store);
}

enum err_kind
store_clear(struct store *store, struct err *err)
{
    store_abort(store);
    unindexed_clear(&store->unindexed, 0);
    int code = store_disk_clear(store);
    if (code)
        return store_unusable(store, code, err);
    key_filter_clear(&store->filter);
    store->offset = 0;
    return ERR_OK;
}

enum err_kind
store_open(const char *folder,
           const struct store_settings *settings,
           struct store **ret_store,
           struct err *err)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return err_no_memory(err, "a store");
    store->settings = *settings;
    store->random = UINT64_C(0x9E3779B97F4A7C15);
    store->group.len = SIZE_MAX;
    key_filter_init(&store->filter, settings->filter_budget);
    store->folder = strdup(folder);
    arena_init(&store->arena, settings->batch_bytes + BATCH_SLACK_BYTES);
    unindexed_init(&store->unindexed, store_key_bytes(store));
    batch_new(store);
    if (asprintf(&store->file, "%s/data.mdb", folder) < 0)
        store->file = NULL;
    if (asprintf(&store->mark_file, "%s/written", folder) < 0)
        store->mark_file = NULL;
    if (!store->folder || !store->file || !store->mark_file) {
        store_close(store);
        return err_no_memory(err, "a store");
    }
    int code = store_disk_open(store);
    if (code) {
        store_unusable(store, code, err);
        store_close(store);
        return err->kind;
    }
    *ret_store = store;
    return ERR_OK;
}

void
store_close(struct store *store)
{
    if (!store)
        return;
    store_disk_close(store);
    unindexed_done(&store->unindexed);
    arena_done(&store->arena);
    key_filter_clear(&store->filter);
    free(store->folder);
    free(store->file);
    free(store->mark_file);
    free(store);
}

const char *
store_discarded(const struct store *store)
{
    return store->discarded[0] ? store->discarded : NULL;
}

const char *
store_folder(const struct store *store)
{
    return store->folder;
}

int64_t
store_offset(const struct store *store)
{
    return store->offset;
}
