/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of a split (splitting.md 12.2) that local mode and the worker share: one set
 * of rows, flags of `heddle split` and keys of section [split].
 */
#pragma once

#include "options.h"
#include "scan.h"
#include "source.h"

struct split_settings {
    const char *tmp_dir; /* NULL: $TMPDIR, else /var/tmp */
    int64_t max_spool_bytes;
    int64_t max_bytes;
    int64_t max_ratio;
    int64_t max_event_bytes;
    int64_t max_strings;
    int64_t zstd_window_log;
    int64_t index_memory; /* 0: all of the index stays in memory */
};

#define SPLIT_SETTING(type_, member_, traits_, name_, kind_)                             \
    .section = "split", .name = #name_, .type = (kind_),                                 \
    .offset = offsetof(type_, member_) + offsetof(struct split_settings, name_),         \
    .traits = (traits_)

/* Rows of an option table over a struct `type_` that has the settings as `member_`. */
#define SPLIT_SETTING_ROWS(type_, member_, traits_)                                      \
    {SPLIT_SETTING(type_, member_, traits_, tmp_dir, OPTION_TEXT), .arg = "DIR",         \
     .help = "Folder of unlinked temporary files; else $TMPDIR, else /var/tmp."},        \
        {SPLIT_SETTING(type_, member_, traits_, max_spool_bytes, OPTION_SIZE),           \
         .value = "64GiB", .min = 1, .max = INT64_MAX,                                   \
         .help = "Bytes as received of a trace that is no file: standard input, a "      \
                 "download."},                                                           \
        {SPLIT_SETTING(type_, member_, (traits_) | OPTION_DERIVE, max_bytes,             \
                       OPTION_SIZE),                                                     \
         .value = "1TiB", .min = 1, .max = INT64_MAX,                                    \
         .help = "Decompressed bytes of one trace."},                                    \
        {SPLIT_SETTING(type_, member_, (traits_) | OPTION_DERIVE, max_ratio,             \
                       OPTION_INT),                                                      \
         .value = "1100", .min = 1, .max = INT64_MAX,                                    \
         .help = "Decompressed bytes for each compressed one."},                         \
        {SPLIT_SETTING(type_, member_, (traits_) | OPTION_DERIVE, max_event_bytes,       \
                       OPTION_SIZE),                                                     \
         .value = "64MiB", .min = 1, .max = (int64_t)SCAN_MAX_EVENT_BYTES,               \
         .help = "Bytes of one event; a larger one is skipped and counted."},            \
        {SPLIT_SETTING(type_, member_, (traits_) | OPTION_DERIVE, max_strings,           \
                       OPTION_SIZE),                                                     \
         .value = "1GiB", .min = 1, .max = INT64_MAX,                                    \
         .help = "Bytes of the distinct names, categories and ids of a trace."},         \
        {SPLIT_SETTING(type_, member_, (traits_) | OPTION_DERIVE, zstd_window_log,       \
                       OPTION_INT),                                                      \
         .value = "23", .min = 10, .max = 27,                                            \
         .help = "Window of a zstd trace at most, as a power of two."},                  \
    {                                                                                    \
        SPLIT_SETTING(type_, member_, (traits_) | OPTION_DERIVE, index_memory,           \
                      OPTION_SIZE),                                                      \
            .min = SPLIT_MIN_INDEX_MEMORY, .max = INT64_MAX,                             \
            .help =                                                                      \
                "Memory of the index, the rest goes to a temporary file; unset: all "    \
                "of it stays in memory."                                                 \
    }

/* Below it nothing of a trace fits. */
enum { SPLIT_MIN_INDEX_MEMORY = 1 << 20 };

/* What derive reads of them. */
struct split_limits split_settings_limits(const struct split_settings *settings);
