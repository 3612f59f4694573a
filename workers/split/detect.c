/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the steps of a trace. */
#include "detect.h"

#include "buf.h"
#include "calltree.h"
#include "cleanup.h"
#include "descent.h"
#include "step_name.h"
#include "texts.h"
#include "wide.h"

#include <stdlib.h>

enum { SKELETONS_MAX_BYTES = 1 << 30 };

/* The cascade on its way. */
struct cascade {
    const struct events *events;
    struct symbols *symbols;
    struct arena *arena;
    struct detection *detection;
    struct candidate tried[MAX_TRIED];
    size_t n_tried;
    bool is_settled; /* the last one has status 0 */
};

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the steps of a trace");
}

static void
try_candidate(struct cascade *cascade, const struct candidate *candidate)
{
    cascade->tried[cascade->n_tried++] = *candidate;
    cascade->is_settled = candidate->status == GRADE_SPLITTABLE;
}

/* --- annotations ------------------------------------------------------------------- */

/* The status of 5.2 for candidates 1 and 2. */
static enum err_kind
grade_annotations(const struct events *events,
                  struct candidate *candidate,
                  struct err *err)
{
    struct coverage *coverage = &candidate->coverage;
    if (coverage_audit(events, candidate->roots, NULL, coverage, err))
        return err->kind;
    candidate->is_audited = true;
    enum grade grade = grade_of(coverage->selected_ns, coverage->busy_ns);
    bool passes =
        grade_passes(coverage->spans_ns, coverage->selected_ns, coverage->busy_ns);
    bool is_enough =
        candidate->confidence == CONFIDENCE_HIGH || candidate->roots.n >= MIN_ROOTS;
    if (passes && is_enough)
        candidate->status = GRADE_SPLITTABLE;
    else
        candidate->status =
            grade == GRADE_NOT_SPLITTABLE ? GRADE_NOT_SPLITTABLE : GRADE_DEGRADED;
    if (candidate->status != GRADE_SPLITTABLE)
        candidate->reason = grade != GRADE_SPLITTABLE ? REASON_COVERAGE
                            : !passes                 ? REASON_SPAN_SHARE
                                                      : REASON_FEW_ROOTS;
    return ERR_OK;
}

/* Counts of the annotations by tier, and near misses. */
struct tiers {
    size_t n_detailed;
    size_t n_native;
};

static struct tiers
count_tiers(const struct events *events, struct detection *detection)
{
    struct tiers tiers = {0};
    uint64_t n = events_annotation_count(events);
    for (uint64_t i = 0; i < n; i++) {
        struct slice name = events_text(events, events_annotation(events, i).name);
        tiers.n_detailed += step_name_is_detailed(name);
        tiers.n_native += step_name_is_native(name);
        if (step_name_is_near_miss(name) && detection->near_misses++ == 0)
            detection->near_miss = name;
    }
    return tiers;
}

static enum err_kind
try_known(struct cascade *cascade, struct tiers tiers, struct err *err)
{
    bool by_detailed = tiers.n_detailed > 0;
    struct column *roots = &cascade->detection->annotations;
    struct candidate candidate = {
        .method = "annotation:tier",
        .confidence = CONFIDENCE_HIGH,
        .annotation_tier = by_detailed ? "detailed" : "native",
    };
    if (tiers.n_detailed + tiers.n_native == 0)
        return ERR_OK;
    uint64_t n = events_annotation_count(cascade->events);
    for (uint64_t i = 0; i < n; i++) {
        struct root root =
            root_of(cascade->events, events_annotation(cascade->events, i));
        bool is_step = by_detailed ? step_name_is_detailed(root.name)
                                   : step_name_is_native(root.name);
        if (is_step && column_add(roots, &root, err))
            return err->kind;
    }
    candidate.roots = roots_of(roots);
    if (grade_annotations(cascade->events, &candidate, err))
        return err->kind;
    try_candidate(cascade, &candidate);
    return ERR_OK;
}

/* --- families ---------------------------------------------------------------------- */

static void
free_texts(struct texts **texts)
{
    texts_free(*texts);
}

/* Annotations of one skeleton. */
struct best_family {
    struct roots roots;
    int64_t busy_ns;
    uint32_t seen; /* where its first one stands */
};

static enum err_kind
add_skeleton(struct texts *skeletons,
             struct slice name,
             uint32_t *ret_number,
             struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    step_name_add_skeleton(&text, name);
    if (buf_check(&text, "a skeleton", err))
        return err->kind;
    return texts_add(skeletons, buf_slice(&text), ret_number) ? ERR_OK : no_memory(err);
}

/* Family and position of each annotation; families are numbered as they come up. */
static enum err_kind
label_families(const struct events *events, struct column *labels, struct err *err)
{
    CLEANUP(free_texts) struct texts *skeletons = texts_new(SKELETONS_MAX_BYTES);
    uint64_t n = events_annotation_count(events);
    if (!skeletons)
        return no_memory(err);
    for (uint64_t i = 0; i < n; i++) {
        struct event event = events_annotation(events, i);
        uint32_t label[] = {0, (uint32_t)i};
        if (add_skeleton(skeletons, events_text(events, event.name), &label[0], err) ||
            column_add(labels, label, err))
            return err->kind;
    }
    return events_check(events, err);
}

/* The roots of the annotations, family by family. */
static enum err_kind
collect_families(struct cascade *cascade, const struct column *labels, struct err *err)
{
    for (uint64_t i = 0; i < labels->n; i++) {
        uint32_t label[2];
        column_read(labels, i, label);
        struct root root =
            root_of(cascade->events, events_annotation(cascade->events, label[1]));
        if (column_add(&cascade->detection->families, &root, err))
            return err->kind;
    }
    return events_check(cascade->events, err);
}

/* One family: the best so far? First seen on a tie. */
static enum err_kind
weigh_family(struct cascade *cascade,
             struct roots family,
             uint32_t seen,
             struct best_family *best,
             struct err *err)
{
    int64_t busy_ns = 0;
    if (family.n < MIN_ROOTS)
        return ERR_OK;
    if (coverage_busy(cascade->events, family, &busy_ns, err))
        return err->kind;
    if (busy_ns > best->busy_ns ||
        (busy_ns > 0 && busy_ns == best->busy_ns && seen < best->seen))
        *best = (struct best_family){family, busy_ns, seen};
    return ERR_OK;
}

static enum err_kind
choose_family(struct cascade *cascade,
              const struct column *labels,
              struct best_family *best,
              struct err *err)
{
    struct roots family = {.list = &cascade->detection->families};
    uint32_t first[2] = {0, 0};
    for (uint64_t i = 0; i < labels->n; i++) {
        uint32_t label[2];
        column_read(labels, i, label);
        if (family.n && label[0] != first[0]) {
            if (weigh_family(cascade, family, first[1], best, err))
                return err->kind;
            family = (struct roots){.list = family.list, .first = i};
        }
        if (family.n++ == 0)
            memcpy(first, label, sizeof first);
    }
    return weigh_family(cascade, family, first[1], best, err);
}

static enum err_kind
try_families(struct cascade *cascade, struct err *err)
{
    CLEANUP(column_done) struct column labels;
    struct best_family best = {.busy_ns = 0};
    struct candidate candidate = {
        .method = "family:unknown_only",
        .confidence = CONFIDENCE_UNKNOWN,
    };
    column_init(&labels, events_side_pool(cascade->events), 2 * sizeof(uint32_t),
                ORDER_REF);
    if (label_families(cascade->events, &labels, err) || column_sort(&labels, err) ||
        collect_families(cascade, &labels, err) ||
        choose_family(cascade, &labels, &best, err))
        return err->kind;
    if (best.busy_ns == 0)
        return ERR_OK;
    candidate.roots = best.roots;
    if (grade_annotations(cascade->events, &candidate, err))
        return err->kind;
    try_candidate(cascade, &candidate);
    return ERR_OK;
}

/* --- the call tree ----------------------------------------------------------------- */

static enum err_kind
try_bookends(struct cascade *cascade, struct calltree *tree, struct err *err)
{
    struct detection *detection = cascade->detection;
    const struct pattern *const bases[] = {&detection->branch, &detection->siblings};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        struct candidate candidate;
        bool found = false;
        if (descent_add_bookends(tree, bases[i], &detection->bookends, &candidate, &found,
                                 err))
            return err->kind;
        if (!found)
            continue;
        if (coverage_audit(cascade->events, candidate.roots, NULL, &candidate.coverage,
                           err))
            return err->kind;
        candidate.is_audited = true;
        try_candidate(cascade, &candidate);
        return ERR_OK;
    }
    return ERR_OK;
}

static enum err_kind
try_tree(struct cascade *cascade, struct err *err)
{
    CLEANUP(calltree_done) struct calltree tree = {0};
    CLEANUP(pattern_search_done) struct pattern_search search = {0};
    struct pattern *branch = &cascade->detection->branch;
    struct pattern *siblings = &cascade->detection->siblings;
    bool ignored;
    if (calltree_make(&tree, cascade->events, cascade->symbols, err) ||
        pattern_search_init(&search, &tree, err) || descent_find(&search, branch, err))
        return err->kind;
    if (branch->is_found)
        try_candidate(cascade, &branch->candidate);
    if (cascade->is_settled)
        return ERR_OK;
    if (pattern_find(&search, &tree.entries, (struct slice){NULL, 0}, "sibling_roots",
                     siblings, &ignored, err))
        return err->kind;
    if (siblings->is_found)
        try_candidate(cascade, &siblings->candidate);
    if (cascade->is_settled)
        return ERR_OK;
    return try_bookends(cascade, &tree, err);
}

/* --- the result -------------------------------------------------------------------- */

static bool
ranks_higher(const struct candidate *a, const struct candidate *b)
{
    int64_t a_part, a_whole, b_part, b_whole;
    candidate_rank(a, &a_part, &a_whole);
    candidate_rank(b, &b_part, &b_whole);
    return (int128)a_part * b_whole > (int128)b_part * a_whole;
}

/* The best of what was tried; of those that are splittable at all if there are any. */
static struct candidate *
fall_back(struct cascade *cascade)
{
    struct candidate *best = NULL;
    bool any = false;
    for (size_t i = 0; i < cascade->n_tried; i++)
        any = any || cascade->tried[i].status < GRADE_NOT_SPLITTABLE;
    for (size_t i = 0; i < cascade->n_tried; i++) {
        struct candidate *candidate = &cascade->tried[i];
        if (any && candidate->status == GRADE_NOT_SPLITTABLE)
            continue;
        if (!best || ranks_higher(candidate, best))
            best = candidate;
    }
    return best;
}

static int
compare_texts(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* The distinct skeletons of the roots, sorted, joined. */
static enum err_kind
join_skeletons(struct roots roots,
               struct arena *arena,
               struct slice *ret_family,
               struct err *err)
{
    CLEANUP(free_texts) struct texts *skeletons = texts_new(SKELETONS_MAX_BYTES);
    CLEANUP(buf_done) struct buf joined = BUF_INIT;
    if (!skeletons)
        return no_memory(err);
    for (size_t i = 0; i < roots.n; i++) {
        uint32_t ignored;
        if (add_skeleton(skeletons, roots_at(roots, i).name, &ignored, err))
            return err->kind;
    }
    uint32_t n = texts_count(skeletons);
    struct slice *list = arena_calloc(arena, (size_t)n + 1, sizeof *list);
    if (!list)
        return no_memory(err);
    /* Text 0, the empty one, is in every table; whether a root has it is asked. */
    size_t count = 0;
    for (size_t i = 0; i < roots.n && count == 0; i++)
        if (roots_at(roots, i).name.len == 0)
            list[count++] = SLICE("");
    for (uint32_t i = 0; i < n; i++)
        if (texts_text(skeletons, i).len > 0)
            list[count++] = texts_text(skeletons, i);
    if (count > 0)
        qsort(list, count, sizeof *list, compare_texts);
    for (size_t i = 0; i < count; i++) {
        buf_add_str(&joined, i ? ", " : "");
        buf_add_slice(&joined, list[i]);
    }
    if (buf_check(&joined, "the family of the roots", err))
        return err->kind;
    *ret_family = arena_copy(arena, buf_slice(&joined));
    return ret_family->data ? ERR_OK : no_memory(err);
}

static enum err_kind
settle(struct cascade *cascade, struct detection *detection, struct err *err)
{
    struct candidate none = {
        .method = "none",
        .confidence = CONFIDENCE_UNKNOWN,
        .status = GRADE_NOT_SPLITTABLE,
    };
    struct candidate *result =
        cascade->is_settled ? &cascade->tried[cascade->n_tried - 1] : fall_back(cascade);
    if (!result)
        result = &none;
    if (!result->is_audited &&
        coverage_audit(cascade->events, result->roots, NULL, &result->coverage, err))
        return err->kind;
    result->is_audited = true;
    for (size_t i = 0; i < cascade->n_tried; i++) {
        const struct candidate *candidate = &cascade->tried[i];
        int64_t part, whole;
        candidate_rank(candidate, &part, &whole);
        detection->tried[i] =
            (struct tried){candidate->method, candidate->status, candidate->roots.n,
                           grade_ratio(part, whole)};
    }
    detection->n_tried = cascade->n_tried;
    detection->result = *result;
    return join_skeletons(result->roots, cascade->arena, &detection->family, err);
}

void
detection_done(struct detection *detection)
{
    column_done(&detection->annotations);
    column_done(&detection->families);
    pattern_done(&detection->branch);
    pattern_done(&detection->siblings);
    column_done(&detection->bookends);
}

enum err_kind
detect_roots(const struct events *events,
             struct symbols *symbols,
             struct arena *arena,
             struct detection *ret_detection,
             struct err *err)
{
    struct cascade cascade = {events, symbols, arena, ret_detection, {{0}}, 0, false};
    *ret_detection = (struct detection){0};
    root_list_init(&ret_detection->annotations, events);
    root_list_init(&ret_detection->families, events);
    root_list_init(&ret_detection->bookends, events);
    struct tiers tiers = count_tiers(events, ret_detection);
    if (try_known(&cascade, tiers, err))
        return err->kind;
    if (!cascade.is_settled && try_families(&cascade, err))
        return err->kind;
    if (!cascade.is_settled && try_tree(&cascade, err))
        return err->kind;
    return settle(&cascade, ret_detection, err);
}
