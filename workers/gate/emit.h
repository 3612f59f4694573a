/* SPDX-License-Identifier: Apache-2.0 */
/* The records that leave the gate (gates.md 1.5): verdict, retry event, warnings. */
#pragma once

#include "decide.h"
#include "impossible.h"
#include "record.h"
#include "split_record.h"
#include "verdict.h"

/* What all records of one input share. */
struct emit_frame {
    const struct split_record *record; /* it has request and origin */
    const struct gate_request *request;
    const struct split_chunk *accepted; /* NULL: refused */
    const struct provenance *provenance;
    struct slice key;
    int64_t timestamp_ms;
};

/* `selfcert` NULL: none. ERR_FATAL "out_of_memory". */
enum err_kind emit_verdict(const struct emit_frame *frame,
                           const struct gate_answer *answer,
                           const struct selfcert *selfcert,
                           struct emits *out,
                           struct err *err);
/* The event of attempt 2, with attempt 1's parameters. */
enum err_kind emit_retry(const struct emit_frame *frame,
                         const struct gate_answer *answer,
                         struct emits *out,
                         struct err *err);
/* Each of `notes` to heddle.warnings. */
enum err_kind emit_notes(const struct emit_frame *frame,
                         const struct note_list *notes,
                         struct emits *out,
                         struct err *err);
enum err_kind emit_impossible(const struct emit_frame *frame,
                              const struct impossible *found,
                              size_t n,
                              struct emits *out,
                              struct err *err);
/* A table that is too large to be sent. */
enum err_kind emit_output_failed(const struct emit_frame *frame,
                                 size_t bytes,
                                 struct emits *out,
                                 struct err *err);
