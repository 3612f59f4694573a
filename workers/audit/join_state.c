/* SPDX-License-Identifier: Apache-2.0 */
/* The join: what the state becomes once everything is sent. */
#include "join_inside.h"

#include <stdlib.h>

/* --- what the state becomes --------------------------------------------------------- */

static int
compare_age(const void *a, const void *b)
{
    const struct join_part *x = &(*(struct join_item *const *)a)->part;
    const struct join_part *y = &(*(struct join_item *const *)b)->part;
    int d = join_compare_times(x->event_time_us, y->event_time_us);
    return d ? d : join_compare_identity(x, y);
}

/* Drops the oldest of a kind down to `max`; how many went is in `*ret_n`. */
static enum err_kind
drop_oldest(struct join *join,
            enum join_part_kind kind,
            size_t max,
            size_t *ret_n,
            struct err *err)
{
    size_t n = join_count(join, kind);
    *ret_n = 0;
    if (n <= max)
        return ERR_OK;
    struct join_item **items = arena_calloc(join->arena, n, sizeof *items);
    if (!items)
        return audit_full(err);
    n = 0;
    for (size_t i = 0; i < join->n; i++)
        if (join->items[i].part.kind == (int32_t)kind && !join->items[i].dropped)
            items[n++] = &join->items[i];
    qsort(items, n, sizeof *items, compare_age);
    *ret_n = n - max;
    for (size_t i = 0; i < *ret_n; i++)
        items[i]->dropped = true;
    return ERR_OK;
}

/* What stays was sent with what goes: it must not be sent again without it. */
static enum err_kind
settle_dropped(struct join *join, struct err *err)
{
    const struct join_run *before = join->runs;
    size_t n_before = join->n_runs;
    if (join_assign(join, err))
        return err->kind;
    for (size_t i = 0; i <= join->n_runs; i++) {
        struct join_run *run = &join->runs[i];
        run->sent.key = join_run_name(run);
        for (size_t k = 0; k <= n_before; k++)
            if (slice_equal(join_run_name(&before[k]), join_run_name(run)))
                run->sent = before[k].sent;
        if (!run->result && !join_has_parts(run) && !run->sent.content.len)
            continue;
        if (join_digest_run(run, err) ||
            join_keep_digest(join, run->parts, &run->sent.parts, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
bound(struct join *join,
      const struct provenance *base,
      struct emits *out,
      struct err *err)
{
    static const struct {
        enum join_part_kind kind;
        size_t max;
        const char *name;
    } bounds[] = {
        {JOIN_RESULT, JOIN_MAX_RESULTS, "results"},
        {JOIN_LOG, JOIN_MAX_LOGS, "logs"},
        {JOIN_VERDICT, JOIN_MAX_VERDICTS, "verdicts"},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        size_t n = 0;
        if (drop_oldest(join, bounds[i].kind, bounds[i].max, &n, err))
            return err->kind;
        if (n == 0)
            continue;
        any = true;
        const struct join_part *part = &join->items[0].part;
        const struct warning_frame about = {join->input_key, &part->origin, base,
                                            output_ms(part->event_time_us)};
        if (warnings_add_join_full(&about, bounds[i].name, bounds[i].max, n, out, err))
            return err->kind;
    }
    return any ? settle_dropped(join, err) : ERR_OK;
}

static int64_t
due_after(int64_t from_ms, int64_t wait_ms)
{
    return from_ms > INT64_MAX - wait_ms ? INT64_MAX : from_ms + wait_ms;
}

static int64_t
next_due_ms(const struct join *join)
{
    int64_t due_ms = due_after(join->head.last_part_ms, join->times.retention_ms);
    for (size_t i = 0; i < join->n; i++) {
        const struct join_item *item = &join->items[i];
        if (item->dropped || !join_is_waiting(join, item) || join_is_shown(join, item))
            continue;
        int64_t expires_ms = due_after(item->part.arrived_ms, join->times.expiry_ms);
        if (expires_ms < due_ms)
            due_ms = expires_ms;
    }
    return due_ms;
}

static size_t
stays(const struct join *join)
{
    size_t n = 0;
    for (size_t i = 0; i < join->n; i++)
        n += !join->items[i].dropped;
    return n;
}

/*
 * The part that lies in the record of the head. A part that is alone does, so that an
 * event with one part writes one record. When another joins it gets a record of its own,
 * and stays in the head until a later change finds that record: whichever of the changes
 * are lost when a process that runs at least once dies, it is in one of the two.
 */
static const struct join_item *
part_of_head(const struct join *join)
{
    bool one_stays = stays(join) == 1;
    for (size_t i = 0; i < join->n; i++) {
        const struct join_item *item = &join->items[i];
        if (!item->dropped && !item->has_record && (one_stays || item->in_head))
            return item;
    }
    return NULL;
}

static struct join_change *
change(struct join *join, const struct join_part *key_of, struct err *err)
{
    struct join_change *change = &join->changes[join->n_changes++];
    change->key = join_state_key(join->input_key, key_of, join->arena);
    if (change->key.data)
        return change;
    audit_full(err);
    return NULL;
}

static enum err_kind
keep_change(struct join *join,
            struct join_change *change,
            const struct join_part *part,
            const struct join_head *head,
            struct err *err)
{
    struct audit_part *value = arena_calloc(join->arena, 1, sizeof *value);
    if (!value)
        return audit_full(err);
    value->input_key = join->input_key;
    value->has_part = part != NULL;
    value->has_head = head != NULL;
    if (part)
        value->part = *part;
    if (head)
        value->head = *head;
    change->value = value;
    return ERR_OK;
}

static enum err_kind
change_part(struct join *join, const struct join_item *item, bool alone, struct err *err)
{
    bool gone = item->dropped || join->forget;
    bool written = !gone && !alone && (item->is_new || !item->has_record);
    if (!written && !(gone && item->has_record))
        return ERR_OK;
    struct join_change *to = change(join, &item->part, err);
    if (!to)
        return err->kind;
    return written ? keep_change(join, to, &item->part, NULL, err) : ERR_OK;
}

static enum err_kind
change_head(struct join *join, const struct join_item *with, struct err *err)
{
    struct join_change *to = change(join, NULL, err);
    if (!to)
        return err->kind;
    if (join->forget)
        return ERR_OK;
    return keep_change(join, to, with ? &with->part : NULL, &join->head, err);
}

static enum err_kind
take_sent(struct join *join, struct err *err)
{
    size_t n = 0;
    struct join_sent *sent = arena_calloc(join->arena, join->n_runs + 1, sizeof *sent);
    if (!sent)
        return audit_full(err);
    for (size_t i = 0; i <= join->n_runs; i++) {
        struct join_sent *from = &join->runs[i].sent;
        from->key = join_run_name(&join->runs[i]);
        if (!from->parts.data)
            continue;
        sent[n] = *from;
        sent[n].content = from->content.data ? from->content : SLICE("");
        sent[n].warnings = from->warnings.data ? from->warnings : SLICE("");
        n++;
    }
    join->head.sent = (struct list){sent, n};
    return ERR_OK;
}

static bool
anything_changed(const struct join *join, int64_t due_ms)
{
    bool changed = join->forget || due_ms != join->head.due_ms;
    for (size_t i = 0; i < join->n; i++)
        changed |= join->items[i].is_new;
    for (size_t i = 0; i <= join->n_runs; i++)
        changed |= join->runs[i].changed;
    return changed;
}

static enum err_kind
take_changes(struct join *join, struct err *err)
{
    int64_t due_ms = next_due_ms(join);
    if (!anything_changed(join, due_ms))
        return ERR_OK;
    join->head.due_ms = due_ms;
    join->changes = arena_calloc(join->arena, join->n + 1, sizeof *join->changes);
    if (!join->changes)
        return audit_full(err);
    const struct join_item *in_head = part_of_head(join);
    bool alone = in_head && stays(join) == 1;
    for (size_t i = 0; i < join->n; i++)
        if (change_part(join, &join->items[i], alone, err))
            return err->kind;
    if (take_sent(join, err))
        return err->kind;
    return change_head(join, in_head, err);
}

enum err_kind
join_emit(struct join *join,
          const struct provenance *base,
          struct emits *out,
          struct err *err)
{
    for (size_t i = 0; i <= join->n_runs; i++)
        if (join_send_run(join, &join->runs[i], base, out, err))
            return err_at(err, "derive");
    if (bound(join, base, out, err) || take_changes(join, err))
        return err_at(err, "derive");
    return ERR_OK;
}
