/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heddle-vectors: runs folders of inputs with their right answers through the functions
 * that the workers call. DIR/AREA/KIND.json names a kind of case; the cases are whatever
 * the file holds.
 */
#include "vector_runner/vectors.h"
#include "vector_runner/compare.h"
#include "vector_runner/gate_files.h"
#include "vector_runner/split_files.h"

#include "cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, NAME_BYTES = 128, FILE_MAX_BYTES = 1 << 30 };
#define ARENA_BYTES ((size_t)4 << 30)

static const struct area {
    const char *name;
    const struct vector_kind *kinds;
    enum compare_rule rule;
} built_areas[] = {
    {"gate", gate_kinds, COMPARE_EXPECTED},
    {"kernel-table", candidates_kinds, COMPARE_EXPECTED},
    {"split", split_kinds, COMPARE_EXACT},
    {"tuning", tuning_kinds, COMPARE_EXACT},
};
static const char *const planned_areas[] = {"dispatch", "review", "sources"};

struct settings {
    const char *dir;
    const char *only_area; /* NULL: all */
    const char *only_kind; /* NULL: all */
    const char *traces;    /* NULL: none */
};

struct tally {
    size_t passed, failed;
    size_t skipped; /* of areas and kinds that are not built yet */
};

/* A file of cases, read. */
struct vector_file {
    char *bytes;
    struct arena arena;
    struct json doc;
};

static void
vector_file_done(struct vector_file *file)
{
    free(file->bytes);
    arena_done(&file->arena);
}

static void
fail(struct tally *tally, const char *path, const char *why)
{
    printf("FAILED %s: %s\n", path, why);
    tally->failed++;
}

static char *
read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *bytes = NULL;
    size_t len = 0;
    size_t cap = 0;
    do {
        if (len == cap) {
            cap = cap ? cap * 2 : 1 << 16;
            char *more = cap <= FILE_MAX_BYTES ? realloc(bytes, cap) : NULL;
            if (!more)
                break;
            bytes = more;
        }
        len += fread(bytes + len, 1, cap - len, file);
    } while (!feof(file) && !ferror(file));
    bool whole = feof(file) && !ferror(file);
    fclose(file);
    if (!whole) {
        free(bytes);
        return NULL;
    }
    *ret_len = len;
    return bytes;
}

/* The array of cases in `path`; what is wrong goes to `tally`. */
static struct json_value
open_cases(const char *path, struct vector_file *file, struct tally *tally)
{
    struct err err;
    size_t len = 0;
    arena_init(&file->arena, ARENA_BYTES);
    file->bytes = read_file(path, &len);
    if (!file->bytes) {
        fail(tally, path, strerror(errno));
        return JSON_NONE;
    }
    if (json_read(&file->doc, (struct slice){file->bytes, len}, &file->arena, &err)) {
        fail(tally, path, err.msg);
        return JSON_NONE;
    }
    struct json_value cases = json_get(json_root(&file->doc), "vectors");
    if (json_kind(cases) != JSON_ARRAY || json_count(cases) == 0) {
        fail(tally, path, "holds no case: an object with an array 'vectors' is needed");
        return JSON_NONE;
    }
    return cases;
}

static struct slice
case_name(struct json_value vector)
{
    struct slice name = json_string(json_get(vector, "id"));
    return name.data ? name : json_string(json_get(vector, "name"));
}

static void
run_case(const struct vector_kind *kind,
         enum compare_rule rule,
         const struct vector_rule *special,
         struct json_value vector,
         struct arena *arena,
         const char *path,
         struct tally *tally)
{
    CLEANUP(buf_done) struct buf answer;
    CLEANUP(buf_done) struct buf where = BUF_INIT;
    struct json got;
    struct err err;
    buf_init(&answer, FILE_MAX_BYTES);
    struct slice name = case_name(vector);
    struct json_value expected = json_get(vector, kind->expected);
    const char *why = NULL;
    if (!expected.doc)
        why = "the case has no expected answer";
    else if (kind->run(vector, arena, &answer, &err) ||
             json_read(&got, buf_slice(&answer), arena, &err))
        why = err.msg;
    else if (special && special->equal
                 ? !special->equal(expected, json_root(&got), arena, &where)
                 : !values_equal(expected, json_root(&got), rule, arena, &where))
        why = buf_text(&where);
    if (why)
        printf("FAILED %s: %.*s: %s\n", path, SLICE_ARG(name), why);
    *(why ? &tally->failed : &tally->passed) += 1;
}

static void
run_kind(const struct vector_kind *kind,
         enum compare_rule rule,
         const struct vector_rule *special,
         const char *path,
         struct tally *tally)
{
    CLEANUP(vector_file_done) struct vector_file file = {0};
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct json_value cases = open_cases(path, &file, tally);
    struct json_iter iter = json_iter(cases);
    struct slice key;
    struct json_value vector;
    arena_init(&arena, ARENA_BYTES);
    while (json_next(&iter, &key, &vector)) {
        arena_reset(&arena);
        run_case(kind, rule, special, vector, &arena, path, tally);
    }
}

/* Returns how many cases it has. */
static size_t
skip_kind(const char *path, struct tally *tally)
{
    CLEANUP(vector_file_done) struct vector_file file = {0};
    size_t n = json_count(open_cases(path, &file, tally));
    tally->skipped += n;
    return n;
}

/* What holds for this kind alone; NULL: nothing. */
static const struct vector_rule *
find_rule(const char *area, const char *kind)
{
    for (const struct vector_rule *rule = split_rules; rule->area; rule++)
        if (strcmp(rule->area, area) == 0 && strcmp(rule->kind, kind) == 0)
            return rule;
    return NULL;
}

/* A kind that this machine can't run. */
static void
skip_here(const char *path,
          const char *area,
          const char *name,
          const char *missing,
          struct tally *tally)
{
    const char *ci = getenv("CI");
    if (ci && strcmp(ci, "true") == 0) {
        fail(tally, path, missing);
        return;
    }
    printf("SKIPPED kind %s/%s: %s, %zu cases\n", area, name, missing,
           skip_kind(path, tally));
}

static const struct vector_kind *
find_kind(const struct vector_kind *kinds, const char *name)
{
    for (; kinds->name; kinds++)
        if (strcmp(kinds->name, name) == 0)
            return kinds;
    return NULL;
}

static const struct area *
area_of(const char *name)
{
    for (size_t i = 0; i < sizeof built_areas / sizeof built_areas[0]; i++)
        if (strcmp(built_areas[i].name, name) == 0)
            return &built_areas[i];
    return NULL;
}

static bool
is_planned(const char *area)
{
    for (size_t i = 0; i < sizeof planned_areas / sizeof planned_areas[0]; i++)
        if (strcmp(planned_areas[i], area) == 0)
            return true;
    return false;
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int
is_json(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return is_visible(entry) && dot && strcmp(dot, ".json") == 0;
}

static void
free_entries(struct dirent **entries, int n)
{
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
}

static void
run_file(const struct settings *settings,
         const char *area,
         const char *file,
         struct tally *tally)
{
    char path[PATH_BYTES];
    char name[NAME_BYTES];
    snprintf(path, sizeof path, "%s/%s/%s", settings->dir, area, file);
    snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - strlen(".json")), file);
    if (settings->only_kind && strcmp(settings->only_kind, name) != 0)
        return;
    const struct area *built = area_of(area);
    const struct vector_kind *kind = built ? find_kind(built->kinds, name) : NULL;
    const struct vector_rule *special = find_rule(area, name);
    const char *missing = NULL;
    if (!built)
        skip_kind(path, tally);
    else if (special && special->can_run && !special->can_run(&missing))
        skip_here(path, area, name, missing, tally);
    else if (kind && !kind->run)
        printf("skipped kind %s/%s: not built yet, %zu cases\n", area, name,
               skip_kind(path, tally));
    else if (kind)
        run_kind(kind, built->rule, special, path, tally);
    else
        fail(tally, path, "no such kind in this area");
}

static void
run_area(const struct settings *settings, const char *area, struct tally *tally)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", settings->dir, area);
    if (!area_of(area) && !is_planned(area)) {
        fail(tally, path, "no such area");
        return;
    }
    struct dirent **files = NULL;
    int n = scandir(path, &files, is_json, alphasort);
    if (n < 0) {
        fail(tally, path, strerror(errno));
        return;
    }
    size_t skipped = tally->skipped;
    if (n == 0)
        fail(tally, path, "holds no case");
    for (int i = 0; i < n; i++)
        run_file(settings, area, files[i]->d_name, tally);
    free_entries(files, n);
    if (!area_of(area) && tally->skipped > skipped)
        printf("skipped area %s: not built yet, %zu cases\n", area,
               tally->skipped - skipped);
}

/* A folder of cases; plain files beside the areas are for people. */
static bool
is_folder(const struct settings *settings, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s/.", settings->dir, name);
    DIR *dir = opendir(path);
    if (!dir)
        return errno != ENOTDIR;
    closedir(dir);
    return true;
}

static void
run_dir(const struct settings *settings, struct tally *tally)
{
    struct dirent **areas = NULL;
    int n = scandir(settings->dir, &areas, is_visible, alphasort);
    if (n < 0) {
        fail(tally, settings->dir, strerror(errno));
        return;
    }
    for (int i = 0; i < n; i++) {
        const char *area = areas[i]->d_name;
        if (settings->only_area && strcmp(settings->only_area, area) != 0)
            continue;
        if (is_folder(settings, area))
            run_area(settings, area, tally);
    }
    free_entries(areas, n);
    if (tally->passed + tally->failed + tally->skipped == 0)
        fail(tally, settings->dir, "holds no case that was asked for");
}

static int
usage(FILE *to, int status)
{
    fputs("usage: heddle-vectors [--dir DIR] [--only AREA[/KIND]] [--traces DIR] "
          "[--gen FILE]\n"
          "Runs DIR/AREA/KIND.json (DIR: tests/vectors, '': none) through the workers' "
          "functions.\n"
          "  --traces DIR  compare the traces in DIR with DIR/expected, expected-e2e\n"
          "  --gen FILE    the trace generator for cases of kind generated\n"
          "Exit 0: every case passed; 1: a case failed, or there was none; 64: usage.\n",
          to);
    return status;
}

static bool
parse(int argc, char **argv, struct settings *settings, int *ret_status)
{
    static const struct option options[] = {
        {"dir", required_argument, NULL, 'd'},    {"only", required_argument, NULL, 'o'},
        {"traces", required_argument, NULL, 't'}, {"gen", required_argument, NULL, 'g'},
        {"help", no_argument, NULL, 'h'},         {0},
    };
    for (int c = 0; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        char *slash = NULL;
        switch (c) {
        case 'd':
            settings->dir = optarg;
            break;
        case 'o':
            slash = strchr(optarg, '/');
            settings->only_area = optarg;
            settings->only_kind = slash ? slash + 1 : NULL;
            if (slash)
                *slash = '\0';
            break;
        case 't':
            settings->traces = optarg;
            break;
        case 'g':
            vector_generator = optarg;
            break;
        case 'h':
            *ret_status = usage(stdout, EXIT_OK);
            return false;
        default:
            *ret_status = usage(stderr, EXIT_USAGE);
            return false;
        }
    }
    if (optind != argc)
        *ret_status = usage(stderr, EXIT_USAGE);
    return optind == argc;
}

int
main(int argc, char **argv)
{
    struct settings settings = {.dir = "tests/vectors"};
    struct tally tally = {0};
    int status = EXIT_OK;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse(argc, argv, &settings, &status))
        return status;
    if (settings.dir[0])
        run_dir(&settings, &tally);
    if (settings.traces) {
        split_files_run(settings.traces, &tally.passed, &tally.failed);
        gate_files_run(settings.traces, &tally.passed, &tally.failed);
    }
    printf("%zu passed, %zu failed\n", tally.passed, tally.failed);
    return tally.failed || tally.passed + tally.skipped == 0 ? EXIT_NEGATIVE : EXIT_OK;
}
