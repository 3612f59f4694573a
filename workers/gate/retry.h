/* SPDX-License-Identifier: Apache-2.0 */
/* The one retry that a refusal may ask for, bounded by its message (gates.md 7). */
#pragma once

#include "input.h"
#include "note.h"

/* The modes that a warning names: a list, something else, or no such field. */
struct hint_modes {
    bool present;
    bool is_list;
    const struct slice *modes; /* null slices: entries that are no strings */
    size_t n;
};

/* A warning as far as a retry reads it. `code` null: the entry is no record. */
struct retry_warning {
    struct slice code;
    struct hint_modes non_empty;
    struct hint_modes available;
};

struct retry_hint {
    struct slice mode; /* trimmed; null: no retry */
    struct slice code; /* of the warning that named it */
};

/* Only for a refused attempt 1 of a serving framework. */
struct retry_hint retry_find(bool refused,
                             enum framework_kind kind,
                             int64_t attempt,
                             const struct retry_warning *warnings,
                             size_t n);
/* The same over the warnings of a verdict. */
struct retry_hint retry_of_notes(bool refused,
                                 enum framework_kind kind,
                                 int64_t attempt,
                                 const struct note_list *notes);
/*
 * The request of attempt 2: the original with the hint, its id with "/2" made in `arena`.
 * False when there is no memory.
 */
bool retry_follow(const struct gate_request *request,
                  struct slice effective_mode,
                  struct retry_hint hint,
                  struct arena *arena,
                  struct gate_request *ret_request);
