/* SPDX-License-Identifier: Apache-2.0 */
/* The lowest layer of a store: LMDB, and when a file of it may be trusted. */
#include "store_inside.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FOLDER_MODE = 0700,
    FILE_MODE = 0600,
};

#define MAP_FIRST_BYTES ((size_t)16 << 20)

/* What a store keeps of the memory of its entries: there may be many stores. */
#define KEEP_BYTES ((size_t)256 << 10)

/*
 * Keys are digests, spread over their whole range; a tree by key with the values in it
 * would write a page anew for each record. So the values lie in the order they came:
 *
 *   index     key -> number
 *   records   number -> deadline, key, value; numbers only grow
 *   due       deadline, number -> nothing; of records that have a deadline
 *   meta      "offset" of the changelog, "indexed": numbers below are in the index
 *
 * Even the index alone would be written anew by and by with every few batches, so it may
 * lag behind: entries wait in memory (store_unindexed.h) until there are many. What a
 * process that dies takes along of them is found again: records from "indexed" on. What
 * it forgets to remove from the index has no record any more, or one of another key.
 */
static const char format[] = "heddle store 4";

/* Beside the data: which boot of the machine wrote it last, or that it is all on disk. */
static const char mark_synced[] = "synced";
static const char boot_id_file[] = "/proc/sys/kernel/random/boot_id";

enum { FIRST_NUMBER = 1 };

/* Records, bytes of values and entries of the index that go to the disk in one
 * transaction. */
enum { WRITE_AT_ONCE = 512, WRITE_BYTES_AT_ONCE = 512 << 10, INDEX_AT_ONCE = 256 };

/* --- errors ------------------------------------------------------------------------- */

enum err_kind
store_unusable(const struct store *store, int code, struct err *err)
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

/* --- records ---------------------------------------------------------------------------
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

/* Deadlines sort by their bytes, and none is before 1970. */
struct due_key {
    uint64_t due; /* big-endian, as the number behind it */
    struct number number;
};

struct number
store_number_of(uint64_t value)
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

int
store_read_record(const struct store *store,
                  MDB_txn *txn,
                  struct number number,
                  const uint8_t *key,
                  struct record *ret)
{
    MDB_val at = {sizeof number, &number};
    MDB_val bytes;
    size_t before = sizeof ret->due_ms + store_key_bytes(store);
    int code = mdb_get(txn, store->records, &at, &bytes);
    if (code)
        return code;
    if (bytes.mv_size < before)
        return MDB_CORRUPTED;
    memcpy(&ret->due_ms, bytes.mv_data, sizeof ret->due_ms);
    ret->key = (const uint8_t *)bytes.mv_data + sizeof ret->due_ms;
    ret->value =
        (struct slice){(const char *)bytes.mv_data + before, bytes.mv_size - before};
    return key && memcmp(ret->key, key, store_key_bytes(store)) != 0 ? MDB_NOTFOUND : 0;
}

int
store_take_number(const MDB_val *val, struct number *ret)
{
    if (val->mv_size != sizeof *ret)
        return MDB_CORRUPTED;
    memcpy(ret, val->mv_data, sizeof *ret);
    return 0;
}

const struct unindexed_key *
store_unindexed_mate(const struct store *store, const uint8_t *key)
{
    const struct unindexed *unindexed = &store->unindexed;
    return unindexed_at(unindexed, unindexed_find(unindexed, key, DIGEST_BYTES), key,
                        DIGEST_BYTES);
}

static const struct unindexed_key *
find_unindexed(const struct store *store, const uint8_t *key)
{
    const struct unindexed *unindexed = &store->unindexed;
    size_t len = store_key_bytes(store);
    return unindexed_at(unindexed, unindexed_find(unindexed, key, len), key, len);
}

static int
find_number(const struct store *store,
            MDB_txn *txn,
            const uint8_t *key,
            struct number *ret)
{
    MDB_val k = {store_key_bytes(store), (void *)(uintptr_t)key};
    MDB_val number;
    const struct unindexed_key *waits = find_unindexed(store, key);
    if (waits) {
        *ret = store_number_of(waits->number);
        return waits->number == UNINDEXED_REMOVED ? MDB_NOTFOUND : 0;
    }
    const struct unindexed_key *mate = store_unindexed_mate(store, key);
    if (mate && mate->fresh)
        return MDB_NOTFOUND;
    int code = mdb_get(txn, store->index, &k, &number);
    return code ? code : store_take_number(&number, ret);
}

int
store_find_record(const struct store *store,
                  MDB_txn *txn,
                  const uint8_t *key,
                  struct number *ret_number,
                  struct record *ret)
{
    int code = find_number(store, txn, key, ret_number);
    return code ? code : store_read_record(store, txn, *ret_number, key, ret);
}

/* --- reading -------------------------------------------------------------------------
 */

int
store_begin_reading(struct store *store)
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

void
store_end_reading(struct store *store)
{
    if (store->reading)
        mdb_txn_reset(store->reader);
    store->reading = false;
}

int
store_next_due(const struct store *store,
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
    code = store_read_record(store, store->reader, due.number, NULL, ret);
    return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
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
    size_t key_len = store_key_bytes(store);
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
add_entry(struct store *store, const struct node *node, uint64_t number)
{
    return unindexed_add(&store->unindexed, node->key, number, node->fresh) ? 0 : ENOMEM;
}

static int
add_record(struct store *store, MDB_txn *txn, const struct node *node)
{
    uint64_t number = store->next_number++;
    int code = put_record(store, txn, node, store_number_of(number), MDB_APPEND);
    return code ? code : add_entry(store, node, number);
}

static int
remove_record(struct store *store,
              MDB_txn *txn,
              const struct node *node,
              struct number number)
{
    MDB_val record = {sizeof number, &number};
    int code = mdb_del(txn, store->records, &record, NULL);
    return code ? code : add_entry(store, node, UNINDEXED_REMOVED);
}

static int
write_node(struct store *store, MDB_txn *txn, const struct node *node)
{
    struct number number;
    struct record old;
    int code = MDB_NOTFOUND;
    if (!node->unseen)
        code = store_find_record(store, txn, node->key, &number, &old);
    if (code == MDB_NOTFOUND)
        return node->value.data ? add_record(store, txn, node) : 0;
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
put_count(struct store *store, MDB_txn *txn, const char *name, int64_t value)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRId64, value);
    return put_meta(store, txn, name, (struct slice){text, (size_t)len});
}

/* From `*node` on, which moves on when they are written; the last of them tells how far
 * the store is. */
static int
write_some(struct store *store, const struct node **node, int64_t offset)
{
    MDB_txn *txn = NULL;
    size_t added = store->unindexed.n_added;
    const struct node *at = *node;
    size_t bytes = 0;
    int code = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (code)
        return code;
    for (int n = 0; at && n < WRITE_AT_ONCE && bytes < WRITE_BYTES_AT_ONCE && code == 0;
         n++) {
        bytes += at->value.len;
        code = write_node(store, txn, at);
        at = at->next[0];
    }
    if (code == 0 && !at)
        code = put_count(store, txn, "offset", offset);
    if (code == 0)
        code = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    if (code == 0)
        *node = at;
    else
        store->unindexed.n_added = added;
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

static int
index_entry(struct store *store, MDB_txn *txn, const struct unindexed_key *entry)
{
    struct number number = store_number_of(entry->number);
    MDB_val key = {store_key_bytes(store), (void *)(uintptr_t)entry->key};
    MDB_val value = {sizeof number, &number};
    if (entry->number != UNINDEXED_REMOVED)
        return mdb_put(txn, store->index, &key, &value, 0);
    int code = mdb_del(txn, store->index, &key, NULL);
    return code == MDB_NOTFOUND ? 0 : code;
}

/* As write_some(), from entry `*from` on. */
static int
index_some(struct store *store, size_t *from)
{
    const struct unindexed *unindexed = &store->unindexed;
    MDB_txn *txn = NULL;
    size_t at = *from;
    int code = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (code)
        return code;
    for (; at < unindexed->n && at - *from < INDEX_AT_ONCE && code == 0; at++)
        code = index_entry(store, txn, unindexed->entries[at].key);
    if (code == 0 && at == unindexed->n)
        code = put_count(store, txn, "indexed", (int64_t)store->next_number);
    if (code == 0)
        code = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    if (code == 0)
        *from = at;
    return code;
}

static int
index_all(struct store *store, size_t *from)
{
    int code;
    do
        code = index_some(store, from);
    while (code == 0 && *from < store->unindexed.n);
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
    int code = store_begin_reading(store);
    if (code == 0)
        code = mdb_cursor_open(store->reader, store->index, &cursor);
    if (code == 0)
        code = add_groups(store, cursor);
    if (cursor)
        mdb_cursor_close(cursor);
    store_end_reading(store);
    for (size_t i = 0; i < store->unindexed.n; i++)
        key_filter_add(&store->filter, store->unindexed.entries[i].key->key);
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
    int code = store_begin_reading(store);
    if (code == 0)
        code = mdb_stat(store->reader, store->index, &index);
    store_end_reading(store);
    if (code || index.ms_entries >= store->filter.n / 2)
        return code;
    return fill_filter(store);
}

int
store_disk_write(struct store *store, int64_t offset)
{
    const struct node *node = store->head.next[0];
    int code;
    while ((code = write_batch(store, &node, offset)) == MDB_MAP_FULL)
        if ((code = grow(store)) != 0)
            break;
    if (code == 0)
        store->offset = offset;
    return code ? code : unindexed_merge(&store->unindexed) ? 0 : ENOMEM;
}

int
store_disk_index(struct store *store)
{
    size_t from = 0;
    int code;
    store_end_reading(store);
    if (!unindexed_merge(&store->unindexed)) /* of a batch that failed half-way */
        return ENOMEM;
    while ((code = index_all(store, &from)) == MDB_MAP_FULL)
        if ((code = grow(store)) != 0)
            break;
    if (code)
        return code;
    unindexed_clear(&store->unindexed, KEEP_BYTES);
    for (struct node *node = store->head.next[0]; node; node = node->next[0])
        node->fresh = false; /* the index may have its group now */
    return renew_filter(store);
}

int
store_disk_clear(struct store *store)
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
        code = put_count(store, txn, "offset", 0);
    if (code == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return code;
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
read_line(const char *path, char ret[STORE_MARK_BYTES])
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(ret, STORE_MARK_BYTES, file);
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
    char mark[STORE_MARK_BYTES] = "";
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
get_count(const struct store *store, MDB_txn *txn, const char *name, int64_t *ret)
{
    MDB_val key = val_of(slice_of(name));
    MDB_val value;
    char text[24];
    int code = mdb_get(txn, store->meta, &key, &value);
    if (code || value.mv_size >= sizeof text)
        return code ? code : MDB_INVALID;
    memcpy(text, value.mv_data, value.mv_size);
    text[value.mv_size] = '\0';
    *ret = strtoll(text, NULL, 10);
    return 0;
}

static int
put_first_meta(struct store *store, MDB_txn *txn)
{
    int code = put_meta(store, txn, "format", slice_of(format));
    if (code == 0)
        code = put_count(store, txn, "offset", 0);
    return code ? code : put_count(store, txn, "indexed", FIRST_NUMBER);
}

/* `ret_indexed`: numbers below are in the index. */
static int
read_meta(struct store *store, MDB_txn *txn, int64_t *ret_indexed)
{
    MDB_val key = val_of(slice_of("format"));
    MDB_val value;
    int code = mdb_get(txn, store->meta, &key, &value);
    if (code == MDB_NOTFOUND) /* a new one */
        code = put_first_meta(store, txn);
    else if (code == 0 && !slice_is(slice_from(&value), format))
        code = MDB_VERSION_MISMATCH;
    if (code == 0)
        code = get_count(store, txn, "offset", &store->offset);
    return code ? code : get_count(store, txn, "indexed", ret_indexed);
}

/* The records from number `indexed` on. `number`, in and out: the last that was seen. */
static int
find_unindexed_records(struct store *store, MDB_cursor *cursor, uint64_t *number)
{
    struct number from = store_number_of(*number);
    MDB_val key = {sizeof from, &from};
    MDB_val bytes;
    MDB_cursor_op op = MDB_SET_RANGE;
    int code;
    while ((code = mdb_cursor_get(cursor, &key, &bytes, op)) == 0) {
        uint64_t big;
        if (key.mv_size != sizeof big ||
            bytes.mv_size < sizeof(int64_t) + store_key_bytes(store))
            return MDB_CORRUPTED;
        memcpy(&big, key.mv_data, sizeof big);
        *number = be64toh(big);
        if (!unindexed_add(&store->unindexed,
                           (const uint8_t *)bytes.mv_data + sizeof(int64_t), *number,
                           false))
            return ENOMEM;
        op = MDB_NEXT;
    }
    return code == MDB_NOTFOUND ? 0 : code;
}

static int
catch_up_with_records(struct store *store, MDB_txn *txn, int64_t indexed)
{
    MDB_cursor *cursor;
    uint64_t number = (uint64_t)indexed;
    int code = mdb_cursor_open(txn, store->records, &cursor);
    if (code)
        return code;
    code = find_unindexed_records(store, cursor, &number);
    mdb_cursor_close(cursor);
    store->next_number = number + 1;
    if (code == 0 && !unindexed_merge(&store->unindexed))
        code = ENOMEM;
    return code;
}

static int
open_tables(struct store *store)
{
    MDB_txn *txn;
    int64_t indexed = FIRST_NUMBER;
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
        code = read_meta(store, txn, &indexed);
    if (code == 0)
        code = catch_up_with_records(store, txn, indexed);
    if (code) {
        mdb_txn_abort(txn);
        return code;
    }
    return mdb_txn_commit(txn);
}

void
store_disk_close(struct store *store)
{
    /* If that fails, the next start does it. */
    if (store->env && store->opened && store->unindexed.n + store->unindexed.n_added > 0)
        store_disk_index(store);
    if (store->reader)
        mdb_txn_abort(store->reader);
    store->reader = NULL;
    store->reading = false;
    unindexed_clear(&store->unindexed, 0);
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
    store_disk_close(store);
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

int
store_disk_open(struct store *store)
{
    read_line(boot_id_file, store->boot);
    int code = make_folders(store->folder);
    if (code == 0)
        code = open_or_make(store);
    return code;
}
