/* SPDX-License-Identifier: Apache-2.0 */
/* Generated traces, and a scan of one. */
#include "bench_trace.h"

#include "buf.h"
#include "cleanup.h"
#include "digest.h"
#include "feed_thread.h"
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, STAMP_CHARS = 8 };

#define GENERATOR SOURCE_DIR "/tests/tools/gen_trace.py"

static const struct {
    const char *name;
    const char *steps;
    const char *framework;
    const char *stack;
} sizes[BENCH_SIZES] = {
    [BENCH_500M] = {"500M", "200", "vllm", "11"},
    [BENCH_2G] = {"2G", "800", "vllm", "11"},
    [BENCH_SIBLINGS] = {"siblings", "1200", "none", "0"},
};

/* --- files ------------------------------------------------------------------------- */

static void
read_generator(struct buf *out)
{
    char piece[64 << 10];
    size_t len;
    FILE *file = fopen(GENERATOR, "rb");
    if (!file)
        measure_fail(GENERATOR, strerror(errno));
    while ((len = fread(piece, 1, sizeof piece, file)) > 0)
        buf_add(out, piece, len);
    fclose(file);
    if (out->failed)
        measure_fail(GENERATOR, "no memory");
}

/* The folder, made, and the start of the digest of what makes its files. */
static void
find_folder(char folder[static PATH_BYTES], char stamp[static DIGEST_HEX])
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *own = getenv("HEDDLE_BENCH_DIR");
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own && *own)
        snprintf(folder, PATH_BYTES, "%s", own);
    else if (cache && *cache)
        snprintf(folder, PATH_BYTES, "%s/heddle-bench", cache);
    else
        snprintf(folder, PATH_BYTES, "%s/.cache/heddle-bench", home ? home : "/var/tmp");
    const char *const argv[] = {"mkdir", "-p", folder, NULL};
    measure_command(argv);
    read_generator(&text);
    digest_hex(buf_slice(&text), stamp);
    stamp[STAMP_CHARS] = '\0';
}

/* A file is there whole or not at all. */
static void
put_in_place(const char *part, const char *path)
{
    if (rename(part, path) != 0)
        measure_fail(path, strerror(errno));
}

static void
generate(enum bench_size size, const char *path)
{
    char part[PATH_BYTES + 8];
    snprintf(part, sizeof part, "%s.part", path);
    fprintf(stderr, "bench: making a trace of %s\n", sizes[size].name);
    const char *const argv[] = {"python3",
                                GENERATOR,
                                part,
                                "--steps",
                                sizes[size].steps,
                                "--layers",
                                "60",
                                "--mode",
                                "eager",
                                "--framework",
                                sizes[size].framework,
                                "--stack",
                                sizes[size].stack,
                                NULL};
    measure_command(argv);
    put_in_place(part, path);
}

static void
pack(const char *plain, const char *path)
{
    char part[PATH_BYTES + 8];
    snprintf(part, sizeof part, "%s.part", path);
    fprintf(stderr, "bench: packing it\n");
    const char *const argv[] = {"sh", "-c", "gzip -c \"$1\" >\"$2\"", "gzip", plain,
                                part, NULL};
    measure_command(argv);
    put_in_place(part, path);
}

const char *
bench_trace(enum bench_size size, enum bench_form form)
{
    static char paths[BENCH_SIZES][BENCH_FORMS][PATH_BYTES];
    char folder[PATH_BYTES];
    char stamp[DIGEST_HEX];
    char *path = paths[size][form];
    if (path[0])
        return path;
    const char *plain = form == BENCH_GZIP ? bench_trace(size, BENCH_PLAIN) : NULL;
    find_folder(folder, stamp);
    int len = snprintf(path, PATH_BYTES, "%s/%s-%s.json%s", folder, sizes[size].name,
                       stamp, form == BENCH_GZIP ? ".gz" : "");
    if (len >= PATH_BYTES - 8)
        measure_fail(folder, "too long a path");
    if (access(path, R_OK) == 0)
        return path;
    if (plain)
        pack(plain, path);
    else
        generate(size, path);
    return path;
}

/* --- a scan ------------------------------------------------------------------------ */

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

static enum err_kind
look_at(void *state, const struct scan_event *event, struct err *err)
{
    struct bench_seen *seen = state;
    (void)err;
    seen->events++;
    if (event->raw.len > seen->largest)
        seen->largest = event->raw.len;
    for (uint32_t left = event->present; left; left &= left - 1) {
        const struct scan_value *value = &event->field[__builtin_ctz(left)];
        seen->fields++;
        seen->bytes += value->len + (unsigned char)value->text[0];
    }
    return ERR_OK;
}

static void
scan(struct unpack *unpack, enum bench_form form, struct bench_seen *seen)
{
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    struct scan_answer answer;
    struct err err = {0};
    struct feed_direct *direct = form == BENCH_PLAIN ? feed_direct_new(unpack) : NULL;
    struct feed_thread *thread = form == BENCH_GZIP ? feed_thread_new(unpack) : NULL;
    if (!direct && !thread)
        measure_fail("a scan", "no memory");
    struct feed feed = direct ? feed_direct_feed(direct) : feed_thread_feed(thread);
    struct scan_listener listener = {.state = seen, .event = look_at};
    if (scan_run(&feed, &listener, &limits, false, &answer, &err))
        measure_fail("a scan", err.msg);
    if (answer.refusal.code)
        measure_fail("a scan", answer.refusal.code);
    feed_direct_free(direct);
    feed_thread_free(thread);
}

struct usage
bench_scan(const char *path, enum bench_form form, struct bench_seen *ret)
{
    struct split_limits limits = SPLIT_LIMITS_DEFAULT;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        measure_fail(path, strerror(errno));
    double wall = measure_now();
    double cpu = measure_cpu();
    struct split_source source = {&file, rewind_file, read_file};
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ISAL);
    if (!unpack)
        measure_fail("a scan", "no memory");
    *ret = (struct bench_seen){0};
    scan(unpack, form, ret);
    unpack_free(unpack);
    struct usage usage = {measure_now() - wall, measure_cpu() - cpu, 0};
    close(file);
    return usage;
}
