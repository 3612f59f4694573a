/* SPDX-License-Identifier: Apache-2.0 */
/* State of one partition: LMDB below, the changes of the open batch in memory above. */
#include "store.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lmdb.h>

#include "arena.h"
#include "digest.h"
#include "key_filter.h"

enum {
    KEY_MAX = DIGEST_BYTES + STORE_SUFFIX_MAX,
    LEVELS = 12, /* of the skip list: 4^12 changes */
    FOLDER_MODE = 0700,
    FILE_MODE = 0600,
    GROUP_BYTES = 256, /* of a name whose digest is remembered */
};

#define MAP_FIRST_BYTES ((size_t)16 << 20)
/* A batch may pass batch_bytes by what one record asks for, which is an arena full. */
#define BATCH_SLACK_BYTES (2 * ARENA_MAX_BYTES)

/*
 * Keys are digests, spread over their whole range; a tree by key with the values in it
 * would write a page anew for each record. So the values lie in the order they came:
 *
 *   index     key -> number
 *   records   number -> deadline, key, value; numbers only grow
 *   due       deadline, number -> nothing; of records that have a deadline
 */
static const char format[] = "heddle store 3";

/* Beside the data: which boot of the machine wrote it last, or that it is all on disk. */
static const char mark_synced[] = "synced";
static const char boot_id_file[] = "/proc/sys/kernel/random/boot_id";
enum { MARK_BYTES = 64 };

/* What a store keeps of a batch's memory for the next: there may be many stores. */
enum { KEEP_SHARE = 32 };

/* Changes that go to the disk in one transaction. */
enum { WRITE_AT_ONCE = 128 };

/* A change of the open batch. `value` null: the record is removed. */
struct node {
    uint8_t key[KEY_MAX];
    bool fresh;        /* the disk has nothing of the group */
    bool told;         /* store_changes() gave this value */
    struct slice name; /* the key as it was given */
    struct slice value;
    int64_t due_ms;
    struct node *next[LEVELS];
};

struct staged {
    struct slice name;
    struct slice value;
    int64_t due_ms;
    struct staged *next;
};

/* The group that was asked for last: what is read is written next. */
struct known_group {
    char name[GROUP_BYTES];
    size_t len; /* SIZE_MAX: none */
    uint8_t digest[DIGEST_BYTES];
};

struct store {
    struct store_settings settings;
    char *folder;
    char *file;
    char *mark_file;
    char boot[MARK_BYTES]; /* "": unknown, and every commit waits for the disk */
    char discarded[128];
    MDB_env *env;
    MDB_dbi index, records, due, meta;
    MDB_txn *reader; /* NULL: none begun; one for a batch */
    bool reading;
    bool opened; /* sound, and its mark is written */
    int64_t offset;
    uint64_t next_number; /* of a new record */
    struct arena arena;   /* of the open batch */
    struct node head;     /* holds no key */
    struct staged *first;
    struct staged **last;
    uint64_t random;
    struct known_group group;
    struct key_filter filter; /* of the digests of groups, the open batch included */
};

static size_t
key_bytes(const struct store *store)
{
    return DIGEST_BYTES + store->settings.suffix_bytes;
}

/* --- errors ------------------------------------------------------------------------- */

static enum err_kind
unusable(const struct store *store, int code, struct err *err)
{
    if (code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID) {
        unlink(store->file);
        return err_fatal(err, EXIT_TRY_AGAIN, "store_damaged",
                         "%s is damaged (%s) and was thrown away; start the process "
                         "again and it is made from the changelog",
                         store->file, mdb_strerror(code));
    }
    if (code == MDB_MAP_FULL)
        return err_fatal(err, EXIT_CONFIG, "store_full",
                         "%s has reached the setting store_max; raise it", store->file);
    return err_fatal(err, code == EACCES ? EXIT_PERMISSION : EXIT_TRY_AGAIN,
                     "store_unusable",
                     "%s: %s; make room or access for it, or remove it and it is made "
                     "from the changelog",
                     store->file, mdb_strerror(code));
}

/* --- keys ----------------------------------------------------------------------------
 */

static MDB_val
val_of(struct slice bytes)
{
    return (MDB_val){bytes.len, (void *)(uintptr_t)bytes.data};
}

static struct slice
slice_from(const MDB_val *val)
{
    return (struct slice){val->mv_size ? val->mv_data : "", val->mv_size};
}

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
    if (group.len == 0 || group.len > GROUP_BYTES)
        return;
    memcpy(known->name, group.data, group.len);
    memcpy(known->digest, ret, DIGEST_BYTES);
    known->len = group.len;
}

static void
make_key(struct store *store, struct slice name, uint8_t ret[KEY_MAX])
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

/* The number of a record, in the order of its bytes. */
struct number {
    uint8_t bytes[sizeof(uint64_t)];
};

/* Deadlines sort by their bytes, and none is before 1970. */
struct due_key {
    uint64_t due; /* big-endian, as the number behind it */
    struct number number;
};

static struct number
number_of(uint64_t value)
{
    struct number number;
    uint64_t big = htobe64(value);
    memcpy(number.bytes, &big, sizeof big);
    return number;
}

static struct due_key
due_key_of(int64_t due_ms, struct number number)
{
    return (struct due_key){htobe64(due_ms < 0 ? 0 : (uint64_t)due_ms), number};
}

/* A record as it lies on the disk. */
struct record {
    int64_t due_ms;
    const uint8_t *key;
    struct slice value;
};

/* By its number; 0 or what LMDB says. */
static int
read_record(const struct store *store,
            MDB_txn *txn,
            struct number number,
            struct record *ret)
{
    MDB_val key = {sizeof number, &number};
    MDB_val bytes;
    size_t before = sizeof ret->due_ms + key_bytes(store);
    int code = mdb_get(txn, store->records, &key, &bytes);
    if (code)
        return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
    if (bytes.mv_size < before)
        return MDB_CORRUPTED;
    memcpy(&ret->due_ms, bytes.mv_data, sizeof ret->due_ms);
    ret->key = (const uint8_t *)bytes.mv_data + sizeof ret->due_ms;
    ret->value =
        (struct slice){(const char *)bytes.mv_data + before, bytes.mv_size - before};
    return 0;
}

static int
take_number(const MDB_val *val, struct number *ret)
{
    if (val->mv_size != sizeof *ret)
        return MDB_CORRUPTED;
    memcpy(ret, val->mv_data, sizeof *ret);
    return 0;
}

/* The number of the record of `key`; MDB_NOTFOUND when there is none. */
static int
find_number(const struct store *store,
            MDB_txn *txn,
            const uint8_t *key,
            struct number *ret)
{
    MDB_val k = {key_bytes(store), (void *)(uintptr_t)key};
    MDB_val number;
    int code = mdb_get(txn, store->index, &k, &number);
    return code ? code : take_number(&number, ret);
}

/* --- the open batch: a skip list ------------------------------------------------------
 */

static void
batch_new(struct store *store)
{
    arena_reset_keeping(&store->arena, store->settings.batch_bytes / KEEP_SHARE);
    store_drop(store);
    memset(&store->head, 0, sizeof store->head);
}

/* The first node not before the key; on the way, what leads to it on each level. */
static struct node *
find_node(struct store *store,
          const uint8_t *key,
          size_t len,
          struct node *ret_before[LEVELS])
{
    struct node *at = &store->head;
    for (int level = LEVELS - 1; level >= 0; level--) {
        while (at->next[level] && memcmp(at->next[level]->key, key, len) < 0)
            at = at->next[level];
        ret_before[level] = at;
    }
    return at->next[0];
}

static struct node *
node_of(struct store *store, const uint8_t *key)
{
    struct node *before[LEVELS];
    struct node *node = find_node(store, key, key_bytes(store), before);
    return node && memcmp(node->key, key, key_bytes(store)) == 0 ? node : NULL;
}

/* Each level has a quarter of the one below; xorshift is random enough for that. */
static int
random_levels(struct store *store)
{
    int levels = 1;
    store->random ^= store->random << 13;
    store->random ^= store->random >> 7;
    store->random ^= store->random << 17;
    for (uint64_t bits = store->random; levels < LEVELS && (bits & 3) == 0; bits >>= 2)
        levels++;
    return levels;
}

static bool
is_mate(const struct store *store, const struct node *node, const uint8_t *key)
{
    return node && node != &store->head && memcmp(node->key, key, DIGEST_BYTES) == 0;
}

/* Whether nothing of the key's group is on the disk. `before` and `behind` are its
 * neighbours in the batch. */
static bool
is_fresh(struct store *store,
         const struct node *before,
         const struct node *behind,
         const uint8_t *key)
{
    if (is_mate(store, before, key))
        return before->fresh;
    if (is_mate(store, behind, key))
        return behind->fresh;
    return !key_filter_add(&store->filter, key);
}

static enum err_kind
put_node(struct store *store, const struct staged *staged, struct err *err)
{
    uint8_t key[KEY_MAX] = {0};
    struct node *before[LEVELS];
    make_key(store, staged->name, key);
    struct node *node = find_node(store, key, key_bytes(store), before);
    if (!node || memcmp(node->key, key, key_bytes(store)) != 0) {
        node = arena_calloc(&store->arena, 1, sizeof *node);
        if (!node)
            return err_no_memory(err, "a change of the state");
        memcpy(node->key, key, sizeof key);
        node->fresh = is_fresh(store, before[0], before[0]->next[0], key);
        int levels = random_levels(store);
        for (int level = 0; level < levels; level++) {
            node->next[level] = before[level]->next[level];
            before[level]->next[level] = node;
        }
    }
    node->name = staged->name;
    node->value = staged->value;
    node->told = false;
    node->due_ms = staged->due_ms;
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
    for (struct node *node = store->head.next[0]; node; node = node->next[0]) {
        if (node->told)
            continue;
        if (change(state, node->name, node->value, err))
            return err->kind;
        node->told = true;
    }
    return ERR_OK;
}

/* --- reading -------------------------------------------------------------------------
 */

static int
begin_reading(struct store *store)
{
    int code = 0;
    if (store->reading)
        return 0;
    if (store->reader)
        code = mdb_txn_renew(store->reader);
    else
        code = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &store->reader);
    store->reading = code == 0;
    return code;
}

/* A reader that stays open keeps old pages from being used again. */
static void
end_reading(struct store *store)
{
    if (store->reading)
        mdb_txn_reset(store->reader);
    store->reading = false;
}

enum err_kind
store_get(struct store *store, struct slice key, struct slice *ret_value, struct err *err)
{
    uint8_t bytes[KEY_MAX];
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
    int code = begin_reading(store);
    if (code == 0)
        code = find_number(store, store->reader, bytes, &number);
    if (code == MDB_NOTFOUND)
        return ERR_OK;
    if (code == 0)
        code = read_record(store, store->reader, number, &record);
    if (code)
        return unusable(store, code, err);
    *ret_value = record.value;
    return ERR_OK;
}

/* Two ordered streams of one group: what is on disk, and above it the open batch. */
struct merge {
    const struct store *store;
    MDB_cursor *cursor; /* of the index */
    struct record record;
    bool on_disk; /* the record is of the group */
    const struct node *node;
    const uint8_t *group;
};

static int
step_disk(struct merge *merge, MDB_cursor_op op)
{
    MDB_val key = {DIGEST_BYTES, (void *)(uintptr_t)merge->group};
    MDB_val found;
    struct number number;
    int code = mdb_cursor_get(merge->cursor, &key, &found, op);
    merge->on_disk = code == 0 && memcmp(key.mv_data, merge->group, DIGEST_BYTES) == 0;
    if (!merge->on_disk)
        return code == MDB_NOTFOUND ? 0 : code;
    code = take_number(&found, &number);
    if (code)
        return code;
    return read_record(merge->store, merge->store->reader, number, &merge->record);
}

static const struct node *
of_group(const struct merge *merge, const struct node *node)
{
    return node && memcmp(node->key, merge->group, DIGEST_BYTES) == 0 ? node : NULL;
}

static enum err_kind
give_merged(struct store *store,
            struct merge *merge,
            store_record_fn *record,
            void *state,
            int *ret_code,
            struct err *err)
{
    while (merge->on_disk || merge->node) {
        int order = !merge->on_disk ? 1 : -1;
        if (merge->on_disk && merge->node)
            order = memcmp(merge->record.key, merge->node->key, key_bytes(store));
        const uint8_t *key = order < 0 ? merge->record.key : merge->node->key;
        struct slice value = order < 0 ? merge->record.value : merge->node->value;
        if (value.data && record(state, suffix_of(store, key), value, err))
            return err->kind;
        if (order >= 0)
            merge->node = of_group(merge, merge->node->next[0]);
        if (order <= 0 && (*ret_code = step_disk(merge, MDB_NEXT)) != 0)
            return ERR_OK;
    }
    return ERR_OK;
}

enum err_kind
store_scan(struct store *store,
           struct slice group,
           store_record_fn *record,
           void *state,
           struct err *err)
{
    uint8_t digest[DIGEST_BYTES];
    struct node *before[LEVELS];
    enum err_kind kind = ERR_OK;
    digest_group(store, group, digest);
    if (!key_filter_has(&store->filter, digest))
        return ERR_OK;
    struct merge merge = {.store = store, .group = digest};
    merge.node = of_group(&merge, find_node(store, digest, DIGEST_BYTES, before));
    int code = begin_reading(store);
    if (code == 0)
        code = mdb_cursor_open(store->reader, store->index, &merge.cursor);
    if (code == 0)
        code = step_disk(&merge, MDB_SET_RANGE);
    if (code == 0)
        kind = give_merged(store, &merge, record, state, &code, err);
    if (merge.cursor)
        mdb_cursor_close(merge.cursor);
    return code ? unusable(store, code, err) : kind;
}

/* MDB_NOTFOUND: nothing more is due. */
static int
next_due(const struct store *store,
         MDB_cursor *cursor,
         int64_t now_ms,
         struct record *ret)
{
    MDB_val key, none;
    struct due_key due;
    int code = mdb_cursor_get(cursor, &key, &none, MDB_NEXT);
    if (code)
        return code;
    if (key.mv_size != sizeof due)
        return MDB_CORRUPTED;
    memcpy(&due, key.mv_data, sizeof due);
    if (be64toh(due.due) > (uint64_t)now_ms)
        return MDB_NOTFOUND;
    return read_record(store, store->reader, due.number, ret);
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
    int code = begin_reading(store);
    if (code == 0)
        code = mdb_cursor_open(store->reader, store->due, &cursor);
    for (size_t n = 0; code == 0 && kind == ERR_OK && n < max;) {
        code = next_due(store, cursor, now_ms, &found);
        if (code || node_of(store, found.key))
            continue;
        kind = record(state, suffix_of(store, found.key), found.value, err);
        n++;
    }
    if (cursor)
        mdb_cursor_close(cursor);
    if (code && code != MDB_NOTFOUND)
        return unusable(store, code, err);
    return kind;
}

/* --- writing -------------------------------------------------------------------------
 */

static int
drop_due(struct store *store, MDB_txn *txn, int64_t due_ms, struct number number)
{
    struct due_key due = due_key_of(due_ms, number);
    MDB_val key = {sizeof due, &due};
    int code = due_ms == STORE_NEVER ? 0 : mdb_del(txn, store->due, &key, NULL);
    return code == MDB_NOTFOUND ? 0 : code;
}

static int
put_due(struct store *store, MDB_txn *txn, int64_t due_ms, struct number number)
{
    struct due_key due = due_key_of(due_ms, number);
    MDB_val key = {sizeof due, &due};
    MDB_val none = {0, NULL};
    return due_ms == STORE_NEVER ? 0 : mdb_put(txn, store->due, &key, &none, 0);
}

/* `how`: MDB_APPEND for a new number, 0 for one that has a record. */
static int
put_record(struct store *store,
           MDB_txn *txn,
           const struct node *node,
           struct number number,
           unsigned how)
{
    size_t key_len = key_bytes(store);
    MDB_val key = {sizeof number, &number};
    MDB_val record = {sizeof node->due_ms + key_len + node->value.len, NULL};
    int code = mdb_put(txn, store->records, &key, &record, MDB_RESERVE | how);
    if (code)
        return code;
    char *to = mempcpy(record.mv_data, &node->due_ms, sizeof node->due_ms);
    to = mempcpy(to, node->key, key_len);
    memcpy(to, node->value.data, node->value.len);
    return put_due(store, txn, node->due_ms, number);
}

static int
add_record(struct store *store, MDB_txn *txn, const struct node *node)
{
    struct number number = number_of(store->next_number++);
    MDB_val key = {key_bytes(store), (void *)(uintptr_t)node->key};
    MDB_val value = {sizeof number, &number};
    int code = mdb_put(txn, store->index, &key, &value, 0);
    return code ? code : put_record(store, txn, node, number, MDB_APPEND);
}

static int
remove_record(struct store *store,
              MDB_txn *txn,
              const struct node *node,
              struct number number)
{
    MDB_val key = {key_bytes(store), (void *)(uintptr_t)node->key};
    MDB_val record = {sizeof number, &number};
    int code = mdb_del(txn, store->index, &key, NULL);
    return code ? code : mdb_del(txn, store->records, &record, NULL);
}

static int
write_node(struct store *store, MDB_txn *txn, const struct node *node)
{
    struct number number;
    struct record old;
    int code = node->fresh ? MDB_NOTFOUND : find_number(store, txn, node->key, &number);
    if (code == MDB_NOTFOUND)
        return node->value.data ? add_record(store, txn, node) : 0;
    if (code == 0)
        code = read_record(store, txn, number, &old);
    if (code == 0)
        code = drop_due(store, txn, old.due_ms, number);
    if (code)
        return code;
    return node->value.data ? put_record(store, txn, node, number, 0)
                            : remove_record(store, txn, node, number);
}

static int
put_meta(struct store *store, MDB_txn *txn, const char *name, struct slice text)
{
    MDB_val key = val_of(slice_of(name));
    MDB_val value = val_of(text);
    return mdb_put(txn, store->meta, &key, &value, 0);
}

static int
put_offset(struct store *store, MDB_txn *txn, int64_t offset)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%lld", (long long)offset);
    return put_meta(store, txn, "offset", (struct slice){text, (size_t)len});
}

/* From `*node` on, which moves on when they are written; the last of them tells how far
 * the store is. */
static int
write_some(struct store *store, const struct node **node, int64_t offset)
{
    MDB_txn *txn = NULL;
    int code = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (code)
        return code;
    const struct node *at = *node;
    for (int n = 0; at && n < WRITE_AT_ONCE && code == 0; n++) {
        code = write_node(store, txn, at);
        at = at->next[0];
    }
    if (code == 0 && !at)
        code = put_offset(store, txn, offset);
    if (code == 0)
        code = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    if (code == 0)
        *node = at;
    return code;
}

/*
 * In steps, for LMDB never gives back the memory of the pages that one transaction
 * touched. Between them the store is ahead of its offset, and what it is ahead by is
 * what the changelog would bring again.
 */
static int
write_batch(struct store *store, const struct node **node, int64_t offset)
{
    int code;
    do
        code = write_some(store, node, offset);
    while (code == 0 && *node);
    return code;
}

/* Doubles the map up to its ceiling. No transaction may be open. */
static int
grow(struct store *store)
{
    MDB_envinfo info;
    mdb_env_info(store->env, &info);
    size_t size = info.me_mapsize * 2;
    if (info.me_mapsize >= store->settings.max_bytes)
        return MDB_MAP_FULL;
    if (size > store->settings.max_bytes)
        size = store->settings.max_bytes;
    if (store->reader)
        mdb_txn_abort(store->reader);
    store->reader = NULL;
    return mdb_env_set_mapsize(store->env, size);
}

/* --- the filter ----------------------------------------------------------------------
 */

static int
add_groups(struct store *store, MDB_cursor *cursor)
{
    MDB_val key, number;
    int code;
    while ((code = mdb_cursor_get(cursor, &key, &number, MDB_NEXT)) == 0) {
        if (key.mv_size < DIGEST_BYTES)
            return MDB_CORRUPTED;
        key_filter_add(&store->filter, key.mv_data);
    }
    return code == MDB_NOTFOUND ? 0 : code;
}

static int
fill_filter(struct store *store)
{
    MDB_cursor *cursor = NULL;
    key_filter_clear(&store->filter);
    int code = begin_reading(store);
    if (code == 0)
        code = mdb_cursor_open(store->reader, store->index, &cursor);
    if (code == 0)
        code = add_groups(store, cursor);
    if (cursor)
        mdb_cursor_close(cursor);
    end_reading(store);
    if (code)
        key_filter_give_up(&store->filter);
    return code;
}

/* A filter keeps what the store has forgotten: one that is full of that is made anew. */
static int
renew_filter(struct store *store)
{
    MDB_stat index;
    if (!store->filter.full)
        return 0;
    int code = begin_reading(store);
    if (code == 0)
        code = mdb_stat(store->reader, store->index, &index);
    if (code || index.ms_entries >= store->filter.n / 2)
        return code;
    return fill_filter(store);
}

enum err_kind
store_commit(struct store *store, int64_t next_offset, struct err *err)
{
    int64_t offset = next_offset < 0 ? store->offset : next_offset;
    const struct node *node = store->head.next[0];
    int code = 0;
    end_reading(store);
    if (!store_changed(store) && offset == store->offset) {
        store_abort(store);
        return ERR_OK;
    }
    while ((code = write_batch(store, &node, offset)) == MDB_MAP_FULL)
        if ((code = grow(store)) != 0)
            break;
    if (code == 0)
        code = renew_filter(store);
    if (code)
        return unusable(store, code, err);
    store->offset = offset;
    store_abort(store);
    return ERR_OK;
}

void
store_abort(struct store *store)
{
    end_reading(store);
    batch_new(store);
}

static int
drop_tables(struct store *store)
{
    MDB_txn *txn = NULL;
    int code = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (code)
        return code;
    code = mdb_drop(txn, store->index, 0);
    if (code == 0)
        code = mdb_drop(txn, store->records, 0);
    if (code == 0)
        code = mdb_drop(txn, store->due, 0);
    if (code == 0)
        code = put_offset(store, txn, 0);
    if (code == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return code;
}

enum err_kind
store_clear(struct store *store, struct err *err)
{
    store_abort(store);
    int code = drop_tables(store);
    if (code)
        return unusable(store, code, err);
    key_filter_clear(&store->filter);
    store->offset = 0;
    return ERR_OK;
}

/* --- life ----------------------------------------------------------------------------
 */

/*
 * Commits don't wait for the disk: the changelog is the truth, and what a process wrote
 * outlives it in the system's cache. Only a machine that dies takes pages along, in any
 * order; so a store whose last writer ran under another boot and did not close it is no
 * copy to trust.
 */
static bool
read_line(const char *path, char ret[MARK_BYTES])
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(ret, MARK_BYTES, file);
    if (file)
        fclose(file);
    if (!read)
        ret[0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return read;
}

/* In place before, or after, what it speaks of. */
static int
write_mark(const struct store *store, const char *text)
{
    if (!store->mark_file) /* it was never opened */
        return ENOENT;
    int fd = open(store->mark_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return errno;
    size_t len = strlen(text);
    ssize_t n = write(fd, text, len);
    int code = n < 0 ? errno : (size_t)n < len ? EIO : fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return code;
}

static bool
was_left_open(const struct store *store)
{
    char mark[MARK_BYTES] = "";
    struct stat file;
    if (!store->boot[0] || stat(store->file, &file))
        return false;
    read_line(store->mark_file, mark);
    return strcmp(mark, mark_synced) != 0 && strcmp(mark, store->boot) != 0;
}

/* A file that was cut would end in a bus error when it is read. */
static int
check_size(struct store *store)
{
    MDB_envinfo info;
    MDB_stat stats;
    struct stat file;
    mdb_env_info(store->env, &info);
    mdb_env_stat(store->env, &stats);
    if (stat(store->file, &file))
        return errno;
    uint64_t needed = ((uint64_t)info.me_last_pgno + 1) * stats.ms_psize;
    return (uint64_t)file.st_size < needed ? MDB_CORRUPTED : 0;
}

static int
read_meta(struct store *store, MDB_txn *txn)
{
    MDB_val key = val_of(slice_of("format"));
    MDB_val value;
    char text[24];
    int code = mdb_get(txn, store->meta, &key, &value);
    if (code == MDB_NOTFOUND) { /* a new one */
        code = put_meta(store, txn, "format", slice_of(format));
        return code ? code : put_offset(store, txn, 0);
    }
    if (code)
        return code;
    if (!slice_is(slice_from(&value), format))
        return MDB_VERSION_MISMATCH;
    key = val_of(slice_of("offset"));
    code = mdb_get(txn, store->meta, &key, &value);
    if (code || value.mv_size >= sizeof text)
        return code ? code : MDB_INVALID;
    memcpy(text, value.mv_data, value.mv_size);
    text[value.mv_size] = '\0';
    store->offset = strtoll(text, NULL, 10);
    return 0;
}

static int
read_last_number(struct store *store, MDB_txn *txn)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t big = 0;
    int code = mdb_cursor_open(txn, store->records, &cursor);
    if (code)
        return code;
    code = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
    if (code == 0 && key.mv_size != sizeof big)
        code = MDB_CORRUPTED;
    if (code == 0)
        memcpy(&big, key.mv_data, sizeof big);
    mdb_cursor_close(cursor);
    store->next_number = be64toh(big) + 1;
    return code == MDB_NOTFOUND ? 0 : code;
}

static int
open_tables(struct store *store)
{
    MDB_txn *txn;
    int code = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (code)
        return code;
    code = mdb_dbi_open(txn, "index", MDB_CREATE, &store->index);
    if (code == 0)
        code = mdb_dbi_open(txn, "records", MDB_CREATE, &store->records);
    if (code == 0)
        code = mdb_dbi_open(txn, "due", MDB_CREATE, &store->due);
    if (code == 0)
        code = mdb_dbi_open(txn, "meta", MDB_CREATE, &store->meta);
    if (code == 0)
        code = read_meta(store, txn);
    if (code == 0)
        code = read_last_number(store, txn);
    if (code) {
        mdb_txn_abort(txn);
        return code;
    }
    return mdb_txn_commit(txn);
}

static void
close_env(struct store *store)
{
    if (store->reader)
        mdb_txn_abort(store->reader);
    store->reader = NULL;
    store->reading = false;
    if (store->env && store->opened && store->boot[0] && mdb_env_sync(store->env, 1) == 0)
        write_mark(store, mark_synced);
    if (store->env)
        mdb_env_close(store->env);
    store->env = NULL;
    store->opened = false;
}

static int
open_env(struct store *store)
{
    size_t first = store->settings.max_bytes < MAP_FIRST_BYTES ? store->settings.max_bytes
                                                               : MAP_FIRST_BYTES;
    struct stat file;
    if (stat(store->file, &file) == 0 && (size_t)file.st_size > first)
        first = (size_t)file.st_size;
    int code = mdb_env_create(&store->env);
    if (code == 0)
        code = mdb_env_set_maxdbs(store->env, 4);
    if (code == 0)
        code = mdb_env_set_mapsize(store->env, first);
    if (code == 0)
        code = mdb_env_open(store->env, store->folder,
                            MDB_NOTLS | (store->boot[0] ? MDB_NOSYNC : MDB_NOMETASYNC),
                            FILE_MODE);
    if (code == 0)
        code = check_size(store);
    if (code == 0) /* a killed process would keep old pages from being used again */
        code = mdb_reader_check(store->env, NULL);
    if (code == 0 && store->boot[0])
        code = write_mark(store, store->boot);
    if (code == 0)
        code = open_tables(store);
    if (code == 0)
        code = fill_filter(store);
    store->opened = code == 0;
    return code;
}

static bool
is_beyond_use(int code)
{
    return code == MDB_CORRUPTED || code == MDB_INVALID || code == MDB_PAGE_NOTFOUND ||
           code == MDB_VERSION_MISMATCH || code == MDB_INCOMPATIBLE || code == MDB_PANIC;
}

static int
open_or_make(struct store *store)
{
    bool left_open = was_left_open(store);
    int code = left_open ? 0 : open_env(store);
    if (!left_open && !is_beyond_use(code))
        return code;
    snprintf(store->discarded, sizeof store->discarded, "%s",
             left_open ? "the machine went down while it was in use"
                       : mdb_strerror(code));
    close_env(store);
    if (unlink(store->file))
        return errno;
    store->offset = 0;
    return open_env(store);
}

/* Every folder on the way. */
static int
make_folders(const char *folder)
{
    char *path = strdup(folder);
    int code = path ? 0 : ENOMEM;
    for (char *at = path ? strchr(path + 1, '/') : NULL; at && code == 0;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(path, FOLDER_MODE) && errno != EEXIST)
            code = errno;
        *at = '/';
    }
    if (code == 0 && mkdir(path, FOLDER_MODE) && errno != EEXIST)
        code = errno;
    free(path);
    return code;
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
    batch_new(store);
    if (asprintf(&store->file, "%s/data.mdb", folder) < 0)
        store->file = NULL;
    if (asprintf(&store->mark_file, "%s/written", folder) < 0)
        store->mark_file = NULL;
    read_line(boot_id_file, store->boot);
    if (!store->folder || !store->file || !store->mark_file) {
        store_close(store);
        return err_no_memory(err, "a store");
    }
    int code = make_folders(folder);
    if (code == 0)
        code = open_or_make(store);
    if (code) {
        unusable(store, code, err);
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
    close_env(store);
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
