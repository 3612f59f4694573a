/* SPDX-License-Identifier: Apache-2.0 */
/* The families of chunks, and the mode that a request means (gates.md 1.2, 2). */
#pragma once

#include "slice.h"

#include <stdbool.h>

/* In the fixed order of every list and every tie. */
enum gate_mode {
    MODE_MIXED = 0,
    MODE_DECODE_ONLY,
    MODE_PREFILLDECODE,
    MODE_GENERIC,
    MODES, /* none of them: the kind `range` among others */
};

extern const char *const mode_names[MODES + 1]; /* NULL-terminated */
/* What the names of a family's files begin with, before an underscore. */
extern const char *const mode_labels[MODES];

/* The mode of that name, MODES for any other. */
enum gate_mode mode_of(struct slice name);

enum framework_kind { KIND_SERVING, KIND_SCRIPTABLE, KIND_UNKNOWN };

extern const char *const framework_kind_names[KIND_UNKNOWN];
/* KIND_UNKNOWN for another name, or null. */
enum framework_kind framework_kind_of_name(struct slice name);
/* `framework` is trimmed and compared without case. */
enum framework_kind framework_kind_of(struct slice framework);

/* The effective mode. */
struct mode_choice {
    struct slice mode;
    struct slice overridden; /* what a scriptable request asked for instead; else null */
};

/*
 * `requested` and `fallback` (the configured default) may be null or blank; the last
 * default is "mixed". A mode that is none of the four is the caller's to refuse.
 */
struct mode_choice
mode_choose(enum framework_kind kind, struct slice requested, struct slice fallback);
