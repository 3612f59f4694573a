/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk stores in a folder. */
#include "chunk_store_inside.h"

#include "buf.h"
#include "cleanup.h"
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MODE = 0644, FOLDER_MODE = 0755 };

static enum err_kind
away(const struct chunk_draft *draft, int error, struct err *err)
{
    return chunk_draft_away(draft, strerror(error), err);
}

/* The path of `name` in the draft's folder; malloc()ed, "" for the folder itself. */
static char *
path_of(const struct chunk_draft *draft, const char *name)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%s%s%s", draft->store->folder, chunk_draft_place(draft),
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
    if (mkdir(folder, FOLDER_MODE) != 0 && errno != EEXIST)
        return false;
    /* Who made it may have died before this. */
    return disk_sync_folder(draft->store->folder);
}

enum err_kind
chunk_file_open(struct chunk_draft *draft, struct err *err)
{
    CLEANUP(freep) char *folder = path_of(draft, "");
    CLEANUP(freep) char *path = path_of(draft, ".draft.XXXXXX");
    if (!folder || !path)
        return chunk_draft_no_memory(err);
    if (!make_folder(draft, folder))
        return away(draft, errno, err);
    draft->fd = mkostemp(path, O_CLOEXEC);
    if (draft->fd < 0)
        return away(draft, errno, err);
    draft->path = path;
    path = NULL;
    return fchmod(draft->fd, FILE_MODE) == 0 ? ERR_OK : away(draft, errno, err);
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
chunk_file_put(struct chunk_draft *draft, const char *name, struct err *err)
{
    CLEANUP(freep) char *folder = path_of(draft, "");
    CLEANUP(freep) char *path = path_of(draft, name);
    if (!folder || !path)
        return chunk_draft_no_memory(err);
    if (fsync(draft->fd) != 0)
        return away(draft, errno, err);
    int error = take_name(draft, path);
    if (error && error != EEXIST)
        return away(draft, error, err);
    /* A name that another worker gave may not have lasted yet. */
    return disk_sync_folder(folder) ? ERR_OK : away(draft, errno, err);
}
