/* SPDX-License-Identifier: Apache-2.0 */
/* What repeats among the children of one node of the call tree. */
#include "pattern.h"

#include "buf.h"
#include "cleanup.h"
#include "ns.h"
#include "period.h"
#include "texts.h"
#include "wide.h"

#include <stdlib.h>

enum { LOW_RATIO = 10, NORMALISED_MAX_BYTES = 1 << 30 };

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the patterns of a call tree");
}

/* --- names ------------------------------------------------------------------------- */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes of an address 0x… at the front; 0: none. */
static size_t
address_len(struct slice text)
{
    size_t n = 2;
    if (text.len < 3 || text.data[0] != '0' || text.data[1] != 'x')
        return 0;
    while (n < text.len && is_hex(text.data[n]))
        n++;
    return n > 2 ? n : 0;
}

/* Bytes of .py(LINE): at the front; 0: none. */
static size_t
line_len(struct slice text)
{
    static const char mark[] = ".py(";
    size_t n = sizeof mark - 1;
    if (text.len <= n || memcmp(text.data, mark, n) != 0)
        return 0;
    while (n < text.len && is_digit(text.data[n]))
        n++;
    bool ends = n > sizeof mark - 1 && text.len - n >= 2 && text.data[n] == ')' &&
                text.data[n + 1] == ':';
    return ends ? n + 2 : 0;
}

void
pattern_add_normalised(struct buf *out, struct slice name)
{
    if (slice_is(name, "hipModuleLaunchKernel") || slice_is(name, "cuLaunchKernel")) {
        buf_add_str(out, "ModuleLaunchKernel");
        return;
    }
    while (name.data && name.len > 0) {
        size_t address = address_len(name);
        size_t line = line_len(name);
        size_t n = address ? address : line ? line : 1;
        if (address)
            buf_add_str(out, "0xXXXX");
        else if (line)
            buf_add_str(out, ".py:");
        else
            buf_add_byte(out, name.data[0]);
        name = (struct slice){name.data + n, name.len - n};
    }
}

enum err_kind
pattern_search_init(struct pattern_search *search, struct calltree *tree, struct err *err)
{
    *search = (struct pattern_search){tree, texts_new(NORMALISED_MAX_BYTES), {0}};
    return search->normalised ? ERR_OK : no_memory(err);
}

void
pattern_search_done(struct pattern_search *search)
{
    if (search->normalised)
        texts_free(search->normalised);
    idmap_done(&search->known);
}

static enum err_kind
normalise(struct pattern_search *search,
          uint32_t name,
          uint32_t *ret_text,
          struct err *err)
{
    struct idmap_entry *entry = idmap_add(&search->known, name + 1, err);
    if (!entry)
        return err->kind;
    if (entry->mark++ == 0) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        pattern_add_normalised(&text, events_text(search->tree->events, name));
        if (buf_check(&text, "a name of a call tree", err))
            return err->kind;
        if (!texts_add(search->normalised, buf_slice(&text), &entry->value))
            return no_memory(err);
    }
    *ret_text = entry->value;
    return ERR_OK;
}

/* --- children by name -------------------------------------------------------------- */

/* The children of one name. */
struct group {
    uint32_t *nodes; /* in node order */
    size_t n;
    int64_t busy_ns;
};

struct children {
    struct calltree_nodes nodes;
    uint32_t *labels; /* of each: its group; numbers in the order they come up */
    struct group *groups;
    uint32_t n_groups;
    struct calltree_nodes live; /* those whose group has GPU time */
    uint32_t *live_labels;
};

static enum err_kind
label_children(struct pattern_search *search,
               struct children *children,
               struct arena *arena,
               struct err *err)
{
    CLEANUP(idmap_done) struct idmap labels = {0};
    struct calltree_nodes nodes = children->nodes;
    children->labels = arena_calloc(arena, nodes.n, sizeof(uint32_t));
    if (!children->labels)
        return no_memory(err);
    for (size_t i = 0; i < nodes.n; i++) {
        uint32_t text = 0;
        struct event event = calltree_event(search->tree, nodes.items[i]);
        if (normalise(search, event.name, &text, err))
            return err->kind;
        struct idmap_entry *entry = idmap_add(&labels, text + 1, err);
        if (!entry)
            return err->kind;
        if (entry->mark++ == 0)
            entry->value = children->n_groups++;
        children->labels[i] = entry->value;
    }
    return ERR_OK;
}

static enum err_kind
group_children(struct pattern_search *search,
               struct children *children,
               struct arena *arena,
               struct err *err)
{
    struct calltree_nodes nodes = children->nodes;
    uint32_t *room = arena_calloc(arena, nodes.n, sizeof *room);
    children->groups = arena_calloc(arena, children->n_groups, sizeof(struct group));
    if (!room || !children->groups)
        return no_memory(err);
    for (size_t i = 0; i < nodes.n; i++)
        children->groups[children->labels[i]].n++;
    for (uint32_t i = 0; i < children->n_groups; i++) {
        children->groups[i].nodes = room;
        room += children->groups[i].n;
        children->groups[i].n = 0;
    }
    for (size_t i = 0; i < nodes.n; i++) {
        struct group *group = &children->groups[children->labels[i]];
        group->nodes[group->n++] = nodes.items[i];
    }
    for (uint32_t i = 0; i < children->n_groups; i++) {
        struct group *group = &children->groups[i];
        group->busy_ns = calltree_time(search->tree, group->nodes, group->n);
    }
    return ERR_OK;
}

static enum err_kind
find_live(struct children *children, struct arena *arena, struct err *err)
{
    struct calltree_nodes nodes = children->nodes;
    children->live.items = arena_calloc(arena, nodes.n, sizeof(uint32_t));
    children->live_labels = arena_calloc(arena, nodes.n, sizeof(uint32_t));
    if (!children->live.items || !children->live_labels)
        return no_memory(err);
    for (size_t i = 0; i < nodes.n; i++)
        if (children->groups[children->labels[i]].busy_ns > 0) {
            children->live_labels[children->live.n] = children->labels[i];
            children->live.items[children->live.n++] = nodes.items[i];
        }
    return ERR_OK;
}

/* --- candidates -------------------------------------------------------------------- */

/* A candidate on its way: its roots and what each of them takes. */
struct draft {
    struct pattern pattern;
    int64_t *root_ns;
};

static int64_t
draft_total_ns(const struct draft *draft)
{
    int64_t total_ns = 0;
    for (size_t i = 0; i < draft->pattern.candidate.roots.n; i++)
        total_ns = ns_add(total_ns, draft->root_ns[i]);
    return total_ns;
}

static enum err_kind
draft_make(struct draft *draft,
           size_t n_roots,
           size_t n_children,
           struct arena *arena,
           struct err *err)
{
    struct pattern *pattern = &draft->pattern;
    pattern->candidate.roots.items = arena_calloc(arena, n_roots, sizeof(struct root));
    pattern->before.items = arena_calloc(arena, n_children, sizeof(uint32_t));
    pattern->after.items = arena_calloc(arena, n_children, sizeof(uint32_t));
    draft->root_ns = arena_calloc(arena, n_roots, sizeof(int64_t));
    if (!pattern->candidate.roots.items || !pattern->before.items ||
        !pattern->after.items || !draft->root_ns)
        return no_memory(err);
    pattern->is_found = true;
    return ERR_OK;
}

static void
add_node(struct calltree_nodes *nodes, uint32_t node)
{
    nodes->items[nodes->n++] = node;
}

/* Walks over the live children from the first block on; the nodes of whole blocks. */
static size_t
match_blocks(const struct calltree *tree,
             const struct children *children,
             struct period period,
             uint32_t *matched)
{
    size_t n = 0;
    for (size_t i = period.start; i < children->live.n; i++) {
        uint32_t wanted = children->live_labels[period.start + n % period.length];
        if (children->live_labels[i] == wanted)
            matched[n++] = children->live.items[i];
        else if (calltree_has_gpu(tree, children->live.items[i]))
            break;
    }
    return n / period.length;
}

static struct root
block_root(const struct calltree *tree,
           const uint32_t *block,
           size_t length,
           struct slice name)
{
    struct event first = calltree_event(tree, block[0]);
    struct root root = root_of(tree->events, first);
    int64_t end_ns = event_end_ns(calltree_event(tree, block[length - 1]));
    root.dur_ns = end_ns > first.ts_ns ? end_ns - first.ts_ns : 0;
    if (name.data)
        root.name = name;
    return root;
}

static void
find_sides(const struct calltree *tree,
           const struct children *children,
           size_t start,
           const uint32_t *matched,
           size_t n_matched,
           struct pattern *pattern)
{
    int64_t last_ns = event_end_ns(calltree_event(tree, matched[n_matched - 1]));
    size_t inside = 0; /* `matched` is a part of the live ones, in their order */
    for (size_t i = 0; i < children->live.n; i++) {
        uint32_t node = children->live.items[i];
        if (i < start)
            add_node(&pattern->before, node);
        if (inside < n_matched && matched[inside] == node)
            inside++;
        else if (calltree_event(tree, node).ts_ns >= last_ns)
            add_node(&pattern->after, node);
    }
}

static enum err_kind
draft_period(struct pattern_search *search,
             const struct children *children,
             struct slice name,
             struct arena *arena,
             struct draft *draft,
             struct err *err)
{
    struct calltree *tree = search->tree;
    struct period period;
    if (period_find(children->live_labels, children->live.n, children->n_groups, arena,
                    &period, err))
        return err->kind;
    if (period.length <= 1)
        return ERR_OK;
    uint32_t *matched = arena_calloc(arena, children->live.n, sizeof *matched);
    if (!matched)
        return no_memory(err);
    size_t n = match_blocks(tree, children, period, matched);
    if (n < MIN_ROOTS)
        return ERR_OK;
    if (draft_make(draft, n, children->live.n, arena, err))
        return err->kind;
    struct candidate *candidate = &draft->pattern.candidate;
    for (size_t i = 0; i < n; i++) {
        const uint32_t *block = matched + i * period.length;
        candidate->roots.items[i] = block_root(tree, block, period.length, name);
        draft->root_ns[i] = calltree_time(tree, block, period.length);
    }
    candidate->roots.n = n;
    candidate->tree.source = "period";
    candidate->tree.period = period.length;
    find_sides(tree, children, period.start, matched, n * period.length, &draft->pattern);
    return ERR_OK;
}

/* The name with most time; first seen on a tie. NULL: none has four children. */
static const struct group *
find_family(const struct children *children)
{
    const struct group *best = NULL;
    for (uint32_t i = 0; i < children->n_groups; i++) {
        const struct group *group = &children->groups[i];
        if (group->n >= MIN_ROOTS && group->busy_ns > (best ? best->busy_ns : 0))
            best = group;
    }
    return best;
}

static enum err_kind
draft_family(struct pattern_search *search,
             const struct children *children,
             struct arena *arena,
             struct draft *draft,
             struct err *err)
{
    struct calltree *tree = search->tree;
    const struct group *family = find_family(children);
    if (!family)
        return ERR_OK;
    if (draft_make(draft, family->n, children->nodes.n, arena, err))
        return err->kind;
    struct candidate *candidate = &draft->pattern.candidate;
    for (size_t i = 0; i < family->n; i++) {
        candidate->roots.items[i] =
            root_of(tree->events, calltree_event(tree, family->nodes[i]));
        draft->root_ns[i] = calltree_time(tree, &family->nodes[i], 1);
    }
    candidate->roots.n = family->n;
    candidate->tree.source = "frame_family";
    int64_t first_ns = candidate->roots.items[0].ts_ns;
    int64_t last_ns = root_end_ns(&candidate->roots.items[family->n - 1]);
    for (size_t i = 0; i < children->nodes.n; i++) {
        int64_t ts_ns = calltree_event(tree, children->nodes.items[i]).ts_ns;
        if (ts_ns < first_ns)
            add_node(&draft->pattern.before, children->nodes.items[i]);
        if (ts_ns >= last_ns)
            add_node(&draft->pattern.after, children->nodes.items[i]);
    }
    return ERR_OK;
}

/* --- roots with hardly any GPU time ------------------------------------------------ */

static int
compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The least time that a root must have: above the widest gap, when that is wide. */
static int64_t
find_cut(const int64_t *times, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (best == 0 ||
            (int128)times[i] * times[best - 1] > (int128)times[best] * times[i - 1])
            best = i;
    if (best == 0 || times[best] < (int128)LOW_RATIO * times[best - 1] ||
        n - best < MIN_ROOTS)
        return 0;
    return times[best];
}

static enum err_kind
drop_low(struct draft *draft, struct arena *arena, struct err *err)
{
    struct candidate *candidate = &draft->pattern.candidate;
    struct roots *roots = &candidate->roots;
    int64_t *times = arena_calloc(arena, roots->n, sizeof *times);
    size_t n = 0;
    if (!times)
        return no_memory(err);
    for (size_t i = 0; i < roots->n; i++)
        if (draft->root_ns[i] > 0)
            times[n++] = draft->root_ns[i];
    qsort(times, n, sizeof *times, compare_times);
    int64_t cut_ns = n >= MIN_ROOTS ? find_cut(times, n) : 0;
    if (cut_ns == 0)
        return ERR_OK;
    size_t kept = 0;
    for (size_t i = 0; i < roots->n; i++)
        if (draft->root_ns[i] >= cut_ns) {
            roots->items[kept] = roots->items[i];
            draft->root_ns[kept++] = draft->root_ns[i];
        }
    candidate->tree.dropped_low_gpu_roots = roots->n - kept;
    roots->n = kept;
    return ERR_OK;
}

static enum err_kind
settle(struct draft *draft,
       const char *tier,
       int64_t total_ns,
       struct arena *arena,
       struct err *err)
{
    struct candidate *candidate = &draft->pattern.candidate;
    if (drop_low(draft, arena, err))
        return err->kind;
    bool descends = strcmp(tier, "branch_descent") == 0;
    candidate->method = descends ? "generic:branch_descent" : "generic:sibling_roots";
    candidate->confidence = CONFIDENCE_LOW;
    candidate->iteration_ns = draft_total_ns(draft);
    candidate->total_ns = total_ns;
    candidate->status = grade_of(candidate->iteration_ns, total_ns);
    candidate->tree.tier = tier;
    candidate->tree.coverage = grade_ratio(candidate->iteration_ns, total_ns);
    return ERR_OK;
}

enum err_kind
pattern_find(struct pattern_search *search,
             struct calltree_nodes nodes,
             struct slice name,
             const char *tier,
             struct arena *arena,
             struct pattern *ret_pattern,
             struct err *err)
{
    struct children children = {.nodes = nodes};
    struct draft period = {0};
    struct draft family = {0};
    *ret_pattern = (struct pattern){0};
    if (label_children(search, &children, arena, err) ||
        group_children(search, &children, arena, err) ||
        find_live(&children, arena, err) ||
        draft_period(search, &children, name, arena, &period, err) ||
        draft_family(search, &children, arena, &family, err))
        return err->kind;
    bool by_family =
        family.pattern.is_found &&
        (!period.pattern.is_found || draft_total_ns(&family) > draft_total_ns(&period));
    struct draft *best = by_family ? &family : &period;
    if (!best->pattern.is_found || draft_total_ns(best) <= 0)
        return ERR_OK;
    if (settle(best, tier, events_gpu_busy_ns(search->tree->events), arena, err))
        return err->kind;
    *ret_pattern = best->pattern;
    return ERR_OK;
}
