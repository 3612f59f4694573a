/* SPDX-License-Identifier: Apache-2.0 */
/* Real traces in a folder, beside DIR/expected. */
#include "split_files.h"
#include "split_trace.h"
#include "vectors.h"

#include "base_name.h"
#include "cleanup.h"
#include "digest.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_MAX_BYTES = 1 << 30, PATH_BYTES = 4096 };

struct tally {
    const char *dir;
    size_t passed;
    size_t failed;
};

static void
fail(struct tally *tally, const char *path, struct slice run, const char *why)
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

static void
run_one(struct tally *tally,
        const char *path,
        struct json_value run,
        struct slice bytes,
        struct slice base)
{
    CLEANUP(buf_done) struct buf answer;
    CLEANUP(buf_done) struct buf where = BUF_INIT;
    CLEANUP(arena_done) struct arena arena;
    struct json got;
    struct err err;
    buf_init(&answer, FILE_MAX_BYTES);
    arena_init(&arena, (size_t)4 << 30);
    struct slice name = json_string(json_get(run, "name"));
    if (split_trace_run(bytes, json_get(run, "params"), base, EVENTS_DIGEST, &answer,
                        &err) ||
        json_read(&got, buf_slice(&answer), &arena, &err))
        fail(tally, path, name, err.msg);
    else if (!split_answers_equal(json_get(run, "expect"), json_root(&got), &arena,
                                  &where))
        fail(tally, path, name, buf_text(&where));
    else
        tally->passed++;
}

/* The trace that an expected file speaks of, as it was when that was written. */
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
run_file(struct tally *tally, const char *path, struct err *err)
{
    CLEANUP(buf_done) struct buf text;
    CLEANUP(buf_done) struct buf bytes;
    CLEANUP(buf_done) struct buf base = BUF_INIT;
    CLEANUP(arena_done) struct arena arena;
    struct json doc;
    buf_init(&text, FILE_MAX_BYTES);
    buf_init(&bytes, FILE_MAX_BYTES);
    arena_init(&arena, (size_t)4 << 30);
    if (read_file(path, &text, err) || json_read(&doc, buf_slice(&text), &arena, err) ||
        read_trace(json_root(&doc), tally->dir, &bytes, err))
        return err->kind;
    struct json_value runs = json_get(json_root(&doc), "runs");
    struct json_iter iter = json_iter(runs);
    struct slice key;
    struct json_value run;
    if (json_count(runs) == 0)
        return err_set(err, ERR_RECORD, "file_empty", "holds no run");
    base_name_add(&base, json_string(json_get(json_root(&doc), "trace")));
    while (json_next(&iter, &key, &run))
        run_one(tally, path, run, buf_slice(&bytes), buf_slice(&base));
    return ERR_OK;
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

void
split_files_run(const char *dir, size_t *passed, size_t *failed)
{
    char expected[PATH_BYTES];
    struct tally tally = {.dir = dir};
    snprintf(expected, sizeof expected, "%s/expected", dir);
    char *const paths[] = {expected, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    for (FTSENT *entry; tree && (entry = fts_read(tree));) {
        struct err err;
        const char *dot = strrchr(entry->fts_name, '.');
        if (entry->fts_info == FTS_F && dot && strcmp(dot, ".json") == 0 &&
            run_file(&tally, entry->fts_path, &err))
            fail(&tally, entry->fts_path, (struct slice){NULL, 0}, err.msg);
    }
    if (tree)
        fts_close(tree);
    if (tally.passed + tally.failed == 0)
        fail(&tally, expected, (struct slice){NULL, 0}, "holds no trace");
    *passed += tally.passed;
    *failed += tally.failed;
}
