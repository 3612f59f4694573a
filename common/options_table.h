/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of options.h share. Nobody else includes this. */
#pragma once

#include "arena.h"
#include "options.h"

struct setting {
    const struct option *row;
    size_t table;          /* its position among the tables */
    void *value;           /* the member of the target */
    const char *name;      /* "audit.max_part_bytes"; "quiet" without a section */
    const char *flag;      /* "max-part-bytes", or the long form where tables clash */
    const char *long_flag; /* "audit-max-part-bytes"; both NULL: no flag */
    const char *variable;  /* "HEDDLE_AUDIT_MAX_PART_BYTES"; NULL: none */
    enum option_origin origin;
    const char *detail;
    const char *file_place; /* where a file set it, used or not; NULL: nowhere */
};

/* A property that a file set, used or not. */
struct file_property {
    const char *name;
    const char *place;
};

struct options {
    struct arena arena; /* every text above, and values */
    struct setting settings[OPTIONS_SETTINGS];
    size_t n_settings;
    struct option_property properties[OPTIONS_PROPERTIES];
    size_t n_properties;
    struct file_property file_properties[OPTIONS_PROPERTIES];
    size_t n_file_properties;
    const char *const *foreign;
    option_read_fn *read_file;
    void *state;
};

/* Where a value comes from, for origins and for messages. */
struct source {
    enum option_origin origin;
    const char *detail; /* "heddle.ini:12", "HEDDLE_GROUP", "--group" */
    enum exit_code exit_code;
};

/* Gives a setting a value from its text, unless it has one of stronger origin. */
enum err_kind setting_set(struct options *options,
                          struct setting *setting,
                          struct source source,
                          const char *given,
                          struct err *err);
/* The same for a librdkafka property. */
enum err_kind property_set(struct options *options,
                           struct source source,
                           const char *name,
                           const char *given,
                           struct err *err);
/* Whether a row with a key is of this section. */
bool options_own_section(const struct options *options, const char *section);
/* "; did you mean NAME?", or `otherwise` when nothing is near. */
void options_hint(struct buf *hint,
                  const char *word,
                  const char *const *names,
                  size_t n,
                  const char *otherwise);
