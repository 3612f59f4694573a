/* SPDX-License-Identifier: Apache-2.0 */
/* The join with its state. */
#include "joiner.h"

#include "cleanup.h"
#include "clock.h"

enum { HEAD_LETTER = 'h' };

enum err_kind
joiner_init(struct joiner *joiner, const struct schema_source *schemas, struct err *err)
{
    arena_init(&joiner->scratch, 0);
    joiner->records = serde_new(&audit_part_type, schemas, err);
    return joiner->records ? ERR_OK : err->kind;
}

void
joiner_done(struct joiner *joiner)
{
    serde_free(joiner->records);
    arena_done(&joiner->scratch);
}

/* --- reading -------------------------------------------------------------------------
 */

struct loading {
    struct joiner *joiner;
    struct join *join;
};

/* Values of the store stay where they are; only what is around them is made anew. */
static enum err_kind
load(void *state, struct slice key_suffix, struct slice value, struct err *err)
{
    const struct loading *loading = state;
    struct arena *arena = loading->join->arena;
    (void)key_suffix;
    struct audit_part *known = arena_calloc(arena, 1, sizeof *known);
    if (!known)
        return audit_full(err);
    if (serde_decode(loading->joiner->records, value, arena, known, err)) {
        struct err why = *err;
        return err_fatal(err, EXIT_TRY_AGAIN, "state_unreadable",
                         "a record of the join's state can't be read: %s: %s; is a newer "
                         "version running beside this one?",
                         why.code, why.msg);
    }
    return join_load(loading->join, known, err);
}

static enum err_kind
fetch_missing(const struct joiner *joiner, struct join *join, struct err *err)
{
    size_t position = 0;
    struct join_item *item;
    while ((item = join_missing(join, &position))) {
        struct slice subject =
            arena_printf(join->arena, "a part of %.*s", SLICE_ARG(join->input_key));
        if (!subject.data)
            return audit_full(err);
        if (claim_fetch(joiner->limits, &item->part.payload.claim, subject.data,
                        join->arena, &item->bytes, err))
            return err_at(err, "gather");
        if (!item->bytes.data)
            item->bytes = SLICE("");
    }
    return ERR_OK;
}

/* --- writing -------------------------------------------------------------------------
 */

static enum err_kind
stage(const struct joiner *joiner,
      const struct join *join,
      struct store *store,
      struct err *err)
{
    CLEANUP(buf_done) struct buf value = BUF_INIT;
    for (size_t i = 0; i < join->n_changes; i++) {
        const struct join_change *change = &join->changes[i];
        struct slice bytes = {NULL, 0};
        buf_reset(&value);
        if (change->value) {
            if (serde_encode(joiner->records, change->value, &value, err))
                return err->kind;
            bytes = buf_slice(&value);
        }
        int64_t due_ms = change->value && change->value->has_head
                             ? change->value->head.due_ms
                             : STORE_NEVER;
        if (store_stage_due(store, change->key, bytes, due_ms, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
settle(struct joiner *joiner,
       struct join *join,
       struct store *store,
       int64_t now_ms,
       struct emits *out,
       struct err *err)
{
    const struct join_times times = {now_ms, joiner->expiry_ms, joiner->retention_ms};
    if (join_plan(join, &times, err) || fetch_missing(joiner, join, err) ||
        join_emit(join, joiner->provenance, out, err))
        return err->kind;
    return stage(joiner, join, store, err);
}

enum err_kind
joiner_record(struct joiner *joiner,
              struct store *store,
              const struct tuning_event *event,
              const struct message *in,
              struct emits *out,
              struct err *err)
{
    int64_t now_ms = clock_now_ms();
    struct join_split split;
    struct join join;
    struct loading loading = {joiner, &join};
    if (join_split(event, in, now_ms, out->arena, &split, err))
        return err->kind;
    join_init(&join, out->arena, split.input_key);
    if (store_scan(store, split.input_key, load, &loading, err))
        return err->kind;
    for (size_t i = 0; i < split.n; i++)
        if (join_add(&join, &split.items[i], err))
            return err->kind;
    return settle(joiner, &join, store, now_ms, out, err);
}

/* --- what is due ---------------------------------------------------------------------
 */

int64_t
joiner_due(struct joiner *joiner, struct slice key_suffix, struct slice value)
{
    struct audit_part known = {0};
    struct err err;
    if (key_suffix.len != JOIN_SUFFIX_BYTES || key_suffix.data[1] != HEAD_LETTER)
        return STORE_NEVER;
    arena_reset(&joiner->scratch);
    if (serde_decode(joiner->records, value, &joiner->scratch, &known, &err) ||
        !known.has_head)
        return STORE_NEVER;
    return known.head.due_ms;
}

enum err_kind
joiner_on_due(struct joiner *joiner,
              struct store *store,
              struct slice value,
              struct emits *out,
              struct err *err)
{
    struct audit_part head = {0};
    struct join join;
    struct loading loading = {joiner, &join};
    if (serde_decode(joiner->records, value, out->arena, &head, err))
        return err->kind;
    join_init(&join, out->arena, head.input_key);
    if (store_scan(store, head.input_key, load, &loading, err))
        return err->kind;
    return settle(joiner, &join, store, clock_now_ms(), out, err);
}
