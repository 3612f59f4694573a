/* SPDX-License-Identifier: Apache-2.0 */
/* The front command: heddle VERB. */
#include "verb.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"

enum { VERBS = 64, PROGRAM_NAME_BYTES = 64 };

static const struct verb *
find_verb(const char *name, struct err *err)
{
    const char *names[VERBS + 1] = {NULL};
    size_t n = 0;
    for (; verbs[n] && n < VERBS; n++)
        names[n] = verbs[n]->name;
    size_t position = 0;
    return verb_choose("verb", name, names, &position, err) ? NULL : verbs[position];
}

static int
run_verb(const struct verb *verb, int argc, char **argv)
{
    char name[PROGRAM_NAME_BYTES];
    snprintf(name, sizeof name, "heddle %s", verb->name);
    struct program program = {
        .name = name,
        .usage = verb->usage,
        .summary = verb->summary,
        .details = verb->details,
        .options = verb->options,
        .n_options = verb->n_options,
        .settings = verb->settings,
        .worker = verb->worker,
        .no_settings = verb->no_settings,
    };
    CLEANUP(program_done) struct program_call call = {0};
    int status = EXIT_OK;
    if (!program_start(&program, argc, argv, &call, &status))
        return status;
    struct err err = {0};
    status = verb->run(&call, &err);
    return err.kind ? program_fail(name, &err) : status;
}

static int
print_verbs(void)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    buf_add_str(&out, "Usage: heddle VERB [OPTION]... [ARGUMENT]...\n"
                      "Audit records of GPU-tuning campaigns over Apache Kafka.\n\n");
    for (size_t i = 0; verbs[i]; i++)
        buf_addf(&out, "  %-14s %s\n", verbs[i]->name, verbs[i]->summary);
    buf_add_str(&out,
                "\n`heddle help VERB` explains one; each worker is a program of its "
                "own, heddle-NAME.\n");
    struct err err = {0};
    return program_print(&out, &err) ? program_fail("heddle", &err) : EXIT_OK;
}

static int
explain(const char *name)
{
    struct err err = {0};
    const struct verb *verb = find_verb(name, &err);
    if (!verb)
        return program_fail("heddle", &err);
    char self[] = "heddle";
    char flag[] = "--help";
    char *argv[] = {self, flag, NULL};
    return run_verb(verb, 2, argv);
}

int
main(int argc, char **argv)
{
    struct err err = {0};
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word && (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
                 strcmp(word, "-h") == 0))
        return argc > 2 ? explain(argv[2]) : print_verbs();
    if (word && strcmp(word, "--version") == 0)
        word = "version";
    else if (word && word[0] == '-') {
        err_fatal(&err, EXIT_USAGE, "unknown_verb",
                  "the verb comes first: heddle VERB %.100s; `heddle help` lists them",
                  word);
        return program_fail("heddle", &err);
    }
    const struct verb *verb = find_verb(word, &err);
    return verb ? run_verb(verb, argc - 1, argv + 1) : program_fail("heddle", &err);
}
