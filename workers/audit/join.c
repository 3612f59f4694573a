/* SPDX-License-Identifier: Apache-2.0 */
/* The join: which parts belong together, and what they give. */
#include "join.h"

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
    struct join_item item = {.part = known->part};
    if (item.part.payload.kind == PAYLOAD_INLINE)
        item.bytes = item.part.payload.bytes.data ? item.part.payload.bytes : SLICE("");
    return join_add(join, &item, err);
}

/* --- which of two stands ------------------------------------------------------------ */

static int
compare_times(int64_t a, int64_t b)
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
    int d = compare_times(a->event_time_us, b->event_time_us);
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
static int
compare_identity(const struct join_part *a, const struct join_part *b)
{
    int d = (a->kind > b->kind) - (a->kind < b->kind);
    if (d == 0)
        d = slice_compare(a->name, b->name);
    if (d == 0 && a->kind == JOIN_LOG)
        d = compare_times(a->event_time_us, b->event_time_us);
    return d;
}

static int
compare_items(const void *a, const void *b)
{
    const struct join_item *x = a;
    const struct join_item *y = b;
    int d = compare_identity(&x->part, &y->part);
    if (d == 0)
        d = join_compare_standing(&x->part, &y->part);
    return d ? d : y->is_new - x->is_new; /* known already: the last of equals */
}

/* Sorted, the part that stands is the last of its identity. */
static void
keep_standing(struct join *join)
{
    size_t n = 0;
    if (join->n > 1)
        qsort(join->items, join->n, sizeof *join->items, compare_items);
    for (size_t i = 0; i < join->n; i++)
        if (i + 1 == join->n ||
            compare_identity(&join->items[i].part, &join->items[i + 1].part) != 0)
            join->items[n++] = join->items[i];
    join->n = n;
}

/* --- who belongs to whom ------------------------------------------------------------ */

static int
compare_runs(const void *a, const void *b)
{
    const struct join_part *x = &((const struct join_run *)a)->result->part;
    const struct join_part *y = &((const struct join_run *)b)->result->part;
    int d = compare_times(x->event_time_us, y->event_time_us);
    if (d == 0)
        d = slice_compare(x->sha256, y->sha256);
    return d ? d : slice_compare(x->name, y->name);
}

static size_t
count_kind(const struct join *join, enum join_part_kind kind)
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
        arena_calloc(join->arena, count_kind(join, JOIN_RESULT) + 1, sizeof *join->runs);
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
static bool
is_shown(const struct join *join, const struct join_item *item)
{
    return item->part.arrived_ms <= join->head.shown_ms;
}

static struct join_run *
waiting_run(struct join *join)
{
    return &join->runs[join->n_runs];
}

/* Where a part belongs; NULL: it waits. */
static bool
is_waiting(const struct join *join, const struct join_item *item)
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
    size_t n_logs = count_kind(join, JOIN_LOG);
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
        join->arena, join->n_runs + count_kind(join, JOIN_VERDICT), sizeof(void *));
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
        if (is_waiting(join, item)) {
            if (!is_shown(join, item))
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

static void
take_digest(const char hex[DIGEST_HEX], uint8_t ret[JOIN_DIGEST_BYTES])
{
    for (size_t i = 0; i < JOIN_DIGEST_BYTES; i++) {
        const char pair[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        ret[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

static enum err_kind
digest_run(struct join_run *run, struct err *err)
{
    struct digest *digest = digest_new();
    char hex[DIGEST_HEX];
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
    digest_end(digest, hex);
    digest_free(digest);
    take_digest(hex, run->parts);
    return ERR_OK;
}

static struct slice
run_name(const struct join_run *run)
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

static bool
has_parts(const struct join_run *run)
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

static enum err_kind
compare_with_sent(struct join *join, struct err *err)
{
    for (size_t i = 0; i <= join->n_runs; i++) {
        struct join_run *run = &join->runs[i];
        run->sent = find_sent(join, run_name(run));
        if (digest_run(run, err))
            return err->kind;
        const struct slice parts = {(const char *)run->parts, JOIN_DIGEST_BYTES};
        /* What never was and is not there now is no change. */
        run->changed = !slice_equal(run->sent.parts, parts) &&
                       (has_parts(run) || run->sent.content.len);
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
            is_waiting(join, item))
            newest_ms = item->part.arrived_ms;
    }
    join->head.shown_ms = newest_ms;
}

static enum err_kind
assign(struct join *join, struct err *err)
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
    if (assign(join, err))
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
    return d ? d : compare_times(x->offset, y->offset);
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

static enum err_kind
keep_digest(struct join *join,
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
    uint8_t digest[JOIN_DIGEST_BYTES];
    char hex[DIGEST_HEX];
    struct digest *made = digest_new();
    if (!made)
        return err_no_memory(err, "the digest of a record");
    for (size_t i = 0; i < n; i++) {
        size_t len = pieces[i].data ? pieces[i].len : SIZE_MAX;
        digest_add(made, (struct slice){(const char *)&len, sizeof len});
        digest_add(made, pieces[i]);
    }
    digest_end(made, hex);
    digest_free(made);
    take_digest(hex, digest);
    return keep_digest(join, digest, ret, err);
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

static enum err_kind
send_run(struct join *join,
         struct join_run *run,
         const struct provenance *base,
         struct emits *out,
         struct err *err)
{
    struct ready ready;
    if (!run->changed)
        return ERR_OK;
    if (keep_digest(join, run->parts, &run->sent.parts, err))
        return err->kind;
    if (!has_parts(run))
        return withdraw(join, run, out, err);
    if (run->result ? derive_row(join, run, base, &ready, err)
                    : derive_waiting(join, run, base, &ready, err))
        return err->kind;
    return send_record(join, run, &ready, out, err);
}

/* --- what the state becomes --------------------------------------------------------- */

static int
compare_age(const void *a, const void *b)
{
    const struct join_part *x = &(*(struct join_item *const *)a)->part;
    const struct join_part *y = &(*(struct join_item *const *)b)->part;
    int d = compare_times(x->event_time_us, y->event_time_us);
    return d ? d : compare_identity(x, y);
}

/* Drops the oldest of a kind down to `max`; how many went is in `*ret_n`. */
static enum err_kind
drop_oldest(struct join *join,
            enum join_part_kind kind,
            size_t max,
            size_t *ret_n,
            struct err *err)
{
    size_t n = count_kind(join, kind);
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
    if (assign(join, err))
        return err->kind;
    for (size_t i = 0; i <= join->n_runs; i++) {
        struct join_run *run = &join->runs[i];
        run->sent.key = run_name(run);
        for (size_t k = 0; k <= n_before; k++)
            if (slice_equal(run_name(&before[k]), run_name(run)))
                run->sent = before[k].sent;
        if (!run->result && !has_parts(run) && !run->sent.content.len)
            continue;
        if (digest_run(run, err) || keep_digest(join, run->parts, &run->sent.parts, err))
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
        if (item->dropped || !is_waiting(join, item) || is_shown(join, item))
            continue;
        int64_t expires_ms = due_after(item->part.arrived_ms, join->times.expiry_ms);
        if (expires_ms < due_ms)
            due_ms = expires_ms;
    }
    return due_ms;
}

static enum err_kind
change(struct join *join, const struct join_part *part, bool keep, struct err *err)
{
    struct join_change *to = &join->changes[join->n_changes++];
    struct audit_part *value = NULL;
    to->key = join_state_key(join->input_key, part, join->arena);
    if (keep) {
        value = arena_calloc(join->arena, 1, sizeof *value);
        if (!value)
            return audit_full(err);
        value->input_key = join->input_key;
        value->has_part = part != NULL;
        value->has_head = part == NULL;
        if (part)
            value->part = *part;
        else
            value->head = join->head;
        to->value = value;
    }
    return to->key.data ? ERR_OK : audit_full(err);
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
        from->key = run_name(&join->runs[i]);
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
    for (size_t i = 0; i < join->n; i++) {
        const struct join_item *item = &join->items[i];
        bool gone = item->dropped || join->forget;
        if (!gone && !item->is_new)
            continue;
        if (change(join, &item->part, !gone, err))
            return err->kind;
    }
    if (take_sent(join, err))
        return err->kind;
    return change(join, NULL, !join->forget, err);
}

enum err_kind
join_emit(struct join *join,
          const struct provenance *base,
          struct emits *out,
          struct err *err)
{
    for (size_t i = 0; i <= join->n_runs; i++)
        if (send_run(join, &join->runs[i], base, out, err))
            return err_at(err, "derive");
    if (bound(join, base, out, err) || take_changes(join, err))
        return err_at(err, "derive");
    return ERR_OK;
}
