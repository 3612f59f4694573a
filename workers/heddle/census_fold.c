/* SPDX-License-Identifier: Apache-2.0 */
/* The census: facts of the standing record of each key, then one count over them. */
#include "census_fold.h"

#include "arena.h"
#include "cleanup.h"
#include "json_scan.h"

#include <stdbool.h>
#include <stdlib.h>

/* Names of what is not there, the first two labels. */
enum { LABEL_NONE = 0, LABEL_NOT_TEXT = 1 };
static const char *const fixed_labels[] = {"(none)", "(not text)"};

/* A row is 2 MiB at most and has no entry below 20 bytes. */
enum { MAX_PARTS = 1 << 17, FIRST_PARTS = 8 };
static const uint32_t no_trace = UINT32_MAX;

enum part_trait {
    PART_ENTRY = 1 << 0,    /* an entry of tuners_run; otherwise a log on its own */
    PART_MEASURED = 1 << 1, /* best_micro_speedup is not null */
    PART_KEPT = 1 << 2,     /* kept is not null */
    PART_LOG = 1 << 3,
    PART_REJECTED = 1 << 4,    /* its log shows rejected arguments */
    PART_HEADER_ZERO = 1 << 5, /* its log's header says 0 */
    PART_INNER_TWO = 1 << 6,   /* its log's last inner exit is 2 */
    PART_FAILED_OR_EMPTY = 1 << 7,
};

/* An entry with the log that belongs to it, or an orphan log. Names are labels. */
struct part {
    uint32_t tuner;
    uint32_t log_tuner;
    uint32_t outcome;
    uint32_t traits; /* enum part_trait */
};

struct facts {
    bool has_row;
    bool ok;
    bool geak;
    bool has_error_class;
    uint32_t trace;
    uint32_t backend;
    uint32_t status;
    uint32_t error_class;
    uint32_t micro_decision;
};

/* What stands under a key. */
struct standing {
    struct facts facts;
    uint32_t n_parts;
    struct part parts[];
};

struct census {
    struct names keys;
    struct names labels;
    struct names traces;
    struct standing *
        *standing; /* by key; NULL: a tombstone stands, or nothing readable */
    size_t cap;
    struct arena arena; /* of one record */
};

struct census *
census_new(struct err *err)
{
    struct census *census = calloc(1, sizeof *census);
    if (!census) {
        err_no_memory(err, "the census");
        return NULL;
    }
    for (size_t i = 0; i < sizeof fixed_labels / sizeof fixed_labels[0]; i++) {
        uint32_t id;
        if (names_put(&census->labels, slice_of(fixed_labels[i]), &id, err)) {
            census_free(census);
            return NULL;
        }
    }
    return census;
}

void
census_free(struct census *census)
{
    if (!census)
        return;
    for (size_t i = 0; i < census->keys.n && i < census->cap; i++)
        free(census->standing[i]);
    free(census->standing);
    names_done(&census->keys);
    names_done(&census->labels);
    names_done(&census->traces);
    arena_done(&census->arena);
    free(census);
}

/* --- one record into facts ---------------------------------------------------------- */

struct reading {
    struct census *census;
    struct facts facts;
    struct part *parts;
    size_t n_parts;
    size_t cap;
    size_t n_entries;   /* of the row */
    size_t n_x_entries; /* of x.tuners */
};

static bool
is_key(struct slice raw, const char *name)
{
    return raw.len == strlen(name) + 2 && memcmp(raw.data + 1, name, raw.len - 2) == 0;
}

/* The label of a value: its text, or what stands for a value that is none. */
static enum err_kind
read_label(struct reading *r,
           enum json_type type,
           struct slice value,
           uint32_t *ret_label,
           struct err *err)
{
    *ret_label = type == JSON_TYPE_NULL ? LABEL_NONE : LABEL_NOT_TEXT;
    if (type != JSON_TYPE_STRING)
        return ERR_OK;
    struct slice text = json_scan_string(value, &r->census->arena);
    if (!text.data)
        return err_no_memory(err, "a name of the census");
    return names_put(&r->census->labels, text, ret_label, err);
}

static struct part *
add_part(struct reading *r, uint32_t traits, struct err *err)
{
    if (r->n_parts == MAX_PARTS) {
        err_set(err, ERR_RECORD, "row_unreadable", "more than %d entries", MAX_PARTS);
        return NULL;
    }
    if (r->n_parts == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : FIRST_PARTS;
        struct part *parts = arena_calloc(&r->census->arena, cap, sizeof *parts);
        if (!parts) {
            err_no_memory(err, "the entries of a row");
            return NULL;
        }
        if (r->n_parts)
            memcpy(parts, r->parts, r->n_parts * sizeof *parts);
        r->parts = parts;
        r->cap = cap;
    }
    r->parts[r->n_parts] = (struct part){.traits = traits};
    return &r->parts[r->n_parts++];
}

/* What the member callbacks below work on. */
struct part_reading {
    struct reading *r;
    struct part *part;
};

static enum err_kind
on_entry_member(void *state,
                struct slice key,
                enum json_type type,
                struct slice value,
                struct err *err)
{
    struct part_reading *p = state;
    if (is_key(key, "tuner"))
        return read_label(p->r, type, value, &p->part->tuner, err);
    if (is_key(key, "best_micro_speedup") && type != JSON_TYPE_NULL)
        p->part->traits |= PART_MEASURED;
    if (is_key(key, "kept") && type != JSON_TYPE_NULL)
        p->part->traits |= PART_KEPT;
    if (is_key(key, "status") &&
        (slice_is(value, "\"failed\"") || slice_is(value, "\"empty_output\"")))
        p->part->traits |= PART_FAILED_OR_EMPTY;
    return ERR_OK;
}

static enum err_kind
on_entry(void *state, size_t i, enum json_type type, struct slice value, struct err *err)
{
    (void)i;
    (void)type;
    struct reading *r = state;
    struct part_reading p = {r, add_part(r, PART_ENTRY, err)};
    if (!p.part)
        return err->kind;
    r->n_entries++;
    if (json_scan_members(value, on_entry_member, &p, err))
        return err->kind;
    p.part->log_tuner = p.part->tuner;
    return ERR_OK;
}

static enum err_kind
on_row_member(void *state,
              struct slice key,
              enum json_type type,
              struct slice value,
              struct err *err)
{
    struct reading *r = state;
    struct facts *facts = &r->facts;
    if (is_key(key, "backend")) {
        facts->geak = slice_is(value, "\"geak\"");
        return read_label(r, type, value, &facts->backend, err);
    }
    if (is_key(key, "status")) {
        facts->ok = slice_is(value, "\"ok\"");
        return read_label(r, type, value, &facts->status, err);
    }
    if (is_key(key, "error_class")) {
        facts->has_error_class = true;
        return read_label(r, type, value, &facts->error_class, err);
    }
    if (is_key(key, "micro_decision"))
        return read_label(r, type, value, &facts->micro_decision, err);
    if (is_key(key, "tuners_run"))
        return json_scan_items(value, on_entry, r, err);
    return ERR_OK;
}

static enum err_kind
on_log_member(void *state,
              struct slice key,
              enum json_type type,
              struct slice value,
              struct err *err)
{
    (void)type;
    (void)err;
    struct part *part = state;
    if (is_key(key, "rejected") && slice_is(value, "true"))
        part->traits |= PART_REJECTED;
    if (is_key(key, "header_exit") && slice_is(value, "0"))
        part->traits |= PART_HEADER_ZERO;
    if (is_key(key, "inner_exit") && slice_is(value, "2"))
        part->traits |= PART_INNER_TWO;
    return ERR_OK;
}

static enum err_kind
read_log(struct part *part, struct slice value, struct err *err)
{
    part->traits |= PART_LOG;
    return json_scan_members(value, on_log_member, part, err);
}

static enum err_kind
on_x_entry_member(void *state,
                  struct slice key,
                  enum json_type type,
                  struct slice value,
                  struct err *err)
{
    struct part_reading *p = state;
    if (is_key(key, "outcome"))
        return read_label(p->r, type, value, &p->part->outcome, err);
    if (is_key(key, "alias"))
        return read_label(p->r, type, value, &p->part->log_tuner, err);
    if (is_key(key, "log"))
        return read_log(p->part, value, err);
    return ERR_OK;
}

/* The entries of x stand in the order of the row's. */
static enum err_kind
on_x_entry(
    void *state, size_t i, enum json_type type, struct slice value, struct err *err)
{
    (void)type;
    struct reading *r = state;
    if (i >= r->n_entries)
        return err_set(err, ERR_RECORD, "row_unreadable",
                       "x has more entries than the row's %zu", r->n_entries);
    r->n_x_entries++;
    struct part_reading p = {r, &r->parts[i]};
    return json_scan_members(value, on_x_entry_member, &p, err);
}

static enum err_kind
on_orphan_log(void *state,
              struct slice key,
              enum json_type type,
              struct slice value,
              struct err *err)
{
    (void)type;
    struct reading *r = state;
    struct part *part = add_part(r, 0, err);
    if (!part || read_label(r, JSON_TYPE_STRING, key, &part->log_tuner, err))
        return err->kind;
    return read_log(part, value, err);
}

static enum err_kind
on_x_member(void *state,
            struct slice key,
            enum json_type type,
            struct slice value,
            struct err *err)
{
    (void)type;
    struct reading *r = state;
    if (is_key(key, "tuners"))
        return json_scan_items(value, on_x_entry, r, err);
    if (is_key(key, "orphan_logs"))
        return json_scan_members(value, on_orphan_log, r, err);
    return ERR_OK;
}

/* The session: as the sender named it, else as the workspace's path has it. */
static struct slice
trace_of(const struct audit_row *record)
{
    static const char middle[] = "/runs/gemm_tuning/";
    if (record->trace.data && record->trace.len)
        return record->trace;
    struct slice workspace = record->workspace;
    const char *at =
        workspace.data ? memmem(workspace.data, workspace.len, middle, sizeof middle - 1)
                       : NULL;
    if (!at)
        return (struct slice){0};
    return (struct slice){workspace.data, (size_t)(at - workspace.data)};
}

static enum err_kind
read_row(struct reading *r, const struct audit_row *record, struct err *err)
{
    struct slice trace = trace_of(record);
    r->facts.has_row = true;
    if (trace.data && names_put(&r->census->traces, trace, &r->facts.trace, err))
        return err->kind;
    return json_scan_members(record->row, on_row_member, r, err);
}

static enum err_kind
read_record(struct reading *r, const struct audit_row *record, struct err *err)
{
    if (record->row.data && read_row(r, record, err))
        return err->kind;
    if (json_scan_members(record->x, on_x_member, r, err))
        return err->kind;
    if (r->n_entries != r->n_x_entries)
        return err_set(err, ERR_RECORD, "row_unreadable",
                       "the row has %zu entries, x has %zu", r->n_entries,
                       r->n_x_entries);
    return ERR_OK;
}

static struct standing *
take_facts(const struct reading *r, struct err *err)
{
    struct standing *taken = malloc(sizeof *taken + r->n_parts * sizeof r->parts[0]);
    if (!taken) {
        err_no_memory(err, "the facts of a row");
        return NULL;
    }
    taken->facts = r->facts;
    taken->n_parts = (uint32_t)r->n_parts;
    if (r->n_parts)
        memcpy(taken->parts, r->parts, r->n_parts * sizeof r->parts[0]);
    return taken;
}

/* --- the standing record of each key ---------------------------------------------------
 */

/* Where the facts of `key` stand; NULL with `err` set. */
static struct standing **
place_of(struct census *census, struct slice key, struct err *err)
{
    uint32_t id;
    if (names_put(&census->keys, key, &id, err))
        return NULL;
    if (census->cap < census->keys.cap) {
        size_t cap = census->keys.cap;
        struct standing **places = realloc(census->standing, cap * sizeof *places);
        if (!places) {
            err_no_memory(err, "the facts of the rows");
            return NULL;
        }
        memset(places + census->cap, 0, (cap - census->cap) * sizeof *places);
        census->standing = places;
        census->cap = cap;
    }
    return &census->standing[id];
}

enum err_kind
census_drop(struct census *census, struct slice key, struct err *err)
{
    struct standing **place = place_of(census, key, err);
    if (!place)
        return ERR_FATAL;
    free(*place);
    *place = NULL;
    return ERR_OK;
}

enum err_kind
census_add(struct census *census,
           struct slice key,
           const struct audit_row *record,
           struct err *err)
{
    struct err local = {0};
    struct reading r = {.census = census, .facts.trace = no_trace};
    struct standing **place = place_of(census, key, err);
    if (!place)
        return ERR_FATAL;
    free(*place);
    *place = NULL;
    arena_reset(&census->arena);
    if (read_record(&r, record, &local) == ERR_OK)
        *place = take_facts(&r, &local);
    if (local.kind == ERR_RECORD)
        return err_set(err, ERR_RECORD, "row_unreadable", "%s", local.msg);
    if (local.kind != ERR_OK && err)
        *err = local;
    return local.kind;
}

static bool
has_outcome(const struct census *census,
            const struct standing *standing,
            const char *outcome,
            uint32_t traits)
{
    for (size_t i = 0; i < standing->n_parts; i++) {
        const struct part *part = &standing->parts[i];
        if ((part->traits & traits) == traits &&
            slice_is(names_get(&census->labels, part->outcome), outcome))
            return true;
    }
    return false;
}

static struct slice
find(const struct census *census, const char *outcome, uint32_t traits)
{
    struct slice found = {0};
    for (uint32_t id = 0; id < census->keys.n; id++) {
        const struct standing *standing = census->standing[id];
        if (!standing || !has_outcome(census, standing, outcome, traits))
            continue;
        struct slice key = names_get(&census->keys, id);
        if (!found.data || slice_compare(key, found) < 0)
            found = key;
    }
    return found;
}

struct slice
census_find(const struct census *census, const char *outcome)
{
    struct slice found = find(census, outcome, PART_ENTRY | PART_LOG);
    return found.data ? found : find(census, outcome, PART_ENTRY);
}

/* --- the count ------------------------------------------------------------------------
 */

/* Counts by label, the raw form of a tally. */
struct counter {
    size_t *n;
};

struct counting {
    const struct census *census;
    struct census_counts *counts;
    bool *trace_seen;
    struct counter backend, outcome, decision, tuner, silent_outcome, log, rejected, geak;
};

static void
count_log(struct counting *c, const struct part *part)
{
    c->counts->logs++;
    c->log.n[part->log_tuner]++;
    if (!(part->traits & PART_ENTRY))
        c->counts->logs_orphan++;
    if (!(part->traits & PART_REJECTED))
        return;
    c->counts->logs_rejected++;
    c->rejected.n[part->log_tuner]++;
    if ((part->traits & PART_HEADER_ZERO) && (part->traits & PART_INNER_TWO))
        c->counts->logs_rejected_zero_two++;
}

static void
count_entry(struct counting *c, const struct facts *facts, const struct part *part)
{
    struct census_counts *counts = c->counts;
    struct slice outcome = names_get(&c->census->labels, part->outcome);
    counts->entries++;
    c->outcome.n[part->outcome]++;
    counts->entries_kept_non_null += (part->traits & PART_KEPT) != 0;
    counts->entries_failed_or_empty += (part->traits & PART_FAILED_OR_EMPTY) != 0;
    counts->entries_found_nothing += slice_is(outcome, "found_nothing");
    counts->entries_improved += slice_is(outcome, "improved");
    if (part->traits & PART_MEASURED)
        return;
    counts->silent++;
    counts->silent_in_ok_rows += facts->ok;
    c->decision.n[facts->micro_decision]++;
    c->tuner.n[part->tuner]++;
    c->silent_outcome.n[part->outcome]++;
}

static void
count_parts(struct counting *c, const struct standing *standing)
{
    size_t silent_before = c->counts->silent;
    for (size_t i = 0; i < standing->n_parts; i++) {
        const struct part *part = &standing->parts[i];
        if (part->traits & PART_ENTRY)
            count_entry(c, &standing->facts, part);
        if (part->traits & PART_LOG)
            count_log(c, part);
    }
    if (standing->facts.ok && c->counts->silent > silent_before)
        c->counts->ok_rows_with_silent_entry++;
}

static void
count_geak(struct counting *c, const struct standing *standing)
{
    const struct facts *facts = &standing->facts;
    bool empty = true;
    for (size_t i = 0; i < standing->n_parts; i++)
        empty = empty && !(standing->parts[i].traits & PART_ENTRY);
    c->counts->geak_rows++;
    c->counts->geak_rows_without_entries += empty;
    c->geak.n[facts->status]++;
    if (facts->has_error_class)
        c->geak.n[facts->error_class]++;
}

static void
count_row(struct counting *c, const struct standing *standing)
{
    const struct facts *facts = &standing->facts;
    struct census_counts *counts = c->counts;
    counts->rows++;
    c->backend.n[facts->backend]++;
    counts->rows_status_ok += facts->ok;
    counts->ok_rows_with_error_class += facts->ok && facts->has_error_class;
    if (facts->trace != no_trace && !c->trace_seen[facts->trace]) {
        c->trace_seen[facts->trace] = true;
        counts->traces++;
    }
    if (facts->geak)
        count_geak(c, standing);
}

static int
by_name(const void *a, const void *b)
{
    const struct tally_row *left = a;
    const struct tally_row *right = b;
    return slice_compare(left->name, right->name);
}

static enum err_kind
make_tally(const struct names *labels,
           const struct counter *counter,
           struct tally *ret_tally,
           struct err *err)
{
    struct tally tally = {.rows = calloc(labels->n, sizeof *tally.rows)};
    if (!tally.rows)
        return err_no_memory(err, "a table of the census");
    for (uint32_t id = 0; id < labels->n; id++)
        if (counter->n[id])
            tally.rows[tally.n++] =
                (struct tally_row){names_get(labels, id), counter->n[id]};
    qsort(tally.rows, tally.n, sizeof *tally.rows, by_name);
    *ret_tally = tally;
    return ERR_OK;
}

static enum err_kind
make_tallies(struct counting *c, struct err *err)
{
    struct census_counts *counts = c->counts;
    const struct {
        const struct counter *counter;
        struct tally *tally;
    } all[] = {
        {&c->backend, &counts->rows_by_backend},
        {&c->outcome, &counts->entries_by_outcome},
        {&c->decision, &counts->silent_by_decision},
        {&c->tuner, &counts->silent_by_tuner},
        {&c->silent_outcome, &counts->silent_by_outcome},
        {&c->log, &counts->logs_by_tuner},
        {&c->rejected, &counts->logs_rejected_by_tuner},
        {&c->geak, &counts->geak_states},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (make_tally(&c->census->labels, all[i].counter, all[i].tally, err))
            return err->kind;
    return ERR_OK;
}

/* Every counter from one block of zeros; false without memory. */
static bool
open_counters(struct counting *c, size_t **ret_block)
{
    struct counter *all[] = {&c->backend,        &c->outcome, &c->decision, &c->tuner,
                             &c->silent_outcome, &c->log,     &c->rejected, &c->geak};
    enum { N_COUNTERS = sizeof all / sizeof all[0] };
    size_t n = c->census->labels.n;
    *ret_block = calloc(N_COUNTERS * n, sizeof **ret_block);
    c->trace_seen = calloc(c->census->traces.n + 1, sizeof *c->trace_seen);
    if (!*ret_block || !c->trace_seen)
        return false;
    for (size_t i = 0; i < N_COUNTERS; i++)
        all[i]->n = *ret_block + i * n;
    return true;
}

enum err_kind
census_count(const struct census *census,
             struct census_counts *ret_counts,
             struct err *err)
{
    struct census_counts counts = {0};
    struct counting c = {.census = census, .counts = &counts};
    size_t *block = NULL;
    enum err_kind kind = open_counters(&c, &block)
                             ? ERR_OK
                             : err_no_memory(err, "the counts of the census");
    for (size_t i = 0; kind == ERR_OK && i < census->keys.n; i++) {
        const struct standing *standing = census->standing[i];
        if (!standing)
            continue;
        if (standing->facts.has_row)
            count_row(&c, standing);
        else
            counts.orphan_records++;
        count_parts(&c, standing);
    }
    if (kind == ERR_OK)
        kind = make_tallies(&c, err);
    free(block);
    free(c.trace_seen);
    if (kind == ERR_OK)
        *ret_counts = counts;
    else
        census_counts_done(&counts);
    return kind;
}

void
census_counts_done(struct census_counts *counts)
{
    struct tally *all[] = {&counts->rows_by_backend,        &counts->entries_by_outcome,
                           &counts->silent_by_decision,     &counts->silent_by_tuner,
                           &counts->silent_by_outcome,      &counts->logs_by_tuner,
                           &counts->logs_rejected_by_tuner, &counts->geak_states};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->rows);
    *counts = (struct census_counts){0};
}
