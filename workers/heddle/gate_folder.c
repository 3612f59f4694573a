/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of an older splitter. */
#include "gate_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "details.h"
#include "import.h"
#include "input_json.h"

enum { PIECE_BYTES = 64 * 1024 };

struct found_file {
    struct slice path; /* below the folder */
    enum gate_mode mode;
    int suffix;
};

struct folder {
    const char *root;
    struct arena *arena;
    struct found_file *files;
    size_t n, cap;
};

/* --- files -------------------------------------------------------------------------- */

static enum err_kind
unreadable(const char *path, struct err *err)
{
    return err_fatal(err, EXIT_USAGE, "file_unreadable", "%.500s: %s", path,
                     strerror(errno));
}

static enum err_kind
read_all(int fd, const char *path, struct buf *out, struct err *err)
{
    for (;;) {
        if (!buf_reserve(out, PIECE_BYTES))
            return err_fatal(err, EXIT_USAGE, "file_too_large",
                             "%.500s is larger than %zu bytes", path, out->max);
        ssize_t n = read(fd, out->data + out->len, PIECE_BYTES);
        if (n == 0)
            return ERR_OK;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return unreadable(path, err);
        out->len += (size_t)n;
    }
}

enum err_kind
gate_read_file(const char *path, struct buf *out, struct err *err)
{
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", out, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return unreadable(path, err);
    enum err_kind kind = read_all(fd, path, out, err);
    close(fd);
    return kind;
}

/* --- the folder's files ------------------------------------------------------------- */

static enum err_kind
add_file(struct folder *folder, struct slice path, struct err *err)
{
    struct found_file file = {.path = path};
    file.mode = import_family_of(path, &file.suffix);
    if (file.mode == MODES)
        return ERR_OK;
    if (folder->n == GATE_FOLDER_FILES)
        return err_fatal(err, EXIT_USAGE, "folder_unreadable",
                         "%.500s holds more than %d chunk files", folder->root,
                         GATE_FOLDER_FILES);
    if (folder->n == folder->cap) {
        size_t cap = folder->cap ? 2 * folder->cap : 64;
        struct found_file *files = arena_alloc(folder->arena, cap * sizeof files[0]);
        if (!files)
            return err_no_memory(err, "the files of a folder");
        if (folder->n)
            memcpy(files, folder->files, folder->n * sizeof files[0]);
        folder->files = files;
        folder->cap = cap;
    }
    folder->files[folder->n++] = file;
    return ERR_OK;
}

static int
is_visible(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static enum err_kind
walk(struct folder *folder, struct slice below, int depth, struct err *err);

static enum err_kind
visit(struct folder *folder,
      struct slice below,
      const char *name,
      int depth,
      struct err *err)
{
    struct stat status;
    struct slice path =
        below.len ? arena_printf(folder->arena, "%.*s/%s", SLICE_ARG(below), name)
                  : arena_copy(folder->arena, slice_of(name));
    struct slice full =
        arena_printf(folder->arena, "%s/%.*s", folder->root, SLICE_ARG(path));
    if (!path.data || !full.data)
        return err_no_memory(err, "the files of a folder");
    if (lstat(full.data, &status))
        return errno == ENOENT ? ERR_OK : unreadable(full.data, err);
    if (S_ISDIR(status.st_mode))
        return walk(folder, path, depth + 1, err);
    return S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)
               ? add_file(folder, path, err)
               : ERR_OK;
}

static enum err_kind
walk(struct folder *folder, struct slice below, int depth, struct err *err)
{
    struct dirent **entries = NULL;
    struct slice full = arena_printf(folder->arena, "%s%s%.*s", folder->root,
                                     below.len ? "/" : "", SLICE_ARG(below));
    if (!full.data)
        return err_no_memory(err, "the files of a folder");
    if (depth > GATE_FOLDER_DEPTH)
        return err_fatal(err, EXIT_USAGE, "folder_unreadable",
                         "%.500s is more than %d folders deep", full.data,
                         GATE_FOLDER_DEPTH);
    int n = scandir(full.data, &entries, is_visible, alphasort);
    if (n < 0)
        return unreadable(full.data, err);
    enum err_kind kind = ERR_OK;
    for (int i = 0; i < n; i++) {
        if (!kind)
            kind = visit(folder, below, entries[i]->d_name, depth, err);
        free(entries[i]);
    }
    free(entries);
    return kind;
}

static int
by_rank(const void *a, const void *b)
{
    const struct found_file *x = a;
    const struct found_file *y = b;
    if (x->suffix != y->suffix)
        return x->suffix < y->suffix ? -1 : 1;
    return slice_compare(x->path, y->path);
}

/* --- manifest and table ------------------------------------------------------------- */

static bool
exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static enum err_kind
read_manifest(const struct folder *folder, struct gate_split *split, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes;
    struct slice path =
        arena_printf(folder->arena, "%s/split_manifest.json", folder->root);
    struct json *doc = arena_alloc(folder->arena, sizeof *doc);
    struct err cause = {0};
    int64_t status = STATUS_UNKNOWN;
    buf_init(&bytes, GATE_FILE_MAX_BYTES);
    if (!path.data || !doc)
        return err_no_memory(err, "the manifest");
    if (!exists(path.data))
        return ERR_OK;
    if (gate_read_file(path.data, &bytes, err))
        return err->kind;
    if (json_read(doc, buf_slice(&bytes), folder->arena, &cause) ||
        json_kind(json_root(doc)) != JSON_OBJECT)
        return err_fatal(err, EXIT_USAGE, "manifest_malformed",
                         "%.500s is no JSON object; split the trace again", path.data);
    struct json_value manifest = json_root(doc);
    struct json_value given = json_get(manifest, "status");
    split->status = split_status_of(json_string(given));
    if (json_int(given, &status) && status >= 0 && status < STATUS_UNKNOWN)
        split->status = (enum split_status)status;
    split->aborted = json_truthy(json_get(manifest, "aborted"));
    split->has_numbers = true;
    input_json_trace_numbers(manifest, &split->numbers);
    return ERR_OK;
}

/* The file that a row is about, its links followed; NULL when there is none. */
static char *
resolve(const struct folder *folder, struct slice output_path)
{
    struct slice path = arena_copy(folder->arena, output_path);
    char *real = path.data && path.len ? realpath(path.data, NULL) : NULL;
    if (real || !path.data || path.len == 0 || path.data[0] == '/')
        return real;
    path = arena_printf(folder->arena, "%s/%.*s", folder->root, SLICE_ARG(output_path));
    return path.data ? realpath(path.data, NULL) : NULL;
}

static void
measure(const struct folder *folder,
        const struct details_row *row,
        char *const *real,
        struct gate_chunk *chunks)
{
    char *target = resolve(folder, row->output_path);
    for (size_t i = 0; target && i < folder->n; i++)
        if (real[i] && strcmp(real[i], target) == 0 && !chunks[i].has_numbers) {
            chunks[i].has_numbers = true;
            chunks[i].numbers = row->numbers;
        }
    free(target);
}

static enum err_kind
match_rows(const struct folder *folder,
           const struct details_row *rows,
           size_t n,
           struct gate_chunk *chunks,
           struct err *err)
{
    char **real = calloc(folder->n ? folder->n : 1, sizeof real[0]);
    if (!real)
        return err_no_memory(err, "the files of a folder");
    for (size_t i = 0; i < folder->n; i++) {
        struct slice path = arena_printf(folder->arena, "%s/%.*s", folder->root,
                                         SLICE_ARG(folder->files[i].path));
        real[i] = path.data ? realpath(path.data, NULL) : NULL;
    }
    for (size_t i = 0; i < n; i++)
        measure(folder, &rows[i], real, chunks);
    for (size_t i = 0; i < folder->n; i++)
        free(real[i]);
    free(real);
    return ERR_OK;
}

/* A table that can't be read leaves its chunks unmeasured, and is named. */
static enum err_kind
read_details(const struct folder *folder,
             struct gate_chunk *chunks,
             struct slice *ret_remark,
             struct err *err)
{
    CLEANUP(buf_done) struct buf bytes;
    struct slice path =
        arena_printf(folder->arena, "%s/execution_details.csv", folder->root);
    struct details_row *rows = NULL;
    struct err cause = {0};
    size_t n = 0;
    buf_init(&bytes, GATE_FILE_MAX_BYTES);
    if (!path.data)
        return err_no_memory(err, "the table of a folder");
    if (!exists(path.data))
        return ERR_OK;
    enum err_kind kind = gate_read_file(path.data, &bytes, &cause);
    struct slice kept =
        kind ? (struct slice){0} : arena_copy(folder->arena, buf_slice(&bytes));
    if (!kind && !kept.data)
        return err_no_memory(err, "the table of a folder");
    if (!kind)
        kind = details_read_csv(kept, folder->arena, &rows, &n, &cause);
    if (kind) {
        *ret_remark = arena_printf(folder->arena, "%s: %s; its chunks are unmeasured",
                                   path.data, cause.msg);
        return ret_remark->data ? ERR_OK : err_no_memory(err, "the table of a folder");
    }
    return match_rows(folder, rows, n, chunks, err);
}

enum err_kind
gate_folder_read(const char *dir,
                 struct arena *arena,
                 struct gate_split *ret_split,
                 struct slice *ret_remark,
                 struct err *err)
{
    struct folder folder = {.root = dir, .arena = arena};
    *ret_split = (struct gate_split){.status = STATUS_UNKNOWN};
    *ret_remark = (struct slice){0};
    if (walk(&folder, SLICE(""), 0, err))
        return err->kind;
    struct gate_chunk *chunks = arena_calloc(arena, folder.n, sizeof chunks[0]);
    if (!chunks)
        return err_no_memory(err, "the chunks of a folder");
    if (folder.n)
        qsort(folder.files, folder.n, sizeof folder.files[0], by_rank);
    for (size_t i = 0; i < folder.n; i++)
        chunks[i] = (struct gate_chunk){
            .kind = slice_of(mode_names[folder.files[i].mode]),
            .file = folder.files[i].path,
        };
    ret_split->chunks = chunks;
    ret_split->n_chunks = folder.n;
    if (read_manifest(&folder, ret_split, err))
        return err->kind;
    return read_details(&folder, chunks, ret_remark, err);
}
