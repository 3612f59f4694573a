/* SPDX-License-Identifier: Apache-2.0 */
/* The join: what the parts give, as far as it differs from what was sent. */
#include "join_inside.h"

#include "digest.h"

#include <stdlib.h>

/* --- where it comes from ------------------------------------------------------------ */

/* The parts of a run in one list, the result first. */
static struct join_item **
all_parts(const struct join *join, const struct join_run *run, size_t *ret_n)
{
    size_t n = 0;
    struct join_item **parts =
        arena_calloc(join->arena, run->n_logs + run->n_verdicts + 1, sizeof *parts);
    if (!parts)
        return NULL;
    if (run->result)
        parts[n++] = run->result;
    for (size_t i = 0; i < run->n_logs; i++)
        parts[n++] = run->logs[i];
    for (size_t i = 0; i < run->n_verdicts; i++)
        parts[n++] = run->verdicts[i];
    *ret_n = n;
    return parts;
}

static int
compare_inputs(const void *a, const void *b)
{
    const struct input_ref *x = a;
    const struct input_ref *y = b;
    int d = slice_compare(x->sha256, y->sha256);
    return d ? d : join_compare_times(x->offset, y->offset);
}

static bool
add_fact(struct arena *arena, const struct join_part *part, struct fact *fact)
{
    *fact = (struct fact){
        .subject = part->kind == JOIN_RESULT ? SLICE("result") : SLICE("e2e"),
        .outcome = SLICE("fetched"),
        .sha256 = part->sha256,
    };
    if (part->kind == JOIN_LOG)
        fact->subject = arena_printf(arena, "log:%.*s", SLICE_ARG(part->name));
    return fact->subject.data;
}

static enum err_kind
take_provenance(const struct join *join,
                const struct join_run *run,
                const struct provenance *base,
                struct provenance *ret,
                struct err *err)
{
    size_t n = 0;
    struct join_item **parts = all_parts(join, run, &n);
    struct input_ref *inputs = arena_calloc(join->arena, n, sizeof *inputs);
    struct fact *facts = arena_calloc(join->arena, n, sizeof *facts);
    if (!parts || !inputs || !facts)
        return audit_full(err);
    *ret = *base;
    ret->facts = (struct list){facts, 0};
    for (size_t i = 0; i < n; i++) {
        inputs[i] = parts[i]->part.input;
        if (parts[i]->part.claimed &&
            !add_fact(join->arena, &parts[i]->part, &facts[ret->facts.n++]))
            return audit_full(err);
    }
    if (n > 1)
        qsort(inputs, n, sizeof *inputs, compare_inputs);
    size_t n_inputs = 0;
    for (size_t i = 0; i < n; i++)
        if (n_inputs == 0 || compare_inputs(&inputs[n_inputs - 1], &inputs[i]) != 0)
            inputs[n_inputs++] = inputs[i];
    ret->inputs = (struct list){inputs, n_inputs};
    return ERR_OK;
}

/* Of the orphan record: the event of its first part, at the time of its newest. */
static const struct join_part *
first_part(struct join_item *const *parts, size_t n, int64_t *ret_newest_us)
{
    const struct join_part *first = &parts[0]->part;
    *ret_newest_us = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if (parts[i]->part.input.offset < first->input.offset)
            first = &parts[i]->part;
        if (parts[i]->part.event_time_us > *ret_newest_us)
            *ret_newest_us = parts[i]->part.event_time_us;
    }
    return first;
}

/* --- sending ------------------------------------------------------------------------ */

/* A record that is ready, and whatever its warnings come from. */
struct ready {
    struct audit_row *row;
    int64_t timestamp_ms;
    const struct rejection *rejection;
    const struct notes *notes;
};

static struct audit_log *
logs_of(const struct join *join, const struct join_run *run)
{
    struct audit_log *logs = arena_calloc(join->arena, run->n_logs, sizeof *logs);
    for (size_t i = 0; logs && i < run->n_logs; i++)
        logs[i] = (struct audit_log){run->logs[i]->part.name, run->logs[i]->bytes,
                                     run->logs[i]->part.event_time_us};
    return logs;
}

static enum err_kind
derive_row(const struct join *join,
           const struct join_run *run,
           const struct provenance *base,
           struct ready *ret_ready,
           struct err *err)
{
    const struct join_part *result = &run->result->part;
    const struct audit_parts parts = {
        .result = run->result->bytes,
        .has_event_time = true,
        .event_time_us = result->event_time_us,
        .logs = logs_of(join, run),
        .n_logs = run->n_logs,
        .e2e = run->n_verdicts ? run->verdicts[0]->bytes : (struct slice){NULL, 0},
        .defaults = result->defaults,
        .workspace = result->workspace,
        .identity = run->result->identity,
    };
    struct audit_answer answer;
    struct provenance provenance;
    if (!parts.logs)
        return audit_full(err);
    if (audit_row_derive(&parts, join->arena, &answer, err))
        return err->kind;
    if (answer.dead_reason[0])
        return output_refuse(answer.dead_reason, err);
    if (take_provenance(join, run, base, &provenance, err))
        return err->kind;
    const struct output_frame frame = {result->trace, result->workspace, &result->origin,
                                       &provenance};
    ret_ready->timestamp_ms = output_ms(result->event_time_us);
    ret_ready->rejection = &answer.run->rejection;
    ret_ready->notes = &answer.run->notes;
    return output_row(&frame, &answer, join->arena, &ret_ready->row, err);
}

static struct slice *
verdicts_of(const struct join *join, const struct join_run *run)
{
    struct slice *verdicts = arena_calloc(join->arena, run->n_verdicts, sizeof *verdicts);
    for (size_t i = 0; verdicts && i < run->n_verdicts; i++)
        verdicts[i] = run->verdicts[i]->bytes;
    return verdicts;
}

static enum err_kind
derive_waiting(const struct join *join,
               const struct join_run *run,
               const struct provenance *base,
               struct ready *ret_ready,
               struct err *err)
{
    static const struct rejection none;
    size_t n = 0;
    int64_t newest_us = 0;
    struct provenance provenance;
    struct orphan *orphan = arena_calloc(join->arena, 1, sizeof *orphan);
    struct join_item **parts = all_parts(join, run, &n);
    struct audit_log *logs = logs_of(join, run);
    struct slice *verdicts = verdicts_of(join, run);
    struct slice key = output_orphan_key(join->input_key, join->arena);
    if (!orphan || !parts || !logs || !verdicts || !key.data)
        return audit_full(err);
    if (orphan_derive(logs, run->n_logs, verdicts, run->n_verdicts, join->arena, orphan,
                      err) ||
        take_provenance(join, run, base, &provenance, err))
        return err->kind;
    const struct join_part *first = first_part(parts, n, &newest_us);
    struct origin origin = first->origin;
    origin.captured_at_us = newest_us;
    const struct output_frame frame = {first->trace, first->workspace, &origin,
                                       &provenance};
    ret_ready->timestamp_ms = output_ms(newest_us);
    ret_ready->rejection = &none;
    ret_ready->notes = &orphan->notes;
    return output_orphan(&frame, key, orphan, join->arena, &ret_ready->row, err);
}

enum err_kind
join_keep_digest(struct join *join,
                 const uint8_t digest[JOIN_DIGEST_BYTES],
                 struct slice *ret,
                 struct err *err)
{
    *ret =
        arena_copy(join->arena, (struct slice){(const char *)digest, JOIN_DIGEST_BYTES});
    return ret->data ? ERR_OK : audit_full(err);
}

static enum err_kind
digest_slices(struct join *join,
              const struct slice *pieces,
              size_t n,
              struct slice *ret,
              struct err *err)
{
    uint8_t bytes[DIGEST_BYTES];
    struct digest *made = digest_new();
    if (!made)
        return err_no_memory(err, "the digest of a record");
    for (size_t i = 0; i < n; i++) {
        size_t len = pieces[i].data ? pieces[i].len : SIZE_MAX;
        digest_add(made, (struct slice){(const char *)&len, sizeof len});
        digest_add(made, pieces[i]);
    }
    digest_end_bytes(made, bytes);
    digest_free(made);
    return join_keep_digest(join, bytes, ret, err);
}

static bool
knows_digest(struct slice known, struct slice digest)
{
    for (size_t at = 0; at + JOIN_DIGEST_BYTES <= known.len; at += JOIN_DIGEST_BYTES)
        if (memcmp(known.data + at, digest.data, JOIN_DIGEST_BYTES) == 0)
            return true;
    return false;
}

static enum err_kind
digest_warning(struct join *join,
               const struct warning *warning,
               struct slice *ret,
               struct err *err)
{
    const struct warning_field *fields = warning->fields.items;
    size_t n = warning->fields.n;
    struct slice *pieces = arena_calloc(join->arena, 2 * n + 1, sizeof *pieces);
    if (!pieces)
        return audit_full(err);
    pieces[0] = warning->code;
    for (size_t i = 0; i < n; i++) {
        pieces[2 * i + 1] = fields[i].key;
        pieces[2 * i + 2] = fields[i].json;
    }
    return digest_slices(join, pieces, 2 * n + 1, ret, err);
}

/* Those that were not sent with the record before; `*ret_digests` of all of them. */
static enum err_kind
send_warnings(struct join *join,
              const struct ready *ready,
              struct slice known,
              struct slice *ret_digests,
              struct emits *out,
              struct err *err)
{
    struct emits warnings = {.arena = join->arena};
    const struct warning_frame about = {ready->row->run_key, &ready->row->origin,
                                        &ready->row->provenance, ready->timestamp_ms};
    if (warnings_add(&about, ready->rejection, ready->notes, &warnings, err))
        return err->kind;
    char *digests = arena_alloc(join->arena, warnings.n * JOIN_DIGEST_BYTES);
    if (!digests)
        return audit_full(err);
    for (size_t i = 0; i < warnings.n; i++) {
        const struct emit *emit = &warnings.items[i];
        struct slice digest;
        if (digest_warning(join, emit->value, &digest, err))
            return err->kind;
        /* audit_full() is never ERR_OK, which the analyzer can't see:
         * NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
        memcpy(digests + i * JOIN_DIGEST_BYTES, digest.data, JOIN_DIGEST_BYTES);
        if (!knows_digest(known, digest) &&
            emits_add(out, emit->topic, emit->key, emit->type, emit->value,
                      emit->timestamp_ms, err))
            return err->kind;
    }
    *ret_digests = (struct slice){digests, warnings.n * JOIN_DIGEST_BYTES};
    return ERR_OK;
}

static enum err_kind
send_record(struct join *join,
            struct join_run *run,
            const struct ready *ready,
            struct emits *out,
            struct err *err)
{
    /* audit_full() is never ERR_OK, which the analyzer can't see:
     * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    const struct audit_row *row = ready->row;
    const struct slice pieces[] = {row->row, row->x, row->trace, row->workspace};
    struct slice content;
    struct join_sent *sent = &run->sent;
    if (digest_slices(join, pieces, sizeof pieces / sizeof pieces[0], &content, err))
        return err->kind;
    /* An orphan record depends on the clock: after a crash the state may be behind what
     * was withdrawn, and only other parts tell that it is another record. */
    if (run->result && slice_equal(content, sent->content))
        return ERR_OK;
    sent->content = content;
    if (emits_add(out, OUTPUT_TOPIC, row->run_key, &audit_row_type, row,
                  ready->timestamp_ms, err))
        return err->kind;
    return send_warnings(join, ready, sent->warnings, &sent->warnings, out, err);
}

/* Nothing waits any more: what was shown of it is withdrawn. */
static enum err_kind
withdraw(struct join *join, struct join_run *run, struct emits *out, struct err *err)
{
    const struct join_run *latest = join->n_runs ? &join->runs[join->n_runs - 1] : NULL;
    struct slice key = output_orphan_key(join->input_key, join->arena);
    int64_t timestamp_ms =
        latest ? output_ms(latest->result->part.event_time_us) : join->times.now_ms;
    if (!key.data)
        return audit_full(err);
    run->sent.content = (struct slice){NULL, 0};
    run->sent.warnings = (struct slice){NULL, 0};
    return emits_add_tombstone(out, OUTPUT_TOPIC, key, timestamp_ms, err);
}

enum err_kind
join_send_run(struct join *join,
              struct join_run *run,
              const struct provenance *base,
              struct emits *out,
              struct err *err)
{
    struct ready ready;
    if (!run->changed)
        return ERR_OK;
    if (join_keep_digest(join, run->parts, &run->sent.parts, err))
        return err->kind;
    if (!join_has_parts(run))
        return withdraw(join, run, out, err);
    if (run->result ? derive_row(join, run, base, &ready, err)
                    : derive_waiting(join, run, base, &ready, err))
        return err->kind;
    return send_record(join, run, &ready, out, err);
}
