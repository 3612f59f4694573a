/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves the splitter for one event: its record, and warnings (splitting.md 11.5).
 */
#pragma once

#include "codec.h"
#include "record.h"
#include "split_record.h"
#include "trace_event.h"

/* What all records of one event share. Everything is borrowed. */
struct split_frame {
    const struct trace_event *event;
    const struct split_parameters *split;
    struct split_trace trace;
    struct provenance provenance; /* facts are added */
    struct slice key;
    int64_t timestamp_ms;
    const struct codec *records; /* of split_record_type */
    const struct codec_plan *own_records;
    struct emits *out;
    /* The fact that is named: the trace was fetched, or failed with this code. */
    bool is_fetched;
    struct slice failed;
};

/*
 * The refusal that an error of source or store ends in (splitting.md 13.1), texts
 * borrowed from it; false: it is none, the event itself is unusable.
 */
bool split_refusal_of(const struct err *err, struct split_refusal *ret_refusal);
/* A record that knows nothing but why. */
void split_record_refused(struct split_record *ret_record,
                          const struct split_refusal *refusal);
/*
 * Completes the record and adds a copy of it to `frame->out`; one that its topic does not
 * take becomes a refusal (splitting.md 11.8).
 */
enum err_kind split_emit_record(const struct split_frame *frame,
                                struct split_record *record,
                                struct err *err);
/* Warning "job_deadline". */
enum err_kind
split_emit_late(const struct split_frame *frame, int64_t worked_ms, struct err *err);
/* Warning "store_unavailable". */
enum err_kind split_emit_store_away(const struct split_frame *frame,
                                    struct slice store,
                                    const struct err *why,
                                    struct err *err);
