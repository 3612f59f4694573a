/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verb of the front command. `heddle feed` is workers/heddle/feed.c, which ends with
 *
 *   const struct verb verb_feed = {
 *       .name = "feed",
 *       .usage = "[OPTION]... DIR...",
 *       .summary = "Sends campaign folders to the topics.",
 *       .options = feed_options, .n_options = ..., .settings = &settings,
 *       .run = run,
 *   };
 *
 * and one word in `verbs` of workers/heddle/CMakeLists.txt. A verb reads its settings
 * from its own struct and the fleet's from the call. Data goes to standard output
 * (program_print), talk
 * to standard error. --help, --version, --config, -X and a "did you mean" come with the
 * table.
 */
#pragma once

#include "program.h"

struct verb {
    const char *name;
    const char *usage;
    const char *summary;
    const char *details; /* may be NULL */
    const struct option *options;
    size_t n_options;
    void *settings;
    bool worker;      /* takes the flags of how a worker runs, too */
    bool no_settings; /* flags only: neither the file nor the environment is read */
    /* Returns the exit status. With `err->kind` set, the error is said and its status
     * counts. call->rest are the arguments after the verb: `plan` of `topics plan`. */
    int (*run)(const struct program_call *call, struct err *err);
};

/* Every verb, in the order of `heddle help`; NULL-terminated. */
extern const struct verb *const verbs[];

/* ERR_FATAL EXIT_USAGE for arguments that a verb does not take. */
enum err_kind
verb_refuse_rest(const struct program_call *call, int from, struct err *err);
/* The position of `word` in `names` (NULL-terminated); ERR_FATAL EXIT_USAGE
 * "unknown_verb" with the nearest, or with all of them when `word` is NULL. */
enum err_kind verb_choose(const char *what,
                          const char *word,
                          const char *const *names,
                          size_t *ret_position,
                          struct err *err);
