/* SPDX-License-Identifier: Apache-2.0 */
/* The chunk store. */
#include "chunk_store.h"

#include "buf.h"
#include "cleanup.h"
#include "disk.h"
#include "uri.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MODE = 0644, FOLDER_MODE = 0755 };

struct chunk_store {
    char *root;   /* without a slash at its end */
    char *folder; /* what `root` names */
};

struct chunk_draft {
    struct chunk_store *store;
    enum chunk_place place;
    int fd;
    char *path; /* NULL: put */
};

static const char *const places[] = {"chunks", "traces"};

/* --- the store --------------------------------------------------------------------- */

static enum err_kind
open_folder(struct chunk_store *store, struct err *err)
{
    char path[PATH_MAX];
    if (!file_uri_path(slice_of(store->root), path))
        return err_fatal(err, EXIT_CONFIG, "bad_value",
                         "[split] store: %.300s names no absolute folder of this host; "
                         "write file:///DIR",
                         store->root);
    store->folder = strdup(path);
    return store->folder ? ERR_OK : err_no_memory(err, "the chunk store");
}

enum err_kind
chunk_store_new(const struct chunk_store_settings *settings,
                struct chunk_store **ret_store,
                struct err *err)
{
    struct slice url = slice_of(settings->url);
    while (url.len > 0 && url.data[url.len - 1] == '/')
        url.len--;
    struct chunk_store *store = calloc(1, sizeof *store);
    if (store)
        store->root = strndup(url.data, url.len);
    if (!store || !store->root) {
        chunk_store_free(store);
        return err_no_memory(err, "the chunk store");
    }
    if (open_folder(store, err)) {
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

static enum err_kind
away(const struct chunk_draft *draft, int error, struct err *err)
{
    err_set(err, ERR_RETRY, "store_unavailable", "%.300s/%s: %s", draft->store->root,
            places[draft->place], strerror(error));
    if (err)
        err->final_code = "output_failed";
    return ERR_RETRY;
}

/* The path of `name` in the draft's folder; malloc()ed, "" for the folder itself. */
static char *
path_of(const struct chunk_draft *draft, const char *name)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%s%s%s", draft->store->folder, places[draft->place],
             *name ? "/" : "", name);
    const char *text = buf_text(&path);
    return *text ? strdup(text) : NULL;
}

static void
freep(char **text)
{
    free(*text);
}

/* Only the folder below the root is made. */
static bool
make_folder(const struct chunk_draft *draft, const char *folder)
{
    if (mkdir(folder, FOLDER_MODE) == 0)
        return disk_sync_folder(draft->store->folder);
    return errno == EEXIST;
}

static enum err_kind
open_draft(struct chunk_draft *draft, struct err *err)
{
    CLEANUP(freep) char *folder = path_of(draft, "");
    CLEANUP(freep) char *path = path_of(draft, ".draft.XXXXXX");
    if (!folder || !path)
        return err_no_memory(err, "an object of the chunk store");
    if (!make_folder(draft, folder))
        return away(draft, errno, err);
    draft->fd = mkostemp(path, O_CLOEXEC);
    if (draft->fd < 0)
        return away(draft, errno, err);
    draft->path = path;
    path = NULL;
    return fchmod(draft->fd, FILE_MODE) == 0 ? ERR_OK : away(draft, errno, err);
}

enum err_kind
chunk_draft_new(struct chunk_store *store,
                enum chunk_place place,
                struct chunk_draft **ret_draft,
                struct err *err)
{
    struct chunk_draft *draft = calloc(1, sizeof *draft);
    if (!draft)
        return err_no_memory(err, "an object of the chunk store");
    *draft = (struct chunk_draft){.store = store, .place = place, .fd = -1};
    if (open_draft(draft, err)) {
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
    if (draft->fd >= 0)
        close(draft->fd);
    if (draft->path)
        unlink(draft->path);
    free(draft->path);
    free(draft);
}

enum err_kind
chunk_draft_add(struct chunk_draft *draft, struct slice piece, struct err *err)
{
    return disk_write(draft->fd, piece) ? ERR_OK : away(draft, errno, err);
}

/* --- putting it in place ----------------------------------------------------------- */

/* Gives the draft its name unless that is taken: 0, or EEXIST and the like. */
static int
take_name(struct chunk_draft *draft, const char *name)
{
    if (renameat2(AT_FDCWD, draft->path, AT_FDCWD, name, RENAME_NOREPLACE) == 0) {
        free(draft->path);
        draft->path = NULL;
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    /* A file system that can't: a second name, of which the first goes with the draft. */
    return link(draft->path, name) == 0 ? 0 : errno;
}

enum err_kind
chunk_draft_put(struct chunk_draft *draft, const char *name, struct err *err)
{
    CLEANUP(freep) char *folder = path_of(draft, "");
    CLEANUP(freep) char *path = path_of(draft, name);
    if (!folder || !path)
        return err_no_memory(err, "an object of the chunk store");
    if (fsync(draft->fd) != 0)
        return away(draft, errno, err);
    int error = take_name(draft, path);
    if (error && error != EEXIST)
        return away(draft, error, err);
    /* A name that another worker gave may not have lasted yet. */
    return disk_sync_folder(folder) ? ERR_OK : away(draft, errno, err);
}
