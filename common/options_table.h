/* SPDX-License-Identifier: Apache-2.0 */
/* What options.c keeps, for the files that print it. Nobody else includes this. */
#pragma once

#include "arena.h"
#include "options.h"

struct setting {
    const struct option *row;
    size_t table;          /* its position among the tables */
    void *value;           /* the member of the target */
    const char *name;      /* "audit.max_part_bytes"; "quiet" without a section */
    const char *flag;      /* "max-part-bytes", or the long form where tables clash */
    const char *long_flag; /* "audit-max-part-bytes" */
    const char *variable;  /* "HEDDLE_AUDIT_MAX_PART_BYTES"; NULL: none */
    enum option_origin origin;
    const char *detail;
};

struct options {
    struct arena arena; /* every text above, and values */
    struct setting settings[OPTIONS_SETTINGS];
    size_t n_settings;
    struct option_property properties[OPTIONS_PROPERTIES];
    size_t n_properties;
    const char *const *foreign;
    option_read_fn *read_file;
    void *state;
};
