/* SPDX-License-Identifier: Apache-2.0 */
/* The records that leave: from what was derived to a row of the topic, and its warnings.
 */
#pragma once

#include "orphan.h"
#include "warnings.h"

#define OUTPUT_TOPIC "heddle.audit.tunings"

/* What a record says besides what was derived. */
struct output_frame {
    struct slice trace;     /* nullable */
    struct slice workspace; /* "": none */
    const struct origin *origin;
    const struct provenance *provenance;
};

/* The audit row, in `arena`. ERR_RECORD "record_too_large". */
enum err_kind output_row(const struct output_frame *frame,
                         const struct audit_answer *answer,
                         struct arena *arena,
                         struct audit_row **ret_row,
                         struct err *err);
/* The orphan record of key `orphan_key`, in `arena`. ERR_RECORD "record_too_large". */
enum err_kind output_orphan(const struct output_frame *frame,
                            struct slice orphan_key,
                            const struct orphan *orphan,
                            struct arena *arena,
                            struct audit_row **ret_row,
                            struct err *err);
/* "orphan:" and the input key; a null slice when the arena is full. */
struct slice output_orphan_key(struct slice input_key, struct arena *arena);

/* What an input key is made from when the record came without one. */
struct output_key_source {
    struct slice workspace;
    const struct envelope *envelope; /* of the result; NULL: none */
    struct slice first_part;         /* bytes of the result, else of the first part */
};

/* The record's own key as valid UTF-8, else one by the rule. Null when the arena is full.
 */
struct slice output_input_key(struct slice key,
                              const struct output_key_source *source,
                              struct arena *arena);

/* Milliseconds, rounded down. */
int64_t output_ms(int64_t time_us);
/* The dead letter of a result that gives no row. */
enum err_kind output_refuse(const char *dead_reason, struct err *err);
