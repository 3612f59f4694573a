/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_derive: bytes of a result and its logs to row line and x, records a second on
 * one core, beside the Python model on the same inputs.
 */
#include "derive.h"
#include "json.h"

#include "cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 5, MAX_CASES = 4096, COMMAND_BYTES = 4096, GOAL = 20 };

static const double our_seconds = 1.0;
static const double peer_seconds = 2.0;

struct bench {
    char folder[64];
    char inputs[96];
    struct arena arena; /* of the inputs */
    struct audit_parts cases[MAX_CASES];
    size_t n;
};

static void
bench_done(struct bench **bench)
{
    unlink((*bench)->inputs);
    rmdir((*bench)->folder);
    arena_done(&(*bench)->arena);
    free(*bench);
}

static const char *
python(void)
{
    return access("/usr/bin/python3", X_OK) == 0 ? "/usr/bin/python3" : "python3";
}

/* The first number that the peer prints; below 0 when it failed. */
static double
run_peer(const char *arguments)
{
    char command[COMMAND_BYTES];
    char line[128] = "";
    snprintf(command, sizeof command, "exec %s '%s/tests/bench/peers/audit_model.py' %s",
             python(), SOURCE_DIR, arguments);
    FILE *peer = popen(command, "r");
    if (!peer)
        return -1;
    if (!fgets(line, sizeof line, peer))
        line[0] = '\0';
    return pclose(peer) == 0 ? strtod(line, NULL) : -1;
}

static bool
add_case(struct bench *bench, struct slice line)
{
    struct json *doc = arena_calloc(&bench->arena, 1, sizeof *doc);
    struct err err;
    if (!doc || bench->n == MAX_CASES || json_read(doc, line, &bench->arena, &err))
        return false;
    struct audit_parts *parts = &bench->cases[bench->n++];
    struct json_value logs = json_get(json_root(doc), "logs");
    struct audit_log *taken =
        arena_calloc(&bench->arena, json_count(logs), sizeof *taken);
    struct json_iter iter = json_iter(logs);
    struct slice tuner;
    struct json_value text;
    parts->result = json_string(json_get(json_root(doc), "result"));
    parts->has_event_time =
        json_int(json_get(json_root(doc), "event_time_us"), &parts->event_time_us);
    parts->logs = taken;
    while (taken && json_next(&iter, &tuner, &text))
        taken[parts->n_logs++] = (struct audit_log){tuner, json_string(text), 0};
    return taken && parts->result.data && parts->has_event_time;
}

static bool
read_cases(struct bench *bench)
{
    FILE *file = fopen(bench->inputs, "r");
    if (!file)
        return false;
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    bool fine = true;
    while (fine && (len = getline(&line, &cap, file)) > 0)
        fine = add_case(bench, (struct slice){line, (size_t)len});
    free(line);
    fclose(file);
    return fine && bench->n > 0;
}

static double
seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Records a second; 0 when one of them gave no row. */
static double
run_ours(const struct bench *bench)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct err err;
    size_t done = 0;
    double begin = seconds_now();
    double elapsed = 0;
    while (elapsed < our_seconds) {
        for (size_t i = 0; i < bench->n; i++) {
            struct audit_answer answer;
            arena_reset(&arena);
            if (audit_row_derive(&bench->cases[i], &arena, &answer, &err) ||
                answer.row.len == 0)
                return 0;
        }
        done += bench->n;
        elapsed = seconds_now() - begin;
    }
    return (double)done / elapsed;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
median(double *values)
{
    qsort(values, RUNS, sizeof *values, compare);
    return values[RUNS / 2];
}

static int
measure(struct bench *bench)
{
    double ours[RUNS];
    double peer[RUNS];
    char arguments[256];
    snprintf(arguments, sizeof arguments, "time '%s' %g", bench->inputs, peer_seconds);
    for (int i = 0; i < RUNS; i++) {
        ours[i] = run_ours(bench);
        peer[i] = run_peer(arguments);
        fprintf(stderr, "audit_derive: %.0f records/s, the model %.0f\n", ours[i],
                peer[i]);
        if (ours[i] <= 0 || peer[i] <= 0)
            return 1;
    }
    double our = median(ours);
    double their = median(peer);
    printf("{\"name\": \"audit_derive\", \"what\": \"result and logs to row line and x, "
           "%zu runs of a campaign\", \"unit\": \"records/s\", \"ours\": %.0f, \"peer\": "
           "%.0f, \"peer_name\": \"python model\", \"ratio\": %.2f, \"goal\": %d, "
           "\"holds\": %s, \"runs\": %d}\n",
           bench->n, our, their, our / their, GOAL,
           our / their >= GOAL ? "true" : "false", RUNS);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--only") == 0 &&
        strcmp(argv[2], "audit_derive") != 0)
        return 0;
    CLEANUP(bench_done) struct bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        abort();
    strcpy(bench->folder, "/tmp/heddle-bench-XXXXXX");
    if (!mkdtemp(bench->folder))
        return 1;
    snprintf(bench->inputs, sizeof bench->inputs, "%s/inputs", bench->folder);
    char arguments[256];
    snprintf(arguments, sizeof arguments, "inputs '%s'", bench->inputs);
    if (run_peer(arguments) < 0 || !read_cases(bench)) {
        fprintf(stderr, "audit_derive: no inputs; python3 makes them\n");
        return 1;
    }
    return measure(bench);
}
