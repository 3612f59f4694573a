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
    if (coverage_audit(events, candidate->roots, NULL, 0, coverage, err))
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
    size_t n_roots = by_detailed ? tiers.n_detailed : tiers.n_native;
    struct candidate candidate = {
        .method = "annotation:tier",
        .confidence = CONFIDENCE_HIGH,
        .annotation_tier = by_detailed ? "detailed" : "native",
    };
    if (n_roots == 0)
        return ERR_OK;
    struct roots *roots = &candidate.roots;
    roots->items = arena_calloc(cascade->arena, n_roots, sizeof *roots->items);
    if (!roots->items)
        return no_memory(err);
    uint64_t n = events_annotation_count(cascade->events);
    for (uint64_t i = 0; i < n && roots->n < n_roots; i++) {
        struct root root =
            root_of(cascade->events, events_annotation(cascade->events, i));
        if (by_detailed ? step_name_is_detailed(root.name)
                        : step_name_is_native(root.name))
            roots->items[roots->n++] = root;
    }
    if (grade_annotations(cascade->events, &candidate, err))
        return err->kind;
    try_candidate(cascade, &candidate);
    return ERR_OK;
}

/* --- families ---------------------------------------------------------------------- */

/* Annotations of one skeleton. */
struct family {
    uint32_t number; /* of the skeleton */
    struct roots roots;
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

/* The family of each annotation, numbered in the order they come up. */
static enum err_kind
label_families(const struct events *events,
               struct texts *skeletons,
               uint32_t *labels,
               uint32_t *ret_n,
               struct err *err)
{
    CLEANUP(idmap_done) struct idmap numbers = {0};
    uint64_t n = events_annotation_count(events);
    *ret_n = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct event event = events_annotation(events, i);
        uint32_t skeleton = 0;
        if (add_skeleton(skeletons, events_text(events, event.name), &skeleton, err))
            return err->kind;
        struct idmap_entry *entry = idmap_add(&numbers, skeleton + 1, err);
        if (!entry)
            return err->kind;
        if (entry->mark++ == 0)
            entry->value = (*ret_n)++;
        labels[i] = entry->value;
    }
    return ERR_OK;
}

static enum err_kind
collect_families(struct cascade *cascade,
                 const uint32_t *labels,
                 uint32_t n_families,
                 struct roots **ret_families,
                 struct err *err)
{
    const struct events *events = cascade->events;
    uint64_t n = events_annotation_count(events);
    struct roots *families = arena_calloc(cascade->arena, n_families, sizeof *families);
    struct root *room = arena_calloc(cascade->arena, (size_t)n, sizeof *room);
    if (!families || !room)
        return no_memory(err);
    for (uint64_t i = 0; i < n; i++)
        families[labels[i]].n++;
    for (uint32_t i = 0; i < n_families; i++) {
        families[i].items = room;
        room += families[i].n;
        families[i].n = 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        struct roots *family = &families[labels[i]];
        family->items[family->n++] = root_of(events, events_annotation(events, i));
    }
    *ret_families = families;
    return ERR_OK;
}

/* The family with most GPU time, first seen on a tie. */
static enum err_kind
choose_family(struct cascade *cascade,
              const struct roots *families,
              uint32_t n_families,
              const struct roots **ret_best,
              struct err *err)
{
    int64_t best_ns = 0;
    *ret_best = NULL;
    for (uint32_t i = 0; i < n_families; i++) {
        int64_t busy_ns = 0;
        if (families[i].n < MIN_ROOTS)
            continue;
        if (coverage_busy(cascade->events, families[i], &busy_ns, err))
            return err->kind;
        if (busy_ns > best_ns) {
            best_ns = busy_ns;
            *ret_best = &families[i];
        }
    }
    return ERR_OK;
}

static void
free_texts(struct texts **texts)
{
    if (*texts)
        texts_free(*texts);
}

static enum err_kind
try_families(struct cascade *cascade, struct err *err)
{
    CLEANUP(free_texts) struct texts *skeletons = texts_new(SKELETONS_MAX_BYTES);
    uint64_t n = events_annotation_count(cascade->events);
    uint32_t *labels = arena_calloc(cascade->arena, (size_t)n, sizeof *labels);
    uint32_t n_families = 0;
    struct roots *families = NULL;
    const struct roots *best = NULL;
    struct candidate candidate = {
        .method = "family:unknown_only",
        .confidence = CONFIDENCE_UNKNOWN,
    };
    if (!skeletons || !labels)
        return no_memory(err);
    if (label_families(cascade->events, skeletons, labels, &n_families, err) ||
        collect_families(cascade, labels, n_families, &families, err) ||
        choose_family(cascade, families, n_families, &best, err))
        return err->kind;
    if (!best)
        return ERR_OK;
    candidate.roots = *best;
    if (grade_annotations(cascade->events, &candidate, err))
        return err->kind;
    try_candidate(cascade, &candidate);
    return ERR_OK;
}

/* --- the call tree ----------------------------------------------------------------- */

static enum err_kind
try_bookends(struct cascade *cascade,
             struct calltree *tree,
             const struct pattern *bases,
             size_t n,
             struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct candidate candidate;
        bool found = false;
        if (descent_add_bookends(tree, &bases[i], cascade->arena, &candidate, &found,
                                 err))
            return err->kind;
        if (!found)
            continue;
        if (coverage_audit(cascade->events, candidate.roots, NULL, 0, &candidate.coverage,
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
    struct pattern bases[2] = {0}; /* branch, siblings */
    if (calltree_make(&tree, cascade->events, cascade->symbols, err) ||
        pattern_search_init(&search, &tree, err) ||
        descent_find(&search, cascade->arena, &bases[0], err))
        return err->kind;
    if (bases[0].is_found)
        try_candidate(cascade, &bases[0].candidate);
    if (cascade->is_settled)
        return ERR_OK;
    if (pattern_find(&search, tree.entries, (struct slice){NULL, 0}, "sibling_roots",
                     cascade->arena, &bases[1], err))
        return err->kind;
    if (bases[1].is_found)
        try_candidate(cascade, &bases[1].candidate);
    if (cascade->is_settled)
        return ERR_OK;
    return try_bookends(cascade, &tree, bases, 2, err);
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
        if (add_skeleton(skeletons, roots.items[i].name, &ignored, err))
            return err->kind;
    }
    uint32_t n = texts_count(skeletons);
    struct slice *list = arena_calloc(arena, (size_t)n + 1, sizeof *list);
    if (!list)
        return no_memory(err);
    /* Text 0, the empty one, is in every table; whether a root has it is asked. */
    size_t count = 0;
    for (size_t i = 0; i < roots.n && count == 0; i++)
        if (roots.items[i].name.len == 0)
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
        coverage_audit(cascade->events, result->roots, NULL, 0, &result->coverage, err))
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

enum err_kind
detect_roots(const struct events *events,
             struct symbols *symbols,
             struct arena *arena,
             struct detection *ret_detection,
             struct err *err)
{
    struct cascade cascade = {.events = events, .symbols = symbols, .arena = arena};
    *ret_detection = (struct detection){0};
    struct tiers tiers = count_tiers(events, ret_detection);
    if (try_known(&cascade, tiers, err))
        return err->kind;
    if (!cascade.is_settled && try_families(&cascade, err))
        return err->kind;
    if (!cascade.is_settled && try_tree(&cascade, err))
        return err->kind;
    return settle(&cascade, ret_detection, err);
}
