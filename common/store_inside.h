/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the store: the open batch above, the disk below. For store*.c alone. */
#pragma once

#include "store.h"

#include "arena.h"
#include "digest.h"
#include "key_filter.h"
#include "store_unindexed.h"

#include <lmdb.h>

enum {
    STORE_KEY_MAX = DIGEST_BYTES + STORE_SUFFIX_MAX,
    STORE_LEVELS = 12,       /* of the skip list: 4^12 changes */
    STORE_MARK_BYTES = 64,   /* a boot of the machine */
    STORE_GROUP_BYTES = 256, /* of a name whose digest is remembered */
};

/* A change of the open batch. */
struct node {
    uint64_t prefix; /* of the key, beside what a search reads with it */
    struct node *next[STORE_LEVELS];
    uint8_t key[STORE_KEY_MAX];
    bool unseen;        /* nothing of the group is below the batch */
    bool fresh;         /* the index on the disk has nothing of the group */
    bool told;          /* store_changes() gave this value */
    struct slice name;  /* the key as it was given */
    struct slice value; /* null: the record is removed */
    int64_t due_ms;
    struct node *next_untold;
};

struct staged {
    struct slice name;
    struct slice value;
    int64_t due_ms;
    struct staged *next;
};

/* The group that was asked for last: what is read is written next. */
struct known_group {
    char name[STORE_GROUP_BYTES];
    size_t len; /* SIZE_MAX: none */
    uint8_t digest[DIGEST_BYTES];
};

struct store {
    struct store_settings settings;
    /* The disk. */
    char *folder;
    char *file;
    char *mark_file;
    char boot[STORE_MARK_BYTES]; /* "": unknown, and every commit waits for the disk */
    char discarded[128];
    MDB_env *env;
    MDB_dbi index, records, due, meta;
    MDB_txn *reader; /* NULL: none begun; one for a batch */
    bool reading;
    bool opened; /* sound, and its mark is written */
    int64_t offset;
    uint64_t next_number;       /* of a new record */
    struct unindexed unindexed; /* of records on the disk */
    /* The open batch: a skip list, and what the record in work has staged. */
    struct arena arena;
    struct node head;    /* holds no key */
    struct node *untold; /* in the order of their changes */
    struct node **last_untold;
    struct staged *first;
    struct staged **last;
    uint64_t random;
    struct known_group group;
    struct key_filter filter; /* of the digests of groups, the open batch included */
};

static inline size_t
store_key_bytes(const struct store *store)
{
    return DIGEST_BYTES + store->settings.suffix_bytes;
}

/* The number of a record, in the order of its bytes. */
struct number {
    uint8_t bytes[sizeof(uint64_t)];
};

/* A record as it lies on the disk. */
struct record {
    int64_t due_ms;
    const uint8_t *key;
    struct slice value;
};

/* What LMDB says, as an error; a damaged file is removed. */
enum err_kind store_unusable(const struct store *store, int code, struct err *err);

/* All below: 0 or what LMDB says. */
int store_disk_open(struct store *store);
void store_disk_close(struct store *store);
int store_begin_reading(struct store *store);
/* A reader that stays open keeps old pages from being used again. */
void store_end_reading(struct store *store);
/*
 * By its number. MDB_NOTFOUND also when its key is another than `key` (NULL: any): an
 * entry of the index may outlive its record, see store_disk.c.
 */
int store_read_record(const struct store *store,
                      MDB_txn *txn,
                      struct number number,
                      const uint8_t *key,
                      struct record *ret);
int store_take_number(const MDB_val *val, struct number *ret);
struct number store_number_of(uint64_t value);
/* The record of `key`, by the index or what it does not have yet; MDB_NOTFOUND. */
int store_find_record(const struct store *store,
                      MDB_txn *txn,
                      const uint8_t *key,
                      struct number *ret_number,
                      struct record *ret);
/* An entry of the key's group that the index does not have yet; all of them are fresh, or
 * none is. NULL: there is none. */
const struct unindexed_key *store_unindexed_mate(const struct store *store,
                                                 const uint8_t *key);
/* The next of what is due; MDB_NOTFOUND: nothing more is. */
int store_next_due(const struct store *store,
                   MDB_cursor *cursor,
                   int64_t now_ms,
                   struct record *ret);
/* The open batch, and how far the changelog was followed with it. */
int store_disk_write(struct store *store, int64_t offset);
/* Brings the index up to date. */
int store_disk_index(struct store *store);
/* The tables are empty. */
int store_disk_clear(struct store *store);
