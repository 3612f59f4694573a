/* SPDX-License-Identifier: Apache-2.0 */
/* The chunk store: opening it, and drafts of either kind. */
#include "chunk_store.h"

#include "chunk_store_inside.h"
#include "disk.h"
#include "s3.h"
#include "uri.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* --- the store --------------------------------------------------------------------- */

static enum err_kind
bad_root(const struct chunk_store *store, const char *what, struct err *err)
{
    return err_fatal(err, EXIT_CONFIG, "bad_value", "[split] store: %.300s %s",
                     store->root, what);
}

static enum err_kind
open_folder(struct chunk_store *store, struct err *err)
{
    char path[PATH_MAX];
    if (!file_uri_path(slice_of(store->root), path))
        return bad_root(store, "names no place; write file:///DIR or s3://BUCKET/PREFIX",
                        err);
    store->folder = strdup(path);
    return store->folder ? ERR_OK : err_no_memory(err, "the chunk store");
}

static enum err_kind
open_bucket(struct chunk_store *store, struct err *err)
{
    char prefix[S3_KEY_BYTES + 1] = "";
    struct slice escaped;
    if (!store->remote || !s3_parse(slice_of(store->root), &store->bucket, &escaped) ||
        (escaped.len > 0 && !uri_decode(escaped, prefix, sizeof prefix)))
        return bad_root(store, "is no s3://BUCKET/PREFIX", err);
    store->prefix = strdup(prefix);
    return store->prefix ? ERR_OK : err_no_memory(err, "the chunk store");
}

static enum err_kind
open_store(struct chunk_store *store,
           const struct chunk_store_settings *settings,
           struct err *err)
{
    struct slice url = slice_of(settings->url);
    while (url.len > 0 && url.data[url.len - 1] == '/')
        url.len--;
    store->remote = settings->remote;
    store->root = strndup(url.data, url.len);
    if (settings->tmp_dir)
        store->tmp_dir = strdup(settings->tmp_dir);
    if (!store->root || (settings->tmp_dir && !store->tmp_dir))
        return err_no_memory(err, "the chunk store");
    return uri_has_scheme(url, "s3://") ? open_bucket(store, err)
                                        : open_folder(store, err);
}

enum err_kind
chunk_store_new(const struct chunk_store_settings *settings,
                struct chunk_store **ret_store,
                struct err *err)
{
    struct chunk_store *store = calloc(1, sizeof *store);
    if (!store)
        return err_no_memory(err, "the chunk store");
    if (open_store(store, settings, err)) {
        chunk_store_free(store);
        return err->kind;
    }
    *ret_store = store;
    return ERR_OK;
}

void
chunk_store_free(struct chunk_store *store)
{
    if (!store)
        return;
    free(store->root);
    free(store->folder);
    free(store->tmp_dir);
    free(store->prefix);
    free(store);
}

const char *
chunk_store_root(const struct chunk_store *store)
{
    return store->root;
}

const char *
chunk_store_folder(const struct chunk_store *store)
{
    return store->folder;
}

/* --- a draft ----------------------------------------------------------------------- */

const char *
chunk_draft_place(const struct chunk_draft *draft)
{
    return draft->place == CHUNK_PLACE_CHUNKS ? "chunks" : "traces";
}

enum err_kind
chunk_draft_away(const struct chunk_draft *draft, const char *why, struct err *err)
{
    err_set(err, ERR_RETRY, "store_unavailable", "%.300s/%s: %s", draft->store->root,
            chunk_draft_place(draft), why);
    if (err)
        err->final_code = "output_failed";
    return ERR_RETRY;
}

enum err_kind
chunk_draft_no_memory(struct err *err)
{
    return err_no_memory(err, "an object of the chunk store");
}

enum err_kind
chunk_draft_new(struct chunk_store *store,
                enum chunk_place place,
                struct chunk_draft **ret_draft,
                struct err *err)
{
    struct chunk_draft *draft = calloc(1, sizeof *draft);
    if (!draft)
        return chunk_draft_no_memory(err);
    *draft = (struct chunk_draft){.store = store, .place = place, .fd = -1};
    if (store->folder ? chunk_file_open(draft, err) : chunk_s3_open(draft, err)) {
        chunk_draft_free(draft);
        return err->kind;
    }
    *ret_draft = draft;
    return ERR_OK;
}

void
chunk_draft_free(struct chunk_draft *draft)
{
    if (!draft)
        return;
    disk_closep(&draft->fd);
    if (draft->path)
        unlink(draft->path);
    free(draft->path);
    free(draft);
}

enum err_kind
chunk_draft_add(struct chunk_draft *draft, struct slice piece, struct err *err)
{
    return disk_write(draft->fd, piece) ? ERR_OK
                                        : chunk_draft_away(draft, strerror(errno), err);
}

enum err_kind
chunk_draft_put(struct chunk_draft *draft, const char *name, struct err *err)
{
    return draft->store->folder ? chunk_file_put(draft, name, err)
                                : chunk_s3_put(draft, name, err);
}
