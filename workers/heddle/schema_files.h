/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas on disk: the author's NAME.avsc and what was released of it,
 * RELEASED/NAME/1.avsc, 2.avsc … A released file is never changed: every record on a
 * topic may still need it.
 */
#pragma once

#include "err.h"
#include "schema.h"

#include <stddef.h>

/* Versions of one schema that are kept, at most. */
enum { SCHEMA_VERSIONS_MAX = 1000 };

/* The versions of one schema, oldest first. */
struct schema_versions {
    struct schema **items;
    size_t n;
};

/* Parses the file. ERR_FATAL EXIT_CONFIG "schema_unreadable", or "schema_invalid" with
 * the path. */
struct schema *schema_file_read(const char *path, struct err *err);
/* "tuning_event" of ".../tuning_event.avsc"; malloc()ed. NULL with `err` for another
 * name. */
char *schema_file_name(const char *path, struct err *err);
/*
 * Reads RELEASED/NAME/1.avsc and on until a number is missing. No folder: none released.
 * ERR_FATAL as schema_file_read.
 */
enum err_kind schema_versions_read(const char *released,
                                   const char *name,
                                   struct schema_versions *ret_versions,
                                   struct err *err);
void schema_versions_done(struct schema_versions *versions);
/*
 * Writes `schema`'s text as the next version; it appears whole or not at all. ERR_FATAL
 * EXIT_CONFIG "schema_unwritable".
 */
enum err_kind schema_version_write(const char *released,
                                   const char *name,
                                   size_t version,
                                   const struct schema *schema,
                                   struct err *err);
