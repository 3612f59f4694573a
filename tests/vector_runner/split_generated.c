/* SPDX-License-Identifier: Apache-2.0 */
/* Kind generated: traces that the generator makes again. */
#include "split_generated.h"
#include "split_trace.h"
#include "vectors.h"

#include "cleanup.h"
#include "digest.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 256, TRACE_MAX_BYTES = 1 << 30 };

const char *vector_generator;

static enum err_kind
failed(const char *what, const char *why, struct err *err)
{
    return err_set(err, ERR_RECORD, "generator_failed", "%s: %s", what, why);
}

/* A file of its own, which goes with the case. */
struct scratch {
    char path[PATH_BYTES];
};

static void
scratch_done(const struct scratch *scratch)
{
    if (scratch->path[0])
        unlink(scratch->path);
}

static enum err_kind
scratch_make(struct scratch *scratch, struct slice suffix, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    snprintf(scratch->path, sizeof scratch->path, "%s/heddle-vectors.XXXXXX%.*s",
             dir ? dir : "/tmp", SLICE_ARG(suffix));
    int fd = mkstemps(scratch->path, (int)suffix.len);
    if (fd < 0) {
        enum err_kind kind = failed(scratch->path, strerror(errno), err);
        scratch->path[0] = '\0';
        return kind;
    }
    close(fd);
    return ERR_OK;
}

/* A copy that execution may have. */
static char *
argument(struct arena *arena, struct slice text)
{
    char *copy = arena_calloc(arena, text.len + 1, 1);
    if (copy && text.len)
        memcpy(copy, text.data, text.len);
    return copy;
}

static enum err_kind
run_python(char **argv, struct err *err)
{
    pid_t pid;
    int status;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return err_no_memory(err, "the generator");
    /* What it says of itself is not ours to print. */
    int error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                                 O_WRONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!error)
        error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return failed("python3", strerror(error), err);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return failed("python3", strerror(errno), err);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return failed(argv[1], "it did not end well", err);
    return ERR_OK;
}

bool
generated_can_run(const char **ret_missing)
{
    struct err ignored;
    char *argv[] = {(char[]){"python3"}, (char[]){"-c"}, (char[]){""}, NULL};
    *ret_missing = "there is no python3; get it by ops/setup";
    return run_python(argv, &ignored) == ERR_OK;
}

static enum err_kind
generate(const char *path, struct json_value args, struct arena *arena, struct err *err)
{
    const char *generator =
        vector_generator ? vector_generator : SOURCE_DIR "/tests/tools/gen_trace.py";
    const char *const fixed[] = {"python3", generator, path};
    enum { FIXED = sizeof fixed / sizeof fixed[0] };
    char **argv = arena_calloc(arena, json_count(args) + FIXED + 1, sizeof *argv);
    struct json_iter iter = json_iter(args);
    struct slice key;
    struct json_value item;
    size_t n = 0;
    if (!argv)
        return err_no_memory(err, "the arguments of the generator");
    for (size_t i = 0; i < FIXED; i++)
        argv[n++] = argument(arena, slice_of(fixed[i]));
    while (json_next(&iter, &key, &item))
        argv[n++] = argument(arena, json_string(item));
    for (size_t i = 0; i < n; i++)
        if (!argv[i])
            return err_no_memory(err, "the arguments of the generator");
    return run_python(argv, err);
}

static enum err_kind
read_trace(const char *path, struct buf *bytes, struct err *err)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return failed(path, strerror(errno), err);
    char piece[64 << 10];
    size_t len;
    while ((len = fread(piece, 1, sizeof piece, file)) > 0)
        buf_add(bytes, piece, len);
    bool is_whole = !ferror(file);
    fclose(file);
    return is_whole ? buf_check(bytes, "a trace", err) : failed(path, "unreadable", err);
}

/* Whether the generator made what the case was made with. */
static enum err_kind
check_text(struct json_value input, struct slice bytes, struct err *err)
{
    CLEANUP(buf_done) struct buf text;
    char hex[DIGEST_HEX];
    int64_t size;
    struct slice sha256 = json_string(json_get(input, "sha256"));
    buf_init(&text, TRACE_MAX_BYTES);
    if (!sha256.data || !json_int(json_get(input, "bytes"), &size))
        return ERR_OK;
    if (split_trace_unpack(bytes, &text, err))
        return err->kind;
    digest_hex(buf_slice(&text), hex);
    if ((int64_t)text.len == size && slice_is(sha256, hex))
        return ERR_OK;
    return err_set(err, ERR_RECORD, "generator_differs", "generator differs");
}

enum err_kind
run_generated(struct json_value vector,
              struct arena *arena,
              struct buf *answer,
              struct err *err)
{
    CLEANUP(scratch_done) struct scratch scratch = {0};
    CLEANUP(buf_done) struct buf bytes;
    struct json_value input = json_get(vector, "input");
    buf_init(&bytes, TRACE_MAX_BYTES);
    if (scratch_make(&scratch, json_string(json_get(input, "suffix")), err) ||
        generate(scratch.path, json_get(input, "gen_args"), arena, err) ||
        read_trace(scratch.path, &bytes, err) ||
        check_text(input, buf_slice(&bytes), err))
        return err->kind;
    return split_trace_run(buf_slice(&bytes), json_get(input, "params"), SLICE("trace"),
                           EVENTS_DIGEST, answer, err);
}
