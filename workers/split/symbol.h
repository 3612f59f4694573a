/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a name says by itself: a collective, a launch, a frame. Found once for each
 * distinct name of a trace.
 */
#pragma once

#include "events.h"
#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum symbol_trait {
    SYMBOL_STALL = 1,        /* contains rccl, nccl or cross_device_reduce (3) */
    SYMBOL_COLLECTIVE = 2,   /* of a kernel: kernel-table.md 6 */
    SYMBOL_LAUNCH = 4,       /* contains "launch" */
    SYMBOL_GRAPH_LAUNCH = 8, /* contains "graphlaunch" */
    SYMBOL_FRAME = 16,       /* FILE.py(LINE): FUNCTION */
};

/* The traits of one name. */
unsigned symbol_traits(struct slice name);
/* Whether `name` contains `word` (lower case) in any case. */
bool symbol_contains(struct slice name, const char *word);

/* The traits of the names of a trace, remembered. */
struct symbols {
    const struct events *events;
    uint8_t *known; /* by text; 0: not looked at yet */
};

/* Borrows `events`, which must be closed. */
enum err_kind
symbols_init(struct symbols *symbols, const struct events *events, struct err *err);
void symbols_done(struct symbols *symbols);
unsigned symbols_find(struct symbols *symbols, uint32_t text);

static inline bool
symbols_has(struct symbols *symbols, uint32_t text, enum symbol_trait trait)
{
    enum { KNOWN = 128 };
    unsigned traits = symbols->known[text];
    return ((traits & KNOWN) ? traits : symbols_find(symbols, text)) & trait;
}
