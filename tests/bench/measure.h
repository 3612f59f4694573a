/* SPDX-License-Identifier: Apache-2.0 */
/* What benches of the splitter share: a command measured, a median, a line of the result.
 */
#pragma once

#include <stdbool.h>

/* What a run cost; user and system time together. */
struct usage {
    double wall_s;
    double cpu_s;
    double rss_mib; /* of a command, at its peak */
};

/* Ends the program: a bench that can't measure must not look quick. */
_Noreturn void measure_fail(const char *what, const char *why);

double measure_now(void);
/* CPU time of this process, all threads. */
double measure_cpu(void);
/* Runs `argv` (NULL-terminated, found in PATH) with its output thrown away. */
struct usage measure_command(const char *const argv[]);

/* Sorts `runs`. */
double measure_median(double *runs, int n);

struct measured {
    const char *name; /* NAME or NAME:VARIANT */
    const char *what;
    const char *unit;
    double ours;
    double peer;
    const char *peer_name;
    double goal;
    int runs;
};

/* The line of a result whose smaller figure is the better one. */
void measure_print(const struct measured *measured);

/*
 * Is the result `name` asked for? `only`: what follows --only; NULL: everything that runs
 * by default. A name without its variant asks for the variants that run by default.
 */
bool measure_wants(const char *only, const char *name, bool by_default);
/* What follows --only; NULL: nothing. */
const char *measure_only(int argc, char **argv);
