/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launched a kernel and with which operands, as far as the trace says so
 * (kernel-table.md 1, 4). Empty shapes are not neutral: a reason stands beside them.
 */
#pragma once

#include "candidate_table.h"
#include "split_record.h"

#include "arena.h"

/* Who launched the most of a kernel's time. */
struct launcher {
    enum launch_kind kind;
    struct slice op; /* the majority op; empty: none */
};

struct launcher launcher_of(const struct kernel_row *row);

/* The fields of a row that follow from its launches. */
struct shape_fields {
    struct list shapes;          /* struct slice */
    struct list input_shapes;    /* struct input_shape */
    struct list input_dtypes;    /* struct slice */
    struct slice provenance;     /* empty: no shapes */
    struct slice missing_reason; /* empty: there are shapes */
    bool dispatchable;           /* false means unknown: null in the row */
    struct list notes;           /* struct slice */
};

/* What it makes lies in `arena` or in the row. False: no memory. */
bool shapes_of(const struct kernel_row *row,
               const struct launcher *launcher,
               struct arena *arena,
               struct shape_fields *ret_fields);

/* FILE.py(LINE): FUNCTION, taken apart. */
struct frame {
    struct slice file; /* null: it has not that form */
    int64_t line;
    struct slice function;
};

struct frame frame_of(struct slice text);
const char *launch_kind_name(enum launch_kind kind);
