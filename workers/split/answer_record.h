/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a split as the record of splitting.md 11.5. */
#pragma once

#include "split.h"
#include "split_record.h"

/* The object that a chunk was written to. */
struct chunk_object {
    struct slice uri;
    uint64_t bytes; /* of the uncompressed content */
    struct slice sha256;
};

/*
 * Fills what the answer knows: result, refusal, manifest, steps, windows, absent and
 * chunks; the rest of `ret_record` is cleared. `objects`: one for each chunk of an answer
 * that is split. Texts are borrowed from the answer, lists lie in `arena`. ERR_FATAL
 * "out_of_memory".
 */
enum err_kind answer_record_make(const struct split_answer *answer,
                                 const struct chunk_object *objects,
                                 struct arena *arena,
                                 struct split_record *ret_record,
                                 struct err *err);
/*
 * Turns a record into the refusal of another code, which is decided after the answer:
 * what was found stays in the manifest, steps, windows, absent and chunks go.
 */
void
answer_record_refuse(struct split_record *record, struct slice code, struct slice reason);
