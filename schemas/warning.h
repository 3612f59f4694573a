/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warning (events.md 7): a coded health record about an input. Topic heddle.warnings,
 * key: the code. Sent with the record it is about.
 */
#pragma once

#include "origin.h"

enum severity {
    SEVERITY_INFO = 0,
    SEVERITY_WARNING,
    SEVERITY_ERROR,
    SEVERITY_BLOCKING,
};

/* Texts of a warning are cut at this many bytes (events.md 1). */
enum { WARNING_TEXT_BYTES = 4096 };

struct warning_field {
    struct slice key;
    struct slice json;
};

struct warning {
    struct slice code;
    int32_t severity; /* enum severity */
    struct slice subject;
    struct list fields; /* struct warning_field, sorted by key */
    struct slice message;
    struct origin origin;
    struct provenance provenance;
};

extern const struct record_type warning_type;
