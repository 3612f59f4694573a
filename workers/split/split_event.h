/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace event from its bytes to what leaves: the trace is fetched, split, its chunks
 * are put into the store, one record is made. Beside split_event_read() everything here
 * may be called from several threads at once.
 */
#pragma once

#include "chunk_store.h"
#include "claim.h"
#include "codec.h"
#include "event_params.h"
#include "record.h"
#include "serde.h"
#include "split_settings.h"

#include <stdatomic.h>

/* What all events share. Everything is borrowed. */
struct splitter {
    struct serde *events;
    const struct codec *records; /* of split_record_type */
    const struct codec_plan *own_records;
    struct chunk_store *store;
    struct claim_limits limits;
    const struct split_settings *settings;
    struct split_hints hints; /* of the environment */
    struct provenance provenance;
};

/* An event that can be worked on. */
struct split_task {
    struct trace_event event;
    struct event_params params;
};

/*
 * Decodes and checks. ERR_RECORD "gate_request_malformed", "trace_event_malformed"
 * (neither bytes nor claim), serde_decode()'s.
 */
enum err_kind split_event_read(const struct splitter *splitter,
                               const struct message *in,
                               struct arena *arena,
                               struct split_task *ret_task,
                               struct err *err);
/*
 * Adds the split record to `out`, be the trace split or refused. `cancelled` (may be
 * NULL) ends it soon. ERR_RECORD "trace_event_malformed"; ERR_RETRY with a final code for
 * passing trouble of source and store, "cancelled".
 */
enum err_kind split_event_run(const struct splitter *splitter,
                              const struct split_task *task,
                              const struct message *in,
                              const atomic_bool *cancelled,
                              struct emits *out,
                              struct err *err);
/*
 * The attempts are used up, or the record would not fit: adds the refusal that tells so,
 * and a warning when the store is away.
 */
enum err_kind split_event_give_up(const struct splitter *splitter,
                                  const struct split_task *task,
                                  const struct message *in,
                                  const struct err *why,
                                  struct emits *out,
                                  struct err *err);
/* Adds the warning that the event is past its deadline. */
enum err_kind split_event_late(const struct splitter *splitter,
                               const struct split_task *task,
                               const struct message *in,
                               int64_t worked_ms,
                               struct emits *out,
                               struct err *err);
