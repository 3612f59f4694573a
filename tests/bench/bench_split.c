/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `heddle split` of generated traces of 471 MB and 1.88 GB, chunks written: its CPU
 * beside Python's json.load of the same file and beside one scan of it, its memory beside
 * the bound that is promised. Chunks go to memory, so that no disk is measured.
 */
#include "bench_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CPU_RUNS = 3, RUNS = 5, PATH_BYTES = 256 };

static const double goal_cpu = 8;
static const double goal_passes_plain = 0.286; /* at most 3.5 scans */
static const double goal_passes_gz = 0.25;     /* at most 4 */
static const double goal_rss = 1;
static const double base_mib = 32;
static const double event_bytes = 40;
static const double index_memory_mib = 32;

static char folder[PATH_BYTES];

static void
remove_folder(void)
{
    const char *const argv[] = {"rm", "-rf", folder, NULL};
    measure_command(argv);
}

static void
make_folder(void)
{
    struct stat memory;
    const char *root =
        stat("/dev/shm", &memory) == 0 && S_ISDIR(memory.st_mode) ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/heddle-bench-XXXXXX", root);
    if (!mkdtemp(folder))
        measure_fail(folder, "can't be made");
    atexit(remove_folder);
}

static struct usage
split(enum bench_size size, enum bench_form form, bool is_bounded)
{
    char memory[32];
    const char *path = bench_trace(size, form);
    snprintf(memory, sizeof memory, "%.0fMiB", index_memory_mib);
    const char *const argv[] = {BIN_DIR "/heddle",
                                "split",
                                path,
                                "-o",
                                folder,
                                "--tmp-dir",
                                folder,
                                is_bounded ? "--index-memory" : NULL,
                                memory,
                                NULL};
    return measure_command(argv);
}

/* --- CPU --------------------------------------------------------------------------- */

static struct usage
load_with_python(enum bench_size size)
{
    const char *const argv[] = {"python3", "-c",
                                "import json, sys; json.load(open(sys.argv[1]))",
                                bench_trace(size, BENCH_PLAIN), NULL};
    return measure_command(argv);
}

static void
measure_cpu_of(const char *name, enum bench_size size, int n)
{
    double ours[CPU_RUNS];
    double peer[CPU_RUNS];
    for (int i = 0; i < n; i++) {
        ours[i] = split(size, BENCH_PLAIN, false).cpu_s;
        peer[i] = load_with_python(size).cpu_s;
    }
    struct measured measured = {
        .name = name,
        .what = "CPU of heddle split, chunks written",
        .unit = "CPU s",
        .ours = measure_median(ours, n),
        .peer = measure_median(peer, n),
        .peer_name = "Python json.load",
        .goal = goal_cpu,
        .runs = n,
    };
    measure_print(&measured);
}

static void
measure_cpu_500m(const char *name)
{
    measure_cpu_of(name, BENCH_500M, CPU_RUNS);
}

static void
measure_cpu_2g(const char *name)
{
    measure_cpu_of(name, BENCH_2G, 1);
}

/* --- passes ------------------------------------------------------------------------ */

static void
measure_passes(const char *name, enum bench_size size, enum bench_form form, double goal)
{
    double ours[RUNS];
    double peer[RUNS];
    struct bench_seen seen;
    const char *path = bench_trace(size, form);
    for (int i = 0; i < RUNS; i++) {
        ours[i] = split(size, form, false).cpu_s;
        peer[i] = bench_scan(path, form, &seen).cpu_s;
    }
    struct measured measured = {
        .name = name,
        .what = "CPU of heddle split beside one scan of the trace",
        .unit = "CPU s",
        .ours = measure_median(ours, RUNS),
        .peer = measure_median(peer, RUNS),
        .peer_name = "one scan",
        .goal = goal,
        .runs = RUNS,
    };
    measure_print(&measured);
}

static void
measure_passes_plain(const char *name)
{
    measure_passes(name, BENCH_500M, BENCH_PLAIN, goal_passes_plain);
}

static void
measure_passes_gz(const char *name)
{
    measure_passes(name, BENCH_500M, BENCH_GZIP, goal_passes_gz);
}

static void
measure_passes_2g(const char *name)
{
    measure_passes(name, BENCH_2G, BENCH_PLAIN, goal_passes_plain);
}

/* --- memory ------------------------------------------------------------------------ */

/* The peak of one run: memory does not vary as time does. */
static void
measure_rss(const char *name, enum bench_size size, enum bench_form form, bool is_bounded)
{
    struct bench_seen seen;
    double mib = 1 << 20;
    struct usage usage = split(size, form, is_bounded);
    bench_scan(bench_trace(size, form), form, &seen);
    double index =
        is_bounded ? index_memory_mib : event_bytes * (double)seen.events / mib;
    struct measured measured = {
        .name = name,
        .what = is_bounded ? "peak memory of heddle split with index_memory = 32 MiB"
                           : "peak memory of heddle split",
        .unit = "MiB",
        .ours = usage.rss_mib,
        .peer = base_mib + index + (double)seen.largest / mib,
        .peer_name = is_bounded ? "32 MiB + M + largest" : "32 MiB + 40 B/event",
        .goal = goal_rss,
        .runs = 1,
    };
    measure_print(&measured);
}

static void
measure_rss_plain(const char *name)
{
    measure_rss(name, BENCH_500M, BENCH_PLAIN, false);
}

static void
measure_rss_gz(const char *name)
{
    measure_rss(name, BENCH_500M, BENCH_GZIP, false);
}

static void
measure_rss_plain_bounded(const char *name)
{
    measure_rss(name, BENCH_500M, BENCH_PLAIN, true);
}

static void
measure_rss_gz_bounded(const char *name)
{
    measure_rss(name, BENCH_500M, BENCH_GZIP, true);
}

static void
measure_rss_siblings(const char *name)
{
    measure_rss(name, BENCH_SIBLINGS, BENCH_PLAIN, false);
}

static void
measure_rss_siblings_bounded(const char *name)
{
    measure_rss(name, BENCH_SIBLINGS, BENCH_PLAIN, true);
}

static void
measure_rss_2g(const char *name)
{
    measure_rss(name, BENCH_2G, BENCH_PLAIN, false);
}

static void
measure_rss_2g_bounded(const char *name)
{
    measure_rss(name, BENCH_2G, BENCH_PLAIN, true);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*measure)(const char *name);
        bool by_default;
    } results[] = {
        {"split_cpu:500M", measure_cpu_500m, true},
        {"split_passes:plain", measure_passes_plain, true},
        {"split_passes:gz", measure_passes_gz, true},
        {"split_rss_mib:plain", measure_rss_plain, true},
        {"split_rss_mib:gz", measure_rss_gz, true},
        {"split_rss_mib:plain-bounded", measure_rss_plain_bounded, true},
        {"split_rss_mib:gz-bounded", measure_rss_gz_bounded, true},
        {"split_rss_mib:siblings", measure_rss_siblings, true},
        {"split_rss_mib:siblings-bounded", measure_rss_siblings_bounded, true},
        {"split_cpu:2G", measure_cpu_2g, false},
        {"split_passes:2G", measure_passes_2g, false},
        {"split_rss_mib:2G", measure_rss_2g, false},
        {"split_rss_mib:2G-bounded", measure_rss_2g_bounded, false},
    };
    const char *only = measure_only(argc, argv);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        if (!measure_wants(only, results[i].name, results[i].by_default))
            continue;
        if (!folder[0])
            make_folder();
        results[i].measure(results[i].name);
    }
    return 0;
}
