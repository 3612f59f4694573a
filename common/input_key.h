/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key that brings the parts of one run together (events.md 4). Senders make it; a
 * worker makes it only for a record that came without a key.
 */
#pragma once

#include "arena.h"
#include "slice.h"

#include <stdbool.h>

/* `<Model>/<session>/runs/gemm_tuning/<task>` at the end of a path, cut out of it. */
struct workspace_parts {
    struct slice model;
    struct slice session;
    struct slice task;
    struct slice trace; /* "<Model>/<session>" */
};

/* False when the path does not end so. Slashes at the end do not count. Borrows. */
bool workspace_split(struct slice workspace, struct workspace_parts *ret_parts);

/* What a key is made from; a null slice is "not known". */
struct input_key_source {
    struct slice workspace;  /* of the event */
    struct slice attempt_id; /* of the result: a string, not empty */
    struct slice run_id;     /* likewise */
    struct slice sha256;     /* 64 digits: of the result, else of the first part */
};

/*
 * `<Model>/<session>/<task>` of the workspace; else the whole workspace; else attempt_id,
 * run_id; else "sha256:" and 32 digits. Made in the arena, or borrowed from the source; a
 * null slice when the arena is full.
 */
struct slice input_key_make(const struct input_key_source *source, struct arena *arena);
