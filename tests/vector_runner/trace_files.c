/* SPDX-License-Identifier: Apache-2.0 */
/* Traces and the documents beside them. */
#include "trace_files.h"

#include "arena.h"
#include "cleanup.h"
#include "digest.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX_BYTES = 1 << 30, PATH_BYTES = 4096 };
#define DOCUMENT_ARENA_BYTES ((size_t)4 << 30)

void
trace_fail(struct trace_tally *tally, const char *path, struct slice run, const char *why)
{
    printf("FAILED %s: %.*s: %s\n", path, SLICE_ARG(run), why);
    tally->failed++;
}

static enum err_kind
read_file(const char *path, struct buf *bytes, struct err *err)
{
    char piece[64 << 10];
    size_t len;
    FILE *file = fopen(path, "rb");
    if (!file)
        return err_set(err, ERR_RECORD, "file_unreadable", "%s: %s", path,
                       strerror(errno));
    while ((len = fread(piece, 1, sizeof piece, file)) > 0)
        buf_add(bytes, piece, len);
    bool is_whole = !ferror(file);
    fclose(file);
    if (!is_whole)
        return err_set(err, ERR_RECORD, "file_unreadable", "%s: unreadable", path);
    return buf_check(bytes, path, err);
}

/* The trace that a document speaks of, as it was when that was written. */
static enum err_kind
read_trace(struct json_value doc, const char *dir, struct buf *bytes, struct err *err)
{
    char path[PATH_BYTES];
    char hex[DIGEST_HEX];
    struct slice trace = json_string(json_get(doc, "trace"));
    snprintf(path, sizeof path, "%s/%.*s", dir, SLICE_ARG(trace));
    if (read_file(path, bytes, err))
        return err->kind;
    digest_hex(buf_slice(bytes), hex);
    if (slice_is(json_string(json_get(doc, "sha256")), hex))
        return ERR_OK;
    return err_set(err, ERR_RECORD, "trace_differs", "%s is another trace", path);
}

static enum err_kind
run_document(const char *dir,
             const char *path,
             trace_check_fn *check,
             struct trace_tally *tally,
             struct err *err)
{
    CLEANUP(buf_done) struct buf text;
    CLEANUP(buf_done) struct buf bytes;
    CLEANUP(arena_done) struct arena arena;
    struct json doc;
    buf_init(&text, FILE_MAX_BYTES);
    buf_init(&bytes, FILE_MAX_BYTES);
    arena_init(&arena, DOCUMENT_ARENA_BYTES);
    if (read_file(path, &text, err) || json_read(&doc, buf_slice(&text), &arena, err) ||
        read_trace(json_root(&doc), dir, &bytes, err))
        return err->kind;
    return check(tally, path, json_root(&doc), buf_slice(&bytes), err);
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

size_t
trace_files_walk(const char *dir,
                 const char *sub,
                 trace_check_fn *check,
                 struct trace_tally *tally)
{
    char folder[PATH_BYTES];
    size_t n = 0;
    snprintf(folder, sizeof folder, "%s/%s", dir, sub);
    char *const paths[] = {folder, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    for (FTSENT *entry; tree && (entry = fts_read(tree));) {
        struct err err;
        const char *dot = strrchr(entry->fts_name, '.');
        if (entry->fts_info != FTS_F || !dot || strcmp(dot, ".json") != 0)
            continue;
        n++;
        if (run_document(dir, entry->fts_path, check, tally, &err))
            trace_fail(tally, entry->fts_path, (struct slice){NULL, 0}, err.msg);
    }
    if (tree)
        fts_close(tree);
    return n;
}
