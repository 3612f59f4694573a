/* SPDX-License-Identifier: Apache-2.0 */
/* Commands, medians and lines of results. */
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

void
measure_fail(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static double
seconds_of(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

double
measure_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double
measure_cpu(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static double
seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static pid_t
start(const char *const argv[])
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv,
                              environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed)
        measure_fail(argv[0], strerror(failed));
    return pid;
}

struct usage
measure_command(const char *const argv[])
{
    struct rusage usage;
    int status;
    double begin = measure_now();
    pid_t pid = start(argv);
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR)
            measure_fail(argv[0], strerror(errno));
    if (status != 0)
        measure_fail(argv[0], "left with an error");
    return (struct usage){
        .wall_s = measure_now() - begin,
        .cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
        .rss_mib = (double)usage.ru_maxrss / 1024,
    };
}

static int
by_size(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

double
measure_median(double *runs, int n)
{
    qsort(runs, (size_t)n, sizeof *runs, by_size);
    return runs[n / 2];
}

void
measure_print(const struct measured *measured)
{
    double ratio = measured->peer / measured->ours;
    printf("{\"name\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", \"ours\": %.4f, "
           "\"peer\": %.4f, \"peer_name\": \"%s\", \"ratio\": %.4f, \"goal\": %.4f, "
           "\"holds\": %s, \"runs\": %d}\n",
           measured->name, measured->what, measured->unit, measured->ours, measured->peer,
           measured->peer_name, ratio, measured->goal,
           ratio >= measured->goal ? "true" : "false", measured->runs);
    fflush(stdout);
}

bool
measure_wants(const char *only, const char *name, bool by_default)
{
    size_t len = strcspn(name, ":");
    if (!only)
        return by_default;
    if (strcmp(only, name) == 0)
        return true;
    return by_default && strlen(only) == len && strncmp(only, name, len) == 0;
}

const char *
measure_only(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[1], "--only") == 0 ? argv[2] : NULL;
}
