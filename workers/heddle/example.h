/* SPDX-License-Identifier: Apache-2.0 */
/* One audit row laid out for reading: nothing added, nothing left out. Pure. */
#pragma once

#include "audit_row.h"
#include "buf.h"
#include "record.h"
#include "slice.h"

enum { EXAMPLES_MAX = 16 };

struct example {
    const char *outcome;
    struct slice key; /* null: no row has this outcome */
    struct buf text;
};

/* The record `in`, decoded, as text: a member of the row a line, values as written. */
void example_write(struct example *example,
                   const struct message *in,
                   const struct audit_row *record);
/* Heading and text, or that there is no such row. */
void example_print(const struct example *example, struct buf *out);
