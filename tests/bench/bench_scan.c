/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The production scanner on generated traces of 471 MB and 1.88 GB, all checks on, beside
 * tools that only pass over the bytes: `wc -l` for plain text, `gzip -dc` for a packed
 * one; and packed beside plain. The large traces are measured when they are asked for.
 */
#include "bench_trace.h"
#include "scan.h"

#include <stddef.h>

enum { RUNS = 5 };

static const double goal_plain_avx2 = 0.15;
static const double goal_plain_avx512 = 0.18;
static const double goal_gz = 3.5;
static const double goal_gz_wall = 1;
static const double allowed_gz_wall = 1.15;

static double
time_scan(enum bench_size size, enum bench_form form)
{
    struct bench_seen seen;
    return bench_scan(bench_trace(size, form), form, &seen).wall_s;
}

static double
time_peer(enum bench_size size, enum bench_form form)
{
    const char *path = bench_trace(size, form);
    const char *const count[] = {"wc", "-l", path, NULL};
    const char *const unpack[] = {"gzip", "-dc", path, NULL};
    return measure_command(form == BENCH_PLAIN ? count : unpack).wall_s;
}

/* `ours` beside a tool, in turn. */
static void
measure_beside_tool(const char *name, enum bench_size size, enum bench_form form)
{
    double ours[RUNS];
    double peer[RUNS];
    bool is_plain = form == BENCH_PLAIN;
    bool is_wide = scan_variant_in_use() == SCAN_AVX512;
    time_peer(size, form);
    for (int i = 0; i < RUNS; i++) {
        ours[i] = time_scan(size, form);
        peer[i] = time_peer(size, form);
    }
    struct measured measured = {
        .name = name,
        .what = is_plain ? "scan of a plain trace with all checks" : "scan of it as gzip",
        .unit = "s",
        .ours = measure_median(ours, RUNS),
        .peer = measure_median(peer, RUNS),
        .peer_name = is_plain ? "wc -l" : "gzip -dc",
        .goal = !is_plain ? goal_gz
                : is_wide ? goal_plain_avx512
                          : goal_plain_avx2,
        .runs = RUNS,
    };
    measure_print(&measured);
}

static void
measure_plain(const char *name, enum bench_size size)
{
    measure_beside_tool(name, size, BENCH_PLAIN);
}

static void
measure_gz(const char *name, enum bench_size size)
{
    measure_beside_tool(name, size, BENCH_GZIP);
}

static void
measure_gz_wall(const char *name, enum bench_size size)
{
    double ours[RUNS];
    double peer[RUNS];
    time_scan(size, BENCH_GZIP);
    for (int i = 0; i < RUNS; i++) {
        ours[i] = time_scan(size, BENCH_GZIP);
        peer[i] = time_scan(size, BENCH_PLAIN);
    }
    struct measured measured = {
        .name = name,
        .what = "scan of the trace as gzip beside plain",
        .unit = "s",
        .ours = measure_median(ours, RUNS),
        .peer = allowed_gz_wall * measure_median(peer, RUNS),
        .peer_name = "1.15 of scan_plain",
        .goal = goal_gz_wall,
        .runs = RUNS,
    };
    measure_print(&measured);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*measure)(const char *name, enum bench_size size);
        enum bench_size size;
    } results[] = {
        {"scan_plain:500M", measure_plain, BENCH_500M},
        {"scan_gz:500M", measure_gz, BENCH_500M},
        {"scan_gz_wall:500M", measure_gz_wall, BENCH_500M},
        {"scan_plain:2G", measure_plain, BENCH_2G},
        {"scan_gz:2G", measure_gz, BENCH_2G},
        {"scan_gz_wall:2G", measure_gz_wall, BENCH_2G},
    };
    const char *only = measure_only(argc, argv);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (measure_wants(only, results[i].name, results[i].size == BENCH_500M))
            results[i].measure(results[i].name, results[i].size);
    return 0;
}
