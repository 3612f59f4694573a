/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of a split on their way into the chunk store (splitting.md 11.6): drafts
 * while the trace is read, objects once it is known to be what was claimed.
 */
#pragma once

#include "answer_record.h"
#include "chunk_store.h"
#include "digest.h"
#include "split.h"

struct chunk_file {
    struct chunk_draft *draft; /* NULL: not begun, or put */
    struct pack *pack;
    struct digest *digest;
    uint64_t bytes;
    char sha256[DIGEST_HEX];
};

/* Zeroed but for the first. */
struct chunk_writer {
    struct chunk_store *store; /* borrowed */
    struct chunk_file files[SPLIT_MAX_CHUNKS];
};

/* Drops what was not put. */
void chunk_writer_done(struct chunk_writer *writer);
/* Fits `write` of a split_sink; the state is the writer. */
enum err_kind
chunk_writer_write(void *state, size_t chunk, struct slice piece, struct err *err);
/*
 * Puts the `n` chunks into the store; those that are there already are kept. Texts of
 * `ret_objects`, one for each, lie in `arena`. Errors as chunk_store.h, and those of
 * pack.h.
 */
enum err_kind chunk_writer_put(struct chunk_writer *writer,
                               size_t n,
                               struct arena *arena,
                               struct chunk_object *ret_objects,
                               struct err *err);
