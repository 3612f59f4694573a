/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The production scanner on a generated trace of 471 MB, all checks on, beside tools that
 * only pass over the bytes: `wc -l` for the plain file, `gzip -dc` for the packed one.
 * The trace is made once per run in a temporary folder and taken away again.
 */
#include "feed_thread.h"
#include "scan.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 5, PATH_BYTES = 512 };

static const double goal_plain_avx2 = 0.15;
static const double goal_plain_avx512 = 0.18;
static const double goal_gz = 3.5;
static const double goal_gz_wall = 1;
static const double allowed_gz_wall = 1.15;

extern char **environ;

static char folder[PATH_BYTES];
static char plain_path[PATH_BYTES];
static char packed_path[PATH_BYTES];

static void
remove_traces(void)
{
    unlink(plain_path);
    unlink(packed_path);
    rmdir(folder);
}

static void
fail(const char *what)
{
    fprintf(stderr, "bench_scan: %s\n", what);
    exit(EXIT_FAILURE);
}

static double
now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* Runs a shell command with its output thrown away; seconds. */
static double
time_command(const char *command)
{
    char shell[] = "sh";
    char flag[] = "-c";
    char *argv[] = {shell, flag, (char *)(uintptr_t)command, NULL};
    double start = now();
    pid_t pid;
    int status;
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) < 0 || status != 0)
        fail(command);
    return now() - start;
}

static void
make_traces(void)
{
    char command[4 * PATH_BYTES];
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/heddle-bench-XXXXXX", base ? base : "/var/tmp");
    if (!mkdtemp(folder))
        fail("no temporary folder");
    snprintf(plain_path, sizeof plain_path, "%.480s/trace.json", folder);
    snprintf(packed_path, sizeof packed_path, "%.480s/trace.json.gz", folder);
    atexit(remove_traces);
    snprintf(command, sizeof command,
             "python3 " SOURCE_DIR "/tests/tools/gen_trace.py %s --steps 200 --layers 60 "
             "--mode eager --stack 11 >/dev/null 2>&1 && gzip -k %s",
             plain_path, plain_path);
    fprintf(stderr, "bench_scan: making a trace of 471 MB and packing it\n");
    time_command(command);
}

static enum err_kind
rewind_file(void *state, struct err *err)
{
    const int *file = state;
    if (lseek(*file, 0, SEEK_SET) == 0)
        return ERR_OK;
    return err_set(err, ERR_RETRY, "io", "seek");
}

static enum err_kind
read_file(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    const int *file = state;
    ssize_t len = read(*file, buf, cap);
    *ret_len = len > 0 ? (size_t)len : 0;
    return len < 0 ? err_set(err, ERR_RETRY, "io", "read") : ERR_OK;
}

/* Every field is looked at, so that none of the work can be left out. */
struct seen {
    uint64_t events;
    uint64_t fields;
    uint64_t bytes;
};

static enum err_kind
look_at(void *state, const struct scan_event *event, struct err *err)
{
    struct seen *seen = state;
    (void)err;
    seen->events++;
    for (uint32_t left = event->present; left; left &= left - 1) {
        const struct scan_value *value = &event->field[__builtin_ctz(left)];
        seen->fields++;
        seen->bytes += value->len + (unsigned char)value->text[0];
    }
    return ERR_OK;
}

static double
time_scan(const char *path, struct seen *ret_seen)
{
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    struct scan_answer answer;
    struct err err = {0};
    struct seen seen = {0};
    int file = open(path, O_RDONLY);
    if (file < 0)
        fail(path);
    double start = now();
    struct split_source source = {&file, rewind_file, read_file};
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ISAL);
    bool is_packed = path == packed_path;
    struct feed_direct *direct = is_packed ? NULL : feed_direct_new(unpack);
    struct feed_thread *thread = is_packed ? feed_thread_new(unpack) : NULL;
    struct feed feed = is_packed ? feed_thread_feed(thread) : feed_direct_feed(direct);
    struct scan_listener listener = {.state = &seen, .event = look_at};
    if (scan_run(&feed, &listener, &limits, false, &answer, &err) || answer.refusal.code)
        fail(err.code[0] ? err.msg : "the trace was refused");
    feed_direct_free(direct);
    feed_thread_free(thread);
    unpack_free(unpack);
    double seconds = now() - start;
    close(file);
    if (ret_seen->events && memcmp(ret_seen, &seen, sizeof seen) != 0)
        fail("two scans of one trace differ");
    *ret_seen = seen;
    return seconds;
}

static int
by_size(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static double
median(double runs[RUNS])
{
    qsort(runs, RUNS, sizeof *runs, by_size);
    return runs[RUNS / 2];
}

struct result {
    const char *name;
    const char *what;
    double ours;
    double peer;
    const char *peer_name;
    double goal;
};

static void
print(const struct result *result)
{
    double ratio = result->peer / result->ours;
    printf("{\"name\": \"%s\", \"what\": \"%s\", \"unit\": \"s\", \"ours\": %.4f, "
           "\"peer\": %.4f, \"peer_name\": \"%s\", \"ratio\": %.4f, \"goal\": %.4f, "
           "\"holds\": %s, \"runs\": %d}\n",
           result->name, result->what, result->ours, result->peer, result->peer_name,
           ratio, result->goal, ratio >= result->goal ? "true" : "false", RUNS);
    fflush(stdout);
}

static void
measure_plain(struct seen *seen)
{
    char command[PATH_BYTES + 32];
    double ours[RUNS];
    double peer[RUNS];
    snprintf(command, sizeof command, "wc -l %s >/dev/null", plain_path);
    time_command(command);
    for (int i = 0; i < RUNS; i++) {
        ours[i] = time_scan(plain_path, seen);
        peer[i] = time_command(command);
    }
    bool is_wide = scan_variant_in_use() == SCAN_AVX512;
    struct result result = {
        "scan_plain", "scan of a plain trace of 471 MB with all checks",
        median(ours), median(peer),
        "wc -l",      is_wide ? goal_plain_avx512 : goal_plain_avx2};
    print(&result);
}

static void
measure_gz(struct seen *seen)
{
    char command[PATH_BYTES + 32];
    double ours[RUNS];
    double peer[RUNS];
    snprintf(command, sizeof command, "gzip -dc %s >/dev/null", packed_path);
    for (int i = 0; i < RUNS; i++) {
        ours[i] = time_scan(packed_path, seen);
        peer[i] = time_command(command);
    }
    struct result result = {"scan_gz",    "scan of the same trace as gzip",
                            median(ours), median(peer),
                            "gzip -dc",   goal_gz};
    print(&result);
}

static void
measure_gz_wall(struct seen *seen)
{
    double ours[RUNS];
    double peer[RUNS];
    for (int i = 0; i < RUNS; i++) {
        ours[i] = time_scan(packed_path, seen);
        peer[i] = time_scan(plain_path, seen);
    }
    struct result result = {
        "scan_gz_wall",       "scan of the trace as gzip beside plain",
        median(ours),         allowed_gz_wall * median(peer),
        "1.15 of scan_plain", goal_gz_wall};
    print(&result);
}

static bool
is_wanted(const char *only, const char *name)
{
    size_t len = only ? strcspn(only, ":") : 0;
    return !only || (len == strlen(name) && strncmp(only, name, len) == 0);
}

int
main(int argc, char **argv)
{
    const char *only = argc == 3 && strcmp(argv[1], "--only") == 0 ? argv[2] : NULL;
    bool wants_plain = is_wanted(only, "scan_plain");
    bool wants_gz = is_wanted(only, "scan_gz");
    bool wants_wall = is_wanted(only, "scan_gz_wall");
    struct seen seen = {0};
    if (!wants_plain && !wants_gz && !wants_wall)
        return 0;
    make_traces();
    if (wants_plain)
        measure_plain(&seen);
    if (wants_gz)
        measure_gz(&seen);
    if (wants_wall)
        measure_gz_wall(&seen);
    return 0;
}
