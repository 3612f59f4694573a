/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a split as the document of splitting.md 11.5. */
#pragma once

#include "buf.h"
#include "split.h"

/* How the events of a chunk are listed. */
enum document_events { EVENTS_NONE, EVENTS_DIGEST, EVENTS_FULL };

/* What local mode knows of a written chunk (11.5); NULL sha256: it was not written. */
struct document_file {
    uint64_t bytes;
    const char *sha256;
};

/*
 * Appends the document as one JSON object. `files`: one for each chunk of the answer, or
 * NULL. A failure marks `out`.
 */
void document_add(struct buf *out,
                  const struct split_answer *answer,
                  enum document_events events,
                  const struct document_file *files);
