/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a trace was not split (splitting.md 13.2). A refusal is an answer, not an error:
 * it becomes a record that everybody sees. `code` NULL: not refused.
 */
#pragma once

#include "slice.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { REFUSAL_REASON_BYTES = 160 };

/* A number that the code carries, or not. */
struct refusal_number {
    bool is_set;
    uint64_t value;
};

struct refusal {
    const char *code;   /* static; NULL: not refused */
    const char *option; /* static: parameter or setting that would help; NULL */
    const char *limit;  /* static: name of the setting, trace_too_large; NULL */
    char reason[REFUSAL_REASON_BYTES]; /* "": none */
    struct refusal_number bytes;
    struct refusal_number offset;
    struct refusal_number events;
    struct refusal_number damaged_events;
};

static inline struct refusal_number
refusal_number(uint64_t value)
{
    return (struct refusal_number){true, value};
}

/* Sets code and reason; the rest of `refusal` is cleared. */
static inline void __attribute__((format(printf, 3, 4)))
refusal_set(struct refusal *refusal, const char *code, const char *fmt, ...)
{
    *refusal = (struct refusal){.code = code};
    va_list args;
    va_start(args, fmt);
    vsnprintf(refusal->reason, sizeof refusal->reason, fmt, args);
    va_end(args);
}
