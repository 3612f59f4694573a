/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of feed in LMDB. Keys: "F" + path or "E" + workspace (a digest of either
 * when it is longer than a key may be), "D" for the count of deliveries.
 */
#include "sent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lmdb.h>

/* A key of LMDB is at most 511 bytes as it is built by default. */
enum { KEY_MAX = 511, VALUE_MAX = 128, FILE_MODE = 0600, NAME_DIGITS = 32 };
/* The file grows up to this; address space, not memory. */
#define MAP_FIRST_BYTES ((size_t)64 << 20)
#define MAP_MAX_BYTES   ((size_t)64 << 30)
/* Entries held before they are written anyway. */
enum { PENDING_MAX = 8192 };

struct entry {
    char *key;
    size_t key_len;
    char value[VALUE_MAX];
};

struct sent {
    char *path;
    MDB_env *env;
    MDB_dbi dbi;
    struct entry *pending;
    size_t n_pending;
    size_t cap_pending;
    uint64_t delivered;
};

static enum err_kind
unusable(const struct sent *sent, int code, struct err *err)
{
    return err_fatal(
        err, code == EACCES ? EXIT_PERMISSION : EXIT_TRY_AGAIN, "sent_unusable",
        "%s, the memory of what was sent: %s; make room or access for it, or "
        "remove it and everything is sent again",
        sent->path, mdb_strerror(code));
}

/* Writes the key of `text` into `key`, returns its length. */
static size_t
make_key(char kind, const char *text, char key[KEY_MAX])
{
    size_t len = strlen(text);
    key[0] = kind;
    if (len <= KEY_MAX - 1) {
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): a key is no string */
        memcpy(key + 1, text, len);
        return len + 1;
    }
    char hex[DIGEST_HEX];
    digest_hex((struct slice){text, len}, hex);
    return (size_t)snprintf(key + 1, KEY_MAX - 1, "sha256:%s", hex) + 1;
}

static int
read_value(struct sent *sent, const char *key, size_t key_len, char value[VALUE_MAX])
{
    MDB_txn *txn;
    int code = mdb_txn_begin(sent->env, NULL, MDB_RDONLY, &txn);
    if (code)
        return code;
    MDB_val k = {key_len, (void *)(uintptr_t)key}, v;
    code = mdb_get(txn, sent->dbi, &k, &v);
    if (code == 0) {
        size_t len = v.mv_size < VALUE_MAX - 1 ? v.mv_size : VALUE_MAX - 1;
        memcpy(value, v.mv_data, len);
        value[len] = '\0';
    }
    mdb_txn_abort(txn);
    return code;
}

static enum err_kind
get(struct sent *sent,
    char kind,
    const char *text,
    char value[VALUE_MAX],
    bool *ret_found,
    struct err *err)
{
    char key[KEY_MAX];
    int code = read_value(sent, key, make_key(kind, text, key), value);
    if (code && code != MDB_NOTFOUND)
        return unusable(sent, code, err);
    *ret_found = code == 0;
    return ERR_OK;
}

/* "SIZE MTIME_NS INODE SHA256". */
static bool
parse_file(const char *value, struct sent_file *ret_file)
{
    char *end = NULL;
    ret_file->size = strtoll(value, &end, 10);
    ret_file->mtime_ns = strtoll(end, &end, 10);
    ret_file->inode = strtoull(end, &end, 10);
    if (*end != ' ' || strlen(end + 1) != DIGEST_HEX - 1)
        return false;
    memcpy(ret_file->sha256, end + 1, DIGEST_HEX);
    return true;
}

enum err_kind
sent_get_file(struct sent *sent,
              const char *path,
              struct sent_file *ret_file,
              bool *ret_found,
              struct err *err)
{
    char value[VALUE_MAX];
    if (get(sent, 'F', path, value, ret_found, err))
        return err->kind;
    if (!*ret_found)
        return ERR_OK;
    if (!parse_file(value, ret_file))
        *ret_found = false; /* of another version: as if never sent */
    return ERR_OK;
}

enum err_kind
sent_get_event(struct sent *sent,
               const char *workspace,
               char ret_id[DIGEST_HEX],
               bool *ret_found,
               struct err *err)
{
    char value[VALUE_MAX];
    if (get(sent, 'E', workspace, value, ret_found, err))
        return err->kind;
    if (*ret_found)
        snprintf(ret_id, DIGEST_HEX, "%.64s", value);
    return ERR_OK;
}

static bool
reserve_pending(struct sent *sent)
{
    if (sent->n_pending < sent->cap_pending)
        return true;
    size_t cap = sent->cap_pending ? sent->cap_pending * 2 : 64;
    struct entry *pending = realloc(sent->pending, cap * sizeof pending[0]);
    if (!pending)
        return false;
    sent->pending = pending;
    sent->cap_pending = cap;
    return true;
}

static enum err_kind
put(struct sent *sent, char kind, const char *text, const char *value, struct err *err)
{
    char key[KEY_MAX];
    struct entry entry = {.key_len = make_key(kind, text, key)};
    if (sent->n_pending >= PENDING_MAX && sent_commit(sent, err))
        return err->kind;
    entry.key = malloc(entry.key_len);
    if (!entry.key || !reserve_pending(sent)) {
        free(entry.key);
        return err_no_memory(err, "the memory of what was sent");
    }
    memcpy(entry.key, key, entry.key_len);
    snprintf(entry.value, sizeof entry.value, "%s", value);
    sent->pending[sent->n_pending++] = entry;
    return ERR_OK;
}

enum err_kind
sent_put_file(struct sent *sent,
              const char *path,
              const struct sent_file *file,
              struct err *err)
{
    char value[VALUE_MAX];
    snprintf(value, sizeof value, "%lld %lld %llu %s", (long long)file->size,
             (long long)file->mtime_ns, (unsigned long long)file->inode, file->sha256);
    return put(sent, 'F', path, value, err);
}

enum err_kind
sent_put_event(struct sent *sent,
               const char *workspace,
               const char id[DIGEST_HEX],
               struct err *err)
{
    if (put(sent, 'E', workspace, id, err))
        return err->kind;
    sent->delivered++;
    return ERR_OK;
}

size_t
sent_pending(const struct sent *sent)
{
    return sent->n_pending;
}

static int
write_entry(
    struct sent *sent, MDB_txn *txn, const char *key, size_t key_len, const char *value)
{
    MDB_val k = {key_len, (void *)(uintptr_t)key};
    MDB_val v = {strlen(value), (void *)(uintptr_t)value};
    return mdb_put(txn, sent->dbi, &k, &v, 0);
}

static int
write_all(struct sent *sent)
{
    MDB_txn *txn;
    char count[32];
    int code = mdb_txn_begin(sent->env, NULL, 0, &txn);
    if (code)
        return code;
    for (size_t i = 0; i < sent->n_pending && code == 0; i++)
        code = write_entry(sent, txn, sent->pending[i].key, sent->pending[i].key_len,
                           sent->pending[i].value);
    snprintf(count, sizeof count, "%llu", (unsigned long long)sent->delivered);
    if (code == 0)
        code = write_entry(sent, txn, "D", 1, count);
    if (code == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return code;
}

/* Doubles the map; MDB_MAP_FULL at the ceiling. No transaction may be open. */
static int
grow_map(struct sent *sent)
{
    MDB_envinfo info;
    mdb_env_info(sent->env, &info);
    if (info.me_mapsize >= MAP_MAX_BYTES)
        return MDB_MAP_FULL;
    return mdb_env_set_mapsize(sent->env, info.me_mapsize * 2);
}

static void
drop_pending(struct sent *sent)
{
    for (size_t i = 0; i < sent->n_pending; i++)
        free(sent->pending[i].key);
    sent->n_pending = 0;
}

enum err_kind
sent_commit(struct sent *sent, struct err *err)
{
    int code;
    if (sent->n_pending == 0)
        return ERR_OK;
    while ((code = write_all(sent)) != 0) {
        if (code == MDB_MAP_FULL)
            code = grow_map(sent);
        else if (code == MDB_MAP_RESIZED) /* another feed has grown it */
            code = mdb_env_set_mapsize(sent->env, 0);
        if (code)
            return unusable(sent, code, err);
    }
    drop_pending(sent);
    return ERR_OK;
}

uint64_t
sent_delivered(const struct sent *sent)
{
    return sent->delivered;
}

enum err_kind
sent_forget(struct sent *sent, struct err *err)
{
    MDB_txn *txn;
    int code = mdb_txn_begin(sent->env, NULL, 0, &txn);
    if (code == 0) {
        code = mdb_drop(txn, sent->dbi, 0);
        code = code ? (mdb_txn_abort(txn), code) : mdb_txn_commit(txn);
    }
    if (code)
        return unusable(sent, code, err);
    drop_pending(sent);
    sent->delivered = 0;
    return ERR_OK;
}

static int
open_env(struct sent *sent)
{
    MDB_txn *txn;
    int code = mdb_env_create(&sent->env);
    if (code == 0)
        code = mdb_env_set_mapsize(sent->env, MAP_FIRST_BYTES);
    if (code == 0)
        code = mdb_env_open(sent->env, sent->path, MDB_NOSUBDIR | MDB_NOTLS, FILE_MODE);
    if (code == 0)
        code = mdb_txn_begin(sent->env, NULL, 0, &txn);
    if (code)
        return code;
    code = mdb_dbi_open(txn, NULL, 0, &sent->dbi);
    return code ? (mdb_txn_abort(txn), code) : mdb_txn_commit(txn);
}

static int
read_delivered(struct sent *sent)
{
    char value[VALUE_MAX];
    int code = read_value(sent, "D", 1, value);
    if (code == 0)
        sent->delivered = strtoull(value, NULL, 10);
    return code == MDB_NOTFOUND ? 0 : code;
}

/* The name says neither cluster nor path, which may hold anything; its digest does. */
static char *
make_path(const char *folder, const char *cluster_id, const char *root)
{
    char *both = NULL, *path = NULL, hex[DIGEST_HEX];
    if (asprintf(&both, "%s\n%s", cluster_id, root) < 0)
        return NULL;
    digest_hex(slice_of(both), hex);
    free(both);
    return asprintf(&path, "%s/%.*s.mdb", folder, NAME_DIGITS, hex) < 0 ? NULL : path;
}

struct sent *
sent_open(const char *folder, const char *cluster_id, const char *root, struct err *err)
{
    struct sent *sent = calloc(1, sizeof *sent);
    if (sent)
        sent->path = make_path(folder, cluster_id, root);
    if (!sent || !sent->path) {
        sent_free(sent);
        err_no_memory(err, "the memory of what was sent");
        return NULL;
    }
    int code = open_env(sent);
    if (code == 0)
        code = read_delivered(sent);
    if (code) {
        unusable(sent, code, err);
        sent_free(sent);
        return NULL;
    }
    return sent;
}

void
sent_free(struct sent *sent)
{
    if (!sent)
        return;
    drop_pending(sent);
    free(sent->pending);
    if (sent->env)
        mdb_env_close(sent->env);
    free(sent->path);
    free(sent);
}

const char *
sent_path(const struct sent *sent)
{
    return sent->path;
}
