/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings and flags from one table. A row names a setting once; from it come the key in
 * the configuration file, the environment variable, the flag, the text of --help, the
 * line of `heddle check`, and the value in the caller's struct.
 *
 * Row {section "audit", name "max_part_bytes"}:
 *   file  [audit] max_part_bytes = 64MiB      env HEDDLE_AUDIT_MAX_PART_BYTES
 *   flag  --max-part-bytes 64MiB, or --audit-max-part-bytes where two tables clash
 * Section "heddle" is left out of the name of the variable: HEDDLE_GROUP. Any variable
 * may be given as NAME_FILE, and any value as @file:PATH: the value is read from there.
 * A flag may be written --name VALUE or --name=VALUE; a switch --name, --no-name or
 * --name=no. Of a flag that is given twice the last stands; a list collects them all.
 * Section "kafka" passes through: every key is a librdkafka property (HEDDLE_KAFKA_A_B is
 * a.b), checked by kafka.h.
 * Order: flag > environment > file > default (events.md 9).
 *
 * Core: argv, the environment and the file's text are handed in; nothing is read here.
 */
#pragma once

#include "buf.h"
#include "err.h"
#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a value is written, and its C type at the row's offset. */
enum option_type {
    OPTION_FLAG = 1, /* --name, no argument; bool */
    OPTION_BOOL,     /* as FLAG, with a key: yes|no, true|false, on|off, 1|0; bool */
    OPTION_INT,      /* int64_t within [min, max] */
    OPTION_DURATION, /* 250ms, 10s, 5m, 24h, 30d; bare numbers are seconds; int64_t ms */
    OPTION_SIZE,     /* 512KiB, 64MiB, 1GiB, 1000000; int64_t bytes */
    OPTION_TEXT,     /* const char *, NULL when unset or empty; owned by the options */
    OPTION_CHOICE,   /* one of `choices`; int64_t: its position */
    OPTION_LIST,     /* repeatable (file: comma-separated); struct option_list */
};

/* Ceilings: settings of a program, properties, items of a list, bytes of a value. */
enum {
    OPTIONS_SETTINGS = 256,
    OPTIONS_PROPERTIES = 256,
    OPTIONS_ITEMS = 4096,
    OPTIONS_VALUE_BYTES = 1 << 20,
};

struct option_list {
    const char **items;
    size_t n;
};

enum option_trait {
    OPTION_SECRET = 1 << 0,    /* printed as *** */
    OPTION_DERIVE = 1 << 1,    /* read by derive: part of config_sha256 */
    OPTION_CLI_ONLY = 1 << 2,  /* a flag only: no key in the file, no variable */
    OPTION_LONG_FLAG = 1 << 3, /* the flag carries its section: --claim-roots */
    OPTION_NO_FLAG = 1 << 4,   /* a key and a variable only */
};

struct option {
    const char *section;
    const char *name; /* lower snake case */
    char letter;      /* short flag, 0: none */
    enum option_type type;
    size_t offset;       /* in the struct given with the table */
    const char *value;   /* default as written in a file; NULL: unset */
    const char *choices; /* CHOICE: "text|json" */
    int64_t min, max;    /* INT, DURATION, SIZE; both 0: >= 0 */
    const char *arg;     /* name of the argument in --help, "FILE" */
    const char *help;    /* one sentence */
    unsigned traits;     /* enum option_trait */
};

/* A table and the struct that its rows' offsets count from. */
struct option_table {
    const struct option *rows;
    size_t n_rows;
    void *target;
    bool no_flags; /* keys and variables only, but for rows that are flags alone: this
                      program has no use for the others */
};

#define OPTION_TABLE(rows, target)                                                       \
    {                                                                                    \
        (rows), sizeof(rows) / sizeof(rows)[0], (target), false                          \
    }

/* Where a value came from, weakest first. */
enum option_origin {
    ORIGIN_DEFAULT,
    ORIGIN_FILE,
    ORIGIN_ENVIRONMENT,
    ORIGIN_FLAG,
};

/* Reads a file that a value refers to (NAME_FILE, @file:); edge gives it (config.h). */
typedef enum err_kind
option_read_fn(void *state, const char *path, struct buf *out, struct err *err);

struct options;

/*
 * Takes the tables (borrowed for the options' life) and sets every default. ERR_FATAL
 * "options_table" for a table that is wrong in itself.
 */
struct options *options_new(const struct option_table *tables,
                            size_t n_tables,
                            option_read_fn *read_file,
                            void *state,
                            struct err *err);
void options_free(struct options *options);

/*
 * One key of a configuration file. ERR_FATAL EXIT_CONFIG "unknown_setting" with the
 * nearest known name, "bad_value" naming file, line, key and what is allowed, or
 * "duplicate_setting" for a key that a file has set before.
 */
enum err_kind options_set_file(struct options *options,
                               const char *file,
                               int line,
                               const char *section,
                               const char *name,
                               const char *value,
                               struct err *err);
/*
 * Sections whose keys belong to another program: left alone, in the file and in the
 * environment, unless a row is of that section too. NULL-terminated, borrowed.
 */
void options_foreign_sections(struct options *options, const char *const *sections);
/*
 * Every HEDDLE_ variable of `environment` but HEDDLE_CONFIG, which names the file
 * itself; unknown ones are "unknown_setting".
 */
enum err_kind options_set_environment(struct options *options,
                                      char *const *environment,
                                      struct err *err);
/*
 * Flags of argv[1..]; what is no flag is left, in order, in `ret_rest` (at least argc
 * pointers). "--" ends the flags, "-" alone is no flag. ERR_FATAL EXIT_USAGE
 * "unknown_flag" with the nearest known one, or "bad_value". -X a=b is a librdkafka
 * property.
 */
enum err_kind options_set_arguments(struct options *options,
                                    int argc,
                                    char **argv,
                                    char **ret_rest,
                                    int *ret_n,
                                    struct err *err);

/* Where a value came from; `ret_detail` (may be NULL): file:line, variable or flag. */
enum option_origin options_origin(const struct options *options,
                                  const char *section,
                                  const char *name,
                                  const char **ret_detail);

/* A librdkafka property that was set anywhere, strongest origin first applied. */
struct option_property {
    const char *name; /* "security.protocol" */
    const char *value;
    enum option_origin origin;
    const char *detail;
};
/* The properties of section kafka, sorted by name. Borrowed. */
const struct option_property *options_properties(const struct options *options,
                                                 size_t *ret_n);

/* Whether the value of a librdkafka property is a secret, by its name. */
bool options_property_secret(const char *name);

/*
 * The option part of --help: a flag with its argument, what it does, default and
 * variable, aligned; a blank line between tables.
 */
void options_help(const struct options *options, struct buf *out);
/* The same of one table as the list of an mdoc manual page (.Bl to .El). */
void options_manual(const struct option *rows, size_t n_rows, struct buf *out);
/* `section.name = value  # origin` lines of every setting, secrets as ***. */
void options_print(const struct options *options, struct buf *out);
/*
 * Sorted section.name=value lines of the settings with OPTION_DERIVE, in one spelling
 * whatever the input's: milliseconds, bytes, true or false.
 */
void options_derive_lines(const struct options *options, struct buf *out);

/*
 * The nearest of `names` by edit distance (of equals the first by bytes), NULL when none
 * is near. For "did you mean".
 */
const char *options_nearest(const char *word, const char *const *names, size_t n);
