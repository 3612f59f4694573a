/* SPDX-License-Identifier: Apache-2.0 */
/* heddle audit: the row of one result on disk, by the worker's own function. */
#include "verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "derive.h"
#include "json_scan.h"
#include "part_file.h"
#include "set_defaults.h"

/* Largest part, as the worker takes it by default (audit.max_part_bytes). */
#define PART_MAX_BYTES ((size_t)64 << 20)
enum { PIECE_BYTES = 64 * 1024 };

static struct {
    struct option_list logs;
    const char *e2e;
    int64_t event_time_us;
    struct option_list set;
    bool x;
} settings;

static const struct option audit_options[] = {
    {.name = "log",
     .type = OPTION_LIST,
     .offset = offsetof(__typeof__(settings), logs),
     .arg = "[TUNER=]FILE",
     .traits = OPTION_CLI_ONLY,
     .help = "A tune.log; its tuner is the name of its folder; repeatable."},
    {.name = "e2e",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), e2e),
     .arg = "FILE",
     .traits = OPTION_CLI_ONLY,
     .help = "The verdict of the run, e2e_results.json."},
    {.name = "event_time_us",
     .type = OPTION_INT,
     .offset = offsetof(__typeof__(settings), event_time_us),
     .min = AUDIT_MIN_TIME_US,
     .max = AUDIT_MAX_TIME_US,
     .arg = "N",
     .traits = OPTION_CLI_ONLY,
     .help = "Event time; else the modification time of RESULT."},
    {.name = "set",
     .type = OPTION_LIST,
     .offset = offsetof(__typeof__(settings), set),
     .arg = "KEY=JSON",
     .traits = OPTION_CLI_ONLY,
     .help = "Fills a key that the result does not have; repeatable."},
    {.name = "x",
     .type = OPTION_FLAG,
     .offset = offsetof(__typeof__(settings), x),
     .traits = OPTION_CLI_ONLY,
     .help = "Prints x on a second line."},
};

/* The parts as they were read; `files` has one slot each. */
struct inputs {
    struct arena arena;
    struct part_file result;
    struct part_file e2e;
    struct part_file *files; /* of the logs */
    struct audit_log *logs;
    struct default_entry *defaults;
    size_t n_defaults;
};

static void
inputs_done(struct inputs *inputs)
{
    part_file_done(&inputs->result);
    part_file_done(&inputs->e2e);
    for (size_t i = 0; inputs->files && i < settings.logs.n; i++)
        part_file_done(&inputs->files[i]);
    free(inputs->files);
    free(inputs->logs);
    arena_done(&inputs->arena);
}

static void
closep(const int *fd)
{
    if (*fd > STDERR_FILENO)
        close(*fd);
}

static enum err_kind
unreadable(const char *path, const char *why, struct err *err)
{
    return err_fatal(err, EXIT_NEGATIVE, "file_unreadable", "%s: %s", path, why);
}

/* --- reading ----------------------------------------------------------------------- */

static enum err_kind
read_stream(int fd, const char *path, struct part_file *file, struct err *err)
{
    char piece[PIECE_BYTES];
    buf_init(&file->bytes, PART_MAX_BYTES);
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return unreadable(path, strerror(errno), err);
        if (n == 0)
            return ERR_OK;
        buf_add(&file->bytes, piece, (size_t)n);
        if (file->bytes.failed)
            return unreadable(path, "larger than 64 MiB, or no memory for it", err);
    }
}

static enum err_kind
read_regular(const char *path, struct part_file *file, struct err *err)
{
    if (part_file_read(path, PART_MAX_BYTES, 0, file, err) == ERR_RETRY) {
        err->kind = ERR_FATAL;
        err->exit_code = EXIT_TRY_AGAIN;
    } else if (err->kind == ERR_RECORD) {
        err->kind = ERR_FATAL;
        err->exit_code = EXIT_NEGATIVE;
    }
    if (!err->kind && !file->kept)
        return unreadable(path, "larger than 64 MiB", err);
    return err->kind;
}

/* A file, or a stream: `*ret_timed` says whether it has a modification time. */
static enum err_kind
read_input(const char *path, struct part_file *file, bool *ret_timed, struct err *err)
{
    struct stat st;
    bool standard = strcmp(path, "-") == 0;
    CLEANUP(closep)
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0)
        return unreadable(path, strerror(errno), err);
    *ret_timed = !standard && S_ISREG(st.st_mode);
    return *ret_timed ? read_regular(path, file, err) : read_stream(fd, path, file, err);
}

/* TUNER= in front of a path: no slash before the sign. */
static const char *
split_tuner(const char *log, struct slice *ret_tuner)
{
    const char *equals = strchr(log, '=');
    if (!equals || equals == log || memchr(log, '/', (size_t)(equals - log)))
        return log;
    *ret_tuner = (struct slice){log, (size_t)(equals - log)};
    return equals + 1;
}

static struct slice
last_name(const char *path, size_t len)
{
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/')
        start--;
    return (struct slice){path + start, len - start};
}

/* The name of the file's folder as it was given; of the real one when that says
 * nothing. */
static enum err_kind
folder_name(const char *path,
            struct arena *arena,
            struct slice *ret_name,
            struct err *err)
{
    struct slice file = last_name(path, strlen(path));
    size_t len = (size_t)(file.data - path);
    struct slice name = last_name(path, len);
    if (name.len > 0 && !slice_is(name, ".") && !slice_is(name, "..")) {
        *ret_name = name;
        return ERR_OK;
    }
    struct slice folder = len ? arena_copy(arena, (struct slice){path, len})
                              : arena_copy(arena, SLICE("."));
    if (!folder.data)
        return err_no_memory(err, "a path");
    char *real = realpath(folder.data, NULL);
    if (!real)
        return unreadable(path, strerror(errno), err);
    *ret_name = arena_copy(arena, last_name(real, strlen(real)));
    free(real);
    if (ret_name->len == 0)
        return err_fatal(err, EXIT_USAGE, "tuner_unknown",
                         "--log %s: its folder has no name; give TUNER=FILE", path);
    return ERR_OK;
}

static enum err_kind
read_log(struct inputs *inputs, size_t i, struct err *err)
{
    bool timed;
    struct audit_log *log = &inputs->logs[i];
    const char *path = split_tuner(settings.logs.items[i], &log->tuner);
    if (!log->tuner.data && folder_name(path, &inputs->arena, &log->tuner, err))
        return err->kind;
    if (read_input(path, &inputs->files[i], &timed, err))
        return err->kind;
    log->bytes = buf_slice(&inputs->files[i].bytes);
    log->event_time_us = part_file_us(inputs->files[i].mtime_ns);
    return ERR_OK;
}

static enum err_kind
read_logs(struct inputs *inputs, struct err *err)
{
    size_t n = settings.logs.n ? settings.logs.n : 1;
    inputs->files = calloc(n, sizeof inputs->files[0]);
    inputs->logs = calloc(n, sizeof inputs->logs[0]);
    if (!inputs->files || !inputs->logs)
        return err_no_memory(err, "the logs");
    for (size_t i = 0; i < settings.logs.n; i++)
        if (read_log(inputs, i, err))
            return err->kind;
    return ERR_OK;
}

/* The row is derived without such a verdict; x has the note, a person sees this. */
static void
warn_of_verdict(const struct part_file *e2e)
{
    enum json_type type = JSON_TYPE_OBJECT;
    struct slice text = buf_slice(&e2e->bytes);
    if (text.len >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        text = (struct slice){text.data + 3, text.len - 3};
    bool good = json_scan_check(text, &type, NULL) == ERR_OK;
    if (!good || type != JSON_TYPE_OBJECT)
        fprintf(stderr,
                "heddle audit: e2e_invalid: %s: %s where an object belongs; the row is "
                "derived without it\n",
                settings.e2e, good ? json_type_name(type) : "no JSON");
}

static enum err_kind
read_parts(const struct program_call *call,
           struct inputs *inputs,
           struct audit_parts *parts,
           struct err *err)
{
    bool timed, ignored;
    const char *result = call->rest[0];
    if (read_input(result, &inputs->result, &timed, err) || read_logs(inputs, err))
        return err->kind;
    bool given =
        options_origin(call->options, NULL, "event_time_us", NULL) == ORIGIN_FLAG;
    if (!timed && !given)
        return err_fatal(err, EXIT_USAGE, "event_time_missing",
                         "%s has no modification time; give --event-time-us N", result);
    *parts = (struct audit_parts){
        .result = buf_slice(&inputs->result.bytes),
        .has_event_time = true,
        .event_time_us =
            given ? settings.event_time_us : part_file_us(inputs->result.mtime_ns),
        .logs = inputs->logs,
        .n_logs = settings.logs.n,
        .defaults = {inputs->defaults, inputs->n_defaults},
    };
    if (!settings.e2e)
        return ERR_OK;
    if (read_input(settings.e2e, &inputs->e2e, &ignored, err))
        return err->kind;
    parts->e2e = buf_slice(&inputs->e2e.bytes);
    warn_of_verdict(&inputs->e2e);
    return ERR_OK;
}

/* --- the answer -------------------------------------------------------------------- */

/* The dead letter's code (events.md 8) for the reason that derive gives. */
static enum err_kind
refuse(const char *path, const char *reason, struct err *err)
{
    const char *type = strchr(reason, ':');
    if (type)
        return err_fatal(err, EXIT_NEGATIVE, "result_not_an_object",
                         "result_not_an_object: %s is a JSON %s; no row", path, type + 1);
    bool empty = strcmp(reason, "empty") == 0;
    const char *code = empty ? "result_empty" : "result_unparseable";
    return err_fatal(err, EXIT_NEGATIVE, code, "%s: %s is %s; no row", code, path,
                     empty ? "empty" : "no JSON");
}

static enum err_kind
print_answer(const struct audit_answer *answer, struct err *err)
{
    CLEANUP(buf_done) struct buf out;
    buf_init(&out, answer->row.len + answer->x.len + 2);
    buf_add_slice(&out, answer->row);
    buf_add_byte(&out, '\n');
    if (settings.x) {
        buf_add_slice(&out, answer->x);
        buf_add_byte(&out, '\n');
    }
    return program_print(&out, err);
}

static enum err_kind
audit(const struct program_call *call, struct inputs *inputs, struct err *err)
{
    struct audit_parts parts;
    struct audit_answer answer;
    if (set_defaults_parse(&settings.set, &inputs->arena, &inputs->defaults,
                           &inputs->n_defaults, err) ||
        read_parts(call, inputs, &parts, err))
        return err->kind;
    enum err_kind kind = audit_row_derive(&parts, &inputs->arena, &answer, err);
    if (kind) {
        struct err cause = *err;
        return err_fatal(err, kind == ERR_RECORD ? EXIT_NEGATIVE : EXIT_INTERNAL,
                         cause.code, "%s: %s", cause.code, cause.msg);
    }
    if (answer.dead_reason[0])
        return refuse(call->rest[0], answer.dead_reason, err);
    return print_answer(&answer, err);
}

static int
run(const struct program_call *call, struct err *err)
{
    CLEANUP(inputs_done) struct inputs inputs = {0};
    if (call->n_rest == 0)
        err_fatal(err, EXIT_USAGE, "usage",
                  "no result is given: heddle audit RESULT, - for standard input");
    else if (!verb_refuse_rest(call, 1, err))
        audit(call, &inputs, err);
    return err->kind ? err_exit_code(err) : EXIT_OK;
}

const struct verb verb_audit = {
    .name = "audit",
    .usage = "[OPTION]... RESULT",
    .summary = "Prints the audit row of a result.json.",
    .details = "The row is the one that heddle-audit writes to the topic, byte for byte. "
               "RESULT is a file,\nor - for standard input, which needs --event-time-us. "
               "A result that gives no row is\nnamed with its code, and the exit status "
               "is 1.",
    .options = audit_options,
    .n_options = sizeof audit_options / sizeof audit_options[0],
    .settings = &settings,
    .no_settings = true,
    .run = run,
};
