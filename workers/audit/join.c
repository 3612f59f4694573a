/* SPDX-License-Identifier: Apache-2.0 */
/* The join: which parts belong together, and what they give. */
#include "join_inside.h"

#include "digest.h"

#include <stdlib.h>

enum { FIRST_ITEMS = 16 };

/* --- what is known ------------------------------------------------------------------ */

void
join_init(struct join *join, struct arena *arena, struct slice input_key)
{
    *join = (struct join){.arena = arena, .input_key = input_key};
}

enum err_kind
join_add(struct join *join, const struct join_item *item, struct err *err)
{
    if (join->n == join->cap) {
        size_t cap = join->cap ? join->cap * 2 : FIRST_ITEMS;
        struct join_item *items = arena_calloc(join->arena, cap, sizeof *items);
        if (!items)
            return audit_full(err);
        if (join->n)
            memcpy(items, join->items, join->n * sizeof *items);
        join->items = items;
        join->cap = cap;
    }
    join->items[join->n++] = *item;
    return ERR_OK;
}

enum err_kind
join_load(struct join *join, const struct audit_part *known, struct err *err)
{
    if (known->has_head) {
        join->has_head = true;
        join->head = known->head;
    }
    if (!known->has_part || known->part.kind == JOIN_UNKNOWN)
        return ERR_OK;
    struct join_item item = {
        .part = known->part, .in_head = known->has_head, .has_record = !known->has_head};
    if (item.part.payload.kind == PAYLOAD_INLINE)
        item.bytes = item.part.payload.bytes.data ? item.part.payload.bytes : SLICE("");
    return join_add(join, &item, err);
}

/* --- which of two stands ------------------------------------------------------------ */

int
join_compare_times(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int
compare_defaults(const struct list *a, const struct list *b)
{
    const struct default_entry *x = a->items;
    const struct default_entry *y = b->items;
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        int d = slice_compare(x[i].key, y[i].key);
        if (d == 0)
            d = slice_compare(x[i].json, y[i].json);
        if (d)
            return d;
    }
    return (a->n > b->n) - (a->n < b->n);
}

/* The same bytes at the same time may come with another workspace: then that decides. */
int
join_compare_standing(const struct join_part *a, const struct join_part *b)
{
    int d = join_compare_times(a->event_time_us, b->event_time_us);
    if (d == 0)
        d = slice_compare(a->sha256, b->sha256);
    if (d || a->kind != JOIN_RESULT)
        return d;
    d = slice_compare(a->workspace, b->workspace);
    if (d == 0)
        d = slice_compare(a->trace, b->trace);
    return d ? d : compare_defaults(&a->defaults, &b->defaults);
}

/* What only one part can be: of a log the time belongs to it, because a result that comes
 * later may part two logs of one tuner. */
int
join_compare_identity(const struct join_part *a, const struct join_part *b)
{
    int d = (a->kind > b->kind) - (a->kind < b->kind);
    if (d == 0)
        d = slice_compare(a->name, b->name);
    if (d == 0 && a->kind == JOIN_LOG)
        d = join_compare_times(a->event_time_us, b->event_time_us);
    return d;
}

static int
compare_items(const void *a, const void *b)
{
    const struct join_item *x = a;
    const struct join_item *y = b;
    int d = join_compare_identity(&x->part, &y->part);
    if (d == 0)
        d = join_compare_standing(&x->part, &y->part);
    return d ? d : y->is_new - x->is_new; /* known already: the last of equals */
}

/* Sorted, the part that stands is the last of its identity; the key of its record is that
 * of all of them. */
static void
keep_standing(struct join *join)
{
    size_t n = 0;
    if (join->n > 1)
        qsort(join->items, join->n, sizeof *join->items, compare_items);
    for (size_t i = 0; i < join->n; i++) {
        struct join_item *next = &join->items[i + 1];
        if (i + 1 < join->n &&
            join_compare_identity(&join->items[i].part, &next->part) == 0)
            next->has_record |= join->items[i].has_record;
        else
            join->items[n++] = join->items[i];
    }
    join->n = n;
}

/* --- who belongs to whom ------------------------------------------------------------ */

static int
compare_runs(const void *a, const void *b)
{
    const struct join_part *x = &((const struct join_run *)a)->result->part;
    const struct join_part *y = &((const struct join_run *)b)->result->part;
    int d = join_compare_times(x->event_time_us, y->event_time_us);
    if (d == 0)
        d = slice_compare(x->sha256, y->sha256);
    return d ? d : slice_compare(x->name, y->name);
}

size_t
join_count(const struct join *join, enum join_part_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < join->n; i++)
        n += join->items[i].part.kind == (int32_t)kind && !join->items[i].dropped;
    return n;
}

static enum err_kind
make_runs(struct join *join, struct err *err)
{
    join->n_runs = 0;
    join->runs =
        arena_calloc(join->arena, join_count(join, JOIN_RESULT) + 1, sizeof *join->runs);
    if (!join->runs)
        return audit_full(err);
    for (size_t i = 0; i < join->n; i++)
        if (join->items[i].part.kind == JOIN_RESULT && !join->items[i].dropped)
            join->runs[join->n_runs++].result = &join->items[i];
    if (join->n_runs > 1)
        qsort(join->runs, join->n_runs, sizeof *join->runs, compare_runs);
    return ERR_OK;
}

/* The earliest result that is not before `time_us`, else the latest; of equals the first.
 */
static struct join_run *
run_of_log(struct join *join, int64_t time_us)
{
    size_t low = 0;
    size_t high = join->n_runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (join->runs[middle].result->part.event_time_us < time_us)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < join->n_runs)
        return &join->runs[low];
    low = join->n_runs - 1;
    while (low > 0 && join->runs[low - 1].result->part.event_time_us ==
                          join->runs[low].result->part.event_time_us)
        low--;
    return &join->runs[low];
}

/* What waited long enough to be shown without its result. */
bool
join_is_shown(const struct join *join, const struct join_item *item)
{
    return item->part.arrived_ms <= join->head.shown_ms;
}

static struct join_run *
waiting_run(struct join *join)
{
    return &join->runs[join->n_runs];
}

/* Where a part belongs; NULL: it waits. */
bool
join_is_waiting(const struct join *join, const struct join_item *item)
{
    if (item->part.kind == JOIN_LOG)
        return join->n_runs == 0;
    if (item->part.kind != JOIN_VERDICT)
        return false;
    for (size_t i = 0; i < join->n_runs; i++)
        if (slice_equal(join->runs[i].result->part.started_at, item->part.name))
            return false;
    return true;
}

/* Room for what may belong to each run, counted first. */
static enum err_kind
make_room(struct join *join, struct err *err)
{
    size_t n_logs = join_count(join, JOIN_LOG);
    for (size_t i = 0; i < join->n; i++) {
        const struct join_item *item = &join->items[i];
        if (item->part.kind != JOIN_LOG || item->dropped)
            continue;
        struct join_run *run =
            join->n_runs ? run_of_log(join, item->part.event_time_us) : waiting_run(join);
        run->n_logs++;
    }
    struct join_item **logs = arena_calloc(join->arena, n_logs, sizeof(void *));
    struct join_item **verdicts = arena_calloc(
        join->arena, join->n_runs + join_count(join, JOIN_VERDICT), sizeof(void *));
    if (!logs || !verdicts)
        return audit_full(err);
    for (size_t i = 0; i <= join->n_runs; i++) {
        struct join_run *run = &join->runs[i];
        run->logs = logs;
        logs += run->n_logs;
        run->n_logs = 0;
        run->verdicts = verdicts + i; /* of the last, all that wait */
    }
    return ERR_OK;
}

/* Items are sorted by tuner and time: of one tuner the last stands. */
static void
give_log(struct join_run *run, struct join_item *log)
{
    if (run->n_logs && slice_equal(run->logs[run->n_logs - 1]->part.name, log->part.name))
        run->n_logs--;
    run->logs[run->n_logs++] = log;
}

static int
compare_verdicts(const void *a, const void *b)
{
    const struct join_part *x = &(*(struct join_item *const *)a)->part;
    const struct join_part *y = &(*(struct join_item *const *)b)->part;
    int d = join_compare_standing(y, x);
    return d ? d : slice_compare(y->name, x->name);
}

static void
give_parts(struct join *join)
{
    struct join_run *waiting = waiting_run(join);
    for (size_t i = 0; i < join->n; i++) {
        struct join_item *item = &join->items[i];
        if (item->dropped || item->part.kind == JOIN_RESULT)
            continue;
        if (join_is_waiting(join, item)) {
            if (!join_is_shown(join, item))
                continue;
            if (item->part.kind == JOIN_LOG)
                give_log(waiting, item);
            else
                waiting->verdicts[waiting->n_verdicts++] = item;
        } else if (item->part.kind == JOIN_LOG) {
            give_log(run_of_log(join, item->part.event_time_us), item);
        } else {
            for (size_t k = 0; k < join->n_runs; k++)
                if (slice_equal(join->runs[k].result->part.started_at, item->part.name))
                    join->runs[k].verdicts[join->runs[k].n_verdicts++] = item;
        }
    }
    if (waiting->n_verdicts > 1)
        qsort(waiting->verdicts, waiting->n_verdicts, sizeof(void *), compare_verdicts);
}

/* --- what must be derived anew ------------------------------------------------------ */

static void
digest_part(struct digest *digest, const struct join_part *part)
{
    const struct default_entry *defaults = part->defaults.items;
    const struct slice pieces[] = {part->name, part->sha256, part->workspace,
                                   part->trace};
    digest_add(digest, (struct slice){(const char *)&part->event_time_us,
                                      sizeof part->event_time_us});
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        digest_add(digest, (struct slice){(const char *)&pieces[i].len, sizeof(size_t)});
        digest_add(digest, pieces[i]);
    }
    for (size_t i = 0; i < part->defaults.n; i++) {
        digest_add(digest, defaults[i].key);
        digest_add(digest, SLICE("="));
        digest_add(digest, defaults[i].json);
    }
}

enum err_kind
join_digest_run(struct join_run *run, struct err *err)
{
    struct digest *digest = digest_new();
    uint8_t bytes[DIGEST_BYTES];
    if (!digest)
        return err_no_memory(err, "the digest of a run");
    if (run->result)
        digest_part(digest, &run->result->part);
    for (size_t i = 0; i < run->n_logs; i++) {
        digest_add(digest, SLICE("log"));
        digest_part(digest, &run->logs[i]->part);
    }
    for (size_t i = 0; i < run->n_verdicts; i++) {
        digest_add(digest, SLICE("verdict"));
        digest_part(digest, &run->verdicts[i]->part);
    }
    digest_end_bytes(digest, bytes);
    digest_free(digest);
    memcpy(run->parts, bytes, JOIN_DIGEST_BYTES);
    return ERR_OK;
}

struct slice
join_run_name(const struct join_run *run)
{
    return run->result ? run->result->part.name : SLICE("");
}

static struct join_sent
find_sent(const struct join *join, struct slice key)
{
    const struct join_sent *sent = join->head.sent.items;
    for (size_t i = 0; i < join->head.sent.n; i++)
        if (slice_equal(sent[i].key, key))
            return sent[i];
    return (struct join_sent){.key = key};
}

bool
join_has_parts(const struct join_run *run)
{
    return run->result || run->n_logs || run->n_verdicts;
}

static void
need(struct join_run *run)
{
    if (run->result)
        run->result->needed = true;
    for (size_t i = 0; i < run->n_logs; i++)
        run->logs[i]->needed = true;
    for (size_t i = 0; i < run->n_verdicts; i++)
        run->verdicts[i]->needed = true;
}

/*
 * A result came for parts that had waited long enough to be shown. Whether they were is
 * in the state; at least once, a crash may have come between the orphan record and the
 * state that tells of it, so what may stand is withdrawn.
 */
static bool
may_stand_as_orphan(const struct join *join)
{
    int64_t until_ms = join->times.now_ms - join->times.expiry_ms;
    bool result_came = false;
    bool part_waited = false;
    for (size_t i = 0; i < join->n; i++) {
        const struct join_item *item = &join->items[i];
        bool is_result = item->part.kind == JOIN_RESULT;
        result_came |= is_result && item->is_new;
        part_waited |= !is_result && !item->is_new && item->part.arrived_ms <= until_ms;
    }
    return result_came && part_waited;
}

static enum err_kind
compare_with_sent(struct join *join, struct err *err)
{
    for (size_t i = 0; i <= join->n_runs; i++) {
        struct join_run *run = &join->runs[i];
        run->sent = find_sent(join, join_run_name(run));
        bool may_stand = run == waiting_run(join) && may_stand_as_orphan(join);
        /* What never was and is not there now is no change. */
        if (!join_has_parts(run) && !run->sent.content.len && !may_stand)
            continue;
        if (join_digest_run(run, err))
            return err->kind;
        const struct slice parts = {(const char *)run->parts, JOIN_DIGEST_BYTES};
        run->changed = !slice_equal(run->sent.parts, parts);
        if (run->changed)
            need(run);
    }
    return ERR_OK;
}

/* Only what a waiting part gains by it moves the time on: else nothing has changed. */
static void
expire(struct join *join)
{
    int64_t until_ms = join->times.now_ms - join->times.expiry_ms;
    int64_t newest_ms = join->head.shown_ms;
    for (size_t i = 0; i < join->n; i++) {
        const struct join_item *item = &join->items[i];
        if (item->part.arrived_ms <= until_ms && item->part.arrived_ms > newest_ms &&
            join_is_waiting(join, item))
            newest_ms = item->part.arrived_ms;
    }
    join->head.shown_ms = newest_ms;
}

enum err_kind
join_assign(struct join *join, struct err *err)
{
    if (make_runs(join, err))
        return err->kind;
    expire(join);
    if (make_room(join, err))
        return err->kind;
    give_parts(join);
    return ERR_OK;
}

enum err_kind
join_plan(struct join *join, const struct join_times *times, struct err *err)
{
    bool any_new = false;
    join->times = *times;
    if (!join->has_head)
        join->head = (struct join_head){.shown_ms = INT64_MIN};
    keep_standing(join);
    for (size_t i = 0; i < join->n; i++)
        any_new |= join->items[i].is_new;
    if (any_new)
        join->head.last_part_ms = times->now_ms;
    join->forget = join->has_head && !any_new &&
                   times->now_ms - join->head.last_part_ms >= times->retention_ms;
    if (join_assign(join, err))
        return err->kind;
    return compare_with_sent(join, err);
}

struct join_item *
join_missing(struct join *join, size_t *position)
{
    for (; *position < join->n; ++*position) {
        struct join_item *item = &join->items[*position];
        if (item->needed && !item->bytes.data)
            return item;
    }
    return NULL;
}
