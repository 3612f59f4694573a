/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers what the bench programs print, one JSON object a line on stdin, into a table
 * for people and a file for machines (tests/bench/README.md).
 *
 *   bench_report FILE COMMIT
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { MAX_LINE_BYTES = 1 << 16, MAX_CPU_BYTES = 256, EXIT_ARGUMENTS = 64 };

static const char *const required[] = {"name",      "what",  "unit", "ours",  "peer",
                                       "peer_name", "ratio", "goal", "holds", "runs"};

/* The processor as the kernel names it; a figure says little without. */
static void
read_cpu(char ret_cpu[MAX_CPU_BYTES])
{
    char line[MAX_LINE_BYTES];
    snprintf(ret_cpu, MAX_CPU_BYTES, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", strlen("model name")) != 0)
            continue;
        snprintf(ret_cpu, MAX_CPU_BYTES, "%.*s", (int)strcspn(colon + 2, "\n"),
                 colon + 2);
        break;
    }
    fclose(file);
}

static const char *
missing_key(const json_t *result)
{
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        if (!json_object_get(result, required[i]))
            return required[i];
    }
    return NULL;
}

/* A line that is no result is an error: a bench that failed must not look quick. */
static bool
add_line(json_t *results, const char *line)
{
    json_error_t error;
    json_t *result = json_loads(line, 0, &error);
    if (!json_is_object(result)) {
        fprintf(stderr, "bench: not a result: %s", line);
        json_decref(result);
        return false;
    }
    const char *missing = missing_key(result);
    if (missing) {
        fprintf(stderr, "bench: a result without \"%s\": %s", missing, line);
        json_decref(result);
        return false;
    }
    return json_array_append_new(results, result) == 0;
}

static bool
read_results(json_t *results)
{
    char line[MAX_LINE_BYTES];
    bool good = true;
    while (fgets(line, sizeof(line), stdin)) {
        if (line[strspn(line, " \r\n")] != '\0')
            good = add_line(results, line) && good;
    }
    return good;
}

static const char *
text_of(const json_t *result, const char *key)
{
    const char *text = json_string_value(json_object_get(result, key));
    return text ? text : "";
}

static double
number_of(const json_t *result, const char *key)
{
    return json_number_value(json_object_get(result, key));
}

static void
print_table(const json_t *results)
{
    size_t i;
    const json_t *result;
    printf("%-26s %14s %14s %-14s %-22s %8s %7s  %s\n", "name", "ours", "peer", "unit",
           "peer is", "ratio", "goal", "holds");
    json_array_foreach(results, i, result)
    {
        printf("%-26s %14.6g %14.6g %-14s %-22s %8.2f %7g  %s\n", text_of(result, "name"),
               number_of(result, "ours"), number_of(result, "peer"),
               text_of(result, "unit"), text_of(result, "peer_name"),
               number_of(result, "ratio"), number_of(result, "goal"),
               json_is_true(json_object_get(result, "holds")) ? "yes" : "NO");
    }
}

static bool
write_report(const char *path, const char *commit, json_t *results)
{
    char cpu[MAX_CPU_BYTES];
    read_cpu(cpu);
    json_auto_t *report =
        json_pack("{s:s, s:s, s:O}", "commit", commit, "cpu", cpu, "results", results);
    if (report &&
        json_dump_file(report, path, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0)
        return true;
    fprintf(stderr, "bench: %s can't be written\n", path);
    return false;
}

int
main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench_report FILE COMMIT <results\n");
        return EXIT_ARGUMENTS;
    }
    json_auto_t *results = json_array();
    bool good = results && read_results(results);
    if (json_array_size(results) == 0) {
        fprintf(stderr, "bench: no result\n");
        return EXIT_FAILURE;
    }
    print_table(results);
    good = write_report(argv[1], argv[2], results) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
