/* SPDX-License-Identifier: Apache-2.0 */
/* What repeats among the children of one node of the call tree. */
#include "pattern.h"

#include "buf.h"
#include "cleanup.h"
#include "ns.h"
#include "period.h"
#include "texts.h"
#include "wide.h"

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

/* --- what is kept ------------------------------------------------------------------ */

void
pattern_done(struct pattern *pattern)
{
    column_done(&pattern->roots);
    column_done(&pattern->before);
    column_done(&pattern->after);
    *pattern = (struct pattern){0};
}

void
pattern_move(struct pattern *to, struct pattern *from)
{
    to->is_found = from->is_found;
    to->candidate = from->candidate;
    column_move(&to->roots, &from->roots);
    column_move(&to->before, &from->before);
    column_move(&to->after, &from->after);
    to->candidate.roots.list = &to->roots;
    from->is_found = false;
}

static void
draft_init(struct pattern_draft *draft, const struct calltree *tree)
{
    root_list_init(&draft->pattern.roots, tree->events);
    calltree_nodes_init(&draft->pattern.before, tree);
    calltree_nodes_init(&draft->pattern.after, tree);
    column_init(&draft->root_ns, events_side_pool(tree->events), sizeof(int64_t),
                ORDER_NONE);
}

static void
draft_done(struct pattern_draft *draft)
{
    pattern_done(&draft->pattern);
    column_done(&draft->root_ns);
}

/* The children of one group: a run of `by_label`. */
struct group {
    uint64_t first;
    uint64_t n;
    int64_t busy_ns;
};

struct label {
    uint32_t stamp; /* of the node that gave it */
    uint32_t group;
};

enum err_kind
pattern_search_init(struct pattern_search *search, struct calltree *tree, struct err *err)
{
    struct column_pool *pool = events_side_pool(tree->events);
    *search = (struct pattern_search){
        .tree = tree,
        .normalised = texts_new(NORMALISED_MAX_BYTES),
    };
    column_init(&search->known, pool, sizeof(uint32_t), ORDER_NONE);
    column_init(&search->groups_of, pool, sizeof(struct label), ORDER_NONE);
    column_init(&search->labels, pool, sizeof(uint32_t), ORDER_NONE);
    column_init(&search->by_label, pool, 2 * sizeof(uint32_t), ORDER_REF);
    column_init(&search->groups, pool, sizeof(struct group), ORDER_NONE);
    calltree_nodes_init(&search->live, tree);
    column_init(&search->live_labels, pool, sizeof(uint32_t), ORDER_NONE);
    calltree_nodes_init(&search->matched, tree);
    draft_init(&search->period, tree);
    draft_init(&search->family, tree);
    return search->normalised ? ERR_OK : no_memory(err);
}

void
pattern_search_done(struct pattern_search *search)
{
    texts_free(search->normalised);
    column_done(&search->known);
    column_done(&search->groups_of);
    column_done(&search->labels);
    column_done(&search->by_label);
    column_done(&search->groups);
    column_done(&search->live);
    column_done(&search->live_labels);
    column_done(&search->matched);
    draft_done(&search->period);
    draft_done(&search->family);
}

static enum err_kind
normalise(struct pattern_search *search,
          uint32_t name,
          uint32_t *ret_text,
          struct err *err)
{
    if (column_fill(&search->known, name + UINT64_C(1), err))
        return err->kind;
    column_read(&search->known, name, ret_text);
    if (*ret_text == 0) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        pattern_add_normalised(&text, events_text(search->tree->events, name));
        if (buf_check(&text, "a name of a call tree", err))
            return err->kind;
        if (!texts_add(search->normalised, buf_slice(&text), ret_text))
            return no_memory(err);
        ++*ret_text;
        column_write(&search->known, name, ret_text);
    }
    --*ret_text;
    return ERR_OK;
}

/* --- children by name -------------------------------------------------------------- */

static struct group
group_at(const struct pattern_search *search, uint64_t i)
{
    struct group group;
    column_read(&search->groups, i, &group);
    return group;
}

/* The group of a normalised text; a new one when it did not come up at this node yet. */
static enum err_kind
group_of(struct pattern_search *search, uint32_t text, uint32_t *ret, struct err *err)
{
    struct label label;
    if (column_fill(&search->groups_of, text + UINT64_C(1), err))
        return err->kind;
    column_read(&search->groups_of, text, &label);
    if (label.stamp != search->stamp) {
        const struct group group = {0};
        label = (struct label){search->stamp, (uint32_t)search->groups.n};
        column_write(&search->groups_of, text, &label);
        if (column_add(&search->groups, &group, err))
            return err->kind;
    }
    *ret = label.group;
    return ERR_OK;
}

static enum err_kind
label_children(struct pattern_search *search, const struct column *nodes, struct err *err)
{
    search->stamp++;
    column_reset(&search->labels);
    column_reset(&search->by_label);
    column_reset(&search->groups);
    for (uint64_t i = 0; i < nodes->n; i++) {
        uint32_t text = 0;
        uint32_t node = calltree_nodes_at(nodes, i);
        uint32_t name = calltree_event(search->tree, node).name;
        uint32_t ref[2] = {0, node};
        if (events_check(search->tree->events, err) ||
            normalise(search, name, &text, err) || group_of(search, text, &ref[0], err) ||
            column_add(&search->labels, &ref[0], err) ||
            column_add(&search->by_label, ref, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
measure_groups(struct pattern_search *search, struct err *err)
{
    const struct column *refs = &search->by_label;
    if (column_sort(&search->by_label, err))
        return err->kind;
    struct group group = {0};
    uint32_t label = 0;
    calltree_time_begin(search->tree);
    for (uint64_t i = 0; i < refs->n; i++) {
        uint32_t ref[2];
        column_read(refs, i, ref);
        if (ref[0] != label) {
            column_write(&search->groups, label, &group);
            label = ref[0];
            group = (struct group){.first = i};
            calltree_time_begin(search->tree);
        }
        group.n++;
        calltree_time_add(search->tree, ref[1], &group.busy_ns);
    }
    if (refs->n)
        column_write(&search->groups, label, &group);
    return events_check(search->tree->events, err);
}

static enum err_kind
find_live(struct pattern_search *search, const struct column *nodes, struct err *err)
{
    column_reset(&search->live);
    column_reset(&search->live_labels);
    for (uint64_t i = 0; i < nodes->n; i++) {
        uint32_t label = calltree_nodes_at(&search->labels, i);
        uint32_t node = calltree_nodes_at(nodes, i);
        if (group_at(search, label).busy_ns <= 0)
            continue;
        if (column_add(&search->live, &node, err) ||
            column_add(&search->live_labels, &label, err))
            return err->kind;
    }
    return events_check(search->tree->events, err);
}

/* --- candidates -------------------------------------------------------------------- */

static int64_t
root_ns_at(const struct pattern_draft *draft, uint64_t i)
{
    int64_t time_ns;
    column_read(&draft->root_ns, i, &time_ns);
    return time_ns;
}

static int64_t
draft_total_ns(const struct pattern_draft *draft)
{
    int64_t total_ns = 0;
    for (size_t i = 0; i < draft->pattern.candidate.roots.n; i++)
        total_ns = ns_add(total_ns, root_ns_at(draft, i));
    return total_ns;
}

static void
draft_start(struct pattern_draft *draft)
{
    struct pattern *pattern = &draft->pattern;
    pattern->is_found = false;
    pattern->candidate = (struct candidate){0};
    column_reset(&pattern->roots);
    column_reset(&pattern->before);
    column_reset(&pattern->after);
    column_reset(&draft->root_ns);
}

static enum err_kind
draft_add(struct pattern_draft *draft, struct root root, int64_t time_ns, struct err *err)
{
    enum err_kind kind = column_add(&draft->pattern.roots, &root, err);
    return kind ? kind : column_add(&draft->root_ns, &time_ns, err);
}

static void
draft_end(struct pattern_draft *draft, const char *source)
{
    struct pattern *pattern = &draft->pattern;
    pattern->is_found = true;
    pattern->candidate.roots = roots_of(&pattern->roots);
    pattern->candidate.tree.source = source;
}

/* Walks over the live children from the first block on; the nodes of whole blocks. */
static enum err_kind
match_blocks(struct pattern_search *search, struct period period, struct err *err)
{
    struct column *matched = &search->matched;
    column_reset(matched);
    for (uint64_t i = period.start; i < search->live.n; i++) {
        uint64_t in_block = period.start + matched->n % period.length;
        uint32_t node = calltree_nodes_at(&search->live, i);
        if (calltree_nodes_at(&search->live_labels, i) ==
            calltree_nodes_at(&search->live_labels, in_block)) {
            if (column_add(matched, &node, err))
                return err->kind;
        } else if (calltree_has_gpu(search->tree, node)) {
            break;
        }
    }
    return events_check(search->tree->events, err);
}

static struct root
block_root(const struct pattern_search *search,
           uint64_t first,
           uint64_t length,
           struct slice name)
{
    const struct calltree *tree = search->tree;
    struct event event = calltree_event(tree, calltree_nodes_at(&search->matched, first));
    struct root root = root_of(tree->events, event);
    uint32_t last = calltree_nodes_at(&search->matched, first + length - 1);
    int64_t end_ns = event_end_ns(calltree_event(tree, last));
    root.dur_ns = end_ns > event.ts_ns ? end_ns - event.ts_ns : 0;
    if (name.data)
        root.name = name;
    return root;
}

/* What stands before the first block, and what begins behind the last. */
static enum err_kind
find_sides(struct pattern_search *search,
           uint64_t start,
           uint64_t n_matched,
           struct err *err)
{
    const struct calltree *tree = search->tree;
    struct pattern *pattern = &search->period.pattern;
    const struct column *matched = &search->matched;
    uint32_t last = calltree_nodes_at(matched, n_matched - 1);
    int64_t last_ns = event_end_ns(calltree_event(tree, last));
    uint64_t inside = 0; /* `matched` is a part of the live ones, in their order */
    for (uint64_t i = 0; i < search->live.n; i++) {
        uint32_t node = calltree_nodes_at(&search->live, i);
        if (i < start && column_add(&pattern->before, &node, err))
            return err->kind;
        if (inside < n_matched && calltree_nodes_at(matched, inside) == node)
            inside++;
        else if (calltree_event(tree, node).ts_ns >= last_ns &&
                 column_add(&pattern->after, &node, err))
            return err->kind;
    }
    return ERR_OK;
}

static enum err_kind
draft_period(struct pattern_search *search, struct slice name, struct err *err)
{
    struct pattern_draft *draft = &search->period;
    struct period period;
    draft_start(draft);
    if (period_find(&search->live_labels, search->groups.n, &period, err))
        return err->kind;
    if (period.length <= 1)
        return ERR_OK;
    if (match_blocks(search, period, err))
        return err->kind;
    uint64_t n = search->matched.n / period.length;
    if (n < MIN_ROOTS)
        return ERR_OK;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t first = i * period.length;
        int64_t time_ns =
            calltree_time(search->tree, &search->matched, first, period.length);
        if (draft_add(draft, block_root(search, first, period.length, name), time_ns,
                      err))
            return err->kind;
    }
    draft_end(draft, "period");
    draft->pattern.candidate.tree.period = period.length;
    return find_sides(search, period.start, n * period.length, err);
}

/* The name with most time; first seen on a tie. False: none has four children. */
static bool
find_family(const struct pattern_search *search, struct group *ret_family)
{
    struct group best = {0};
    for (uint64_t i = 0; i < search->groups.n; i++) {
        struct group group = group_at(search, i);
        if (group.n >= MIN_ROOTS && group.busy_ns > best.busy_ns)
            best = group;
    }
    *ret_family = best;
    return best.n > 0;
}

static enum err_kind
draft_family(struct pattern_search *search, const struct column *nodes, struct err *err)
{
    struct pattern_draft *draft = &search->family;
    struct calltree *tree = search->tree;
    struct group family;
    draft_start(draft);
    if (!find_family(search, &family))
        return ERR_OK;
    for (uint64_t i = family.first; i < family.first + family.n; i++) {
        uint32_t ref[2];
        int64_t time_ns = 0;
        column_read(&search->by_label, i, ref);
        calltree_time_begin(tree);
        calltree_time_add(tree, ref[1], &time_ns);
        if (draft_add(draft, root_of(tree->events, calltree_event(tree, ref[1])), time_ns,
                      err))
            return err->kind;
    }
    draft_end(draft, "frame_family");
    struct pattern *pattern = &draft->pattern;
    struct root last = roots_at(pattern->candidate.roots, family.n - 1);
    int64_t first_ns = roots_at(pattern->candidate.roots, 0).ts_ns;
    for (uint64_t i = 0; i < nodes->n; i++) {
        uint32_t node = calltree_nodes_at(nodes, i);
        int64_t ts_ns = calltree_event(tree, node).ts_ns;
        if (ts_ns < first_ns && column_add(&pattern->before, &node, err))
            return err->kind;
        if (ts_ns >= root_end_ns(&last) && column_add(&pattern->after, &node, err))
            return err->kind;
    }
    return events_check(tree->events, err);
}

/* --- roots with hardly any GPU time ------------------------------------------------ */

static int64_t
time_at(const struct column *times, uint64_t i)
{
    struct event_mark time;
    column_read(times, i, &time);
    return time.key;
}

/* The least time that a root must have: above the widest gap, when that is wide. */
static int64_t
find_cut(const struct column *times)
{
    uint64_t best = 0;
    int64_t below = 0; /* the two at the widest gap */
    int64_t above = 0;
    for (uint64_t i = 1; i < times->n; i++) {
        int64_t low = time_at(times, i - 1);
        int64_t high = time_at(times, i);
        if (best && (int128)high * below <= (int128)above * low)
            continue;
        best = i;
        below = low;
        above = high;
    }
    if (best == 0 || above < (int128)LOW_RATIO * below || times->n - best < MIN_ROOTS)
        return 0;
    return above;
}

/* The times that are not 0, ascending. */
static enum err_kind
sort_times(const struct pattern_draft *draft, struct column *times, struct err *err)
{
    for (uint64_t i = 0; i < draft->pattern.candidate.roots.n; i++) {
        const struct event_mark time = {root_ns_at(draft, i), i};
        if (time.key > 0 && column_add(times, &time, err))
            return err->kind;
    }
    return column_sort(times, err);
}

static enum err_kind
drop_low(struct pattern_search *search, struct pattern_draft *draft, struct err *err)
{
    CLEANUP(column_done) struct column times;
    struct candidate *candidate = &draft->pattern.candidate;
    column_init(&times, events_side_pool(search->tree->events), sizeof(struct event_mark),
                ORDER_MARK);
    if (sort_times(draft, &times, err))
        return err->kind;
    int64_t cut_ns = times.n >= MIN_ROOTS ? find_cut(&times) : 0;
    if (cut_ns == 0)
        return ERR_OK;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < candidate->roots.n; i++) {
        int64_t time_ns = root_ns_at(draft, i);
        struct root root = roots_at(candidate->roots, i);
        if (time_ns < cut_ns)
            continue;
        column_write(&draft->pattern.roots, kept, &root);
        column_write(&draft->root_ns, kept++, &time_ns);
    }
    candidate->tree.dropped_low_gpu_roots = candidate->roots.n - kept;
    candidate->roots.n = kept;
    return events_check(search->tree->events, err);
}

static enum err_kind
settle(struct pattern_search *search,
       struct pattern_draft *draft,
       const char *tier,
       struct err *err)
{
    struct candidate *candidate = &draft->pattern.candidate;
    int64_t total_ns = events_gpu_busy_ns(search->tree->events);
    if (drop_low(search, draft, err))
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

/* The better of the two ways; NULL: neither has any time. */
static struct pattern_draft *
choose(struct pattern_search *search)
{
    struct pattern_draft *period = &search->period;
    struct pattern_draft *family = &search->family;
    bool by_family =
        family->pattern.is_found &&
        (!period->pattern.is_found || draft_total_ns(family) > draft_total_ns(period));
    struct pattern_draft *best = by_family ? family : period;
    return best->pattern.is_found && draft_total_ns(best) > 0 ? best : NULL;
}

enum err_kind
pattern_find(struct pattern_search *search,
             const struct column *nodes,
             struct slice name,
             const char *tier,
             struct pattern *pattern,
             bool *ret_is_better,
             struct err *err)
{
    *ret_is_better = false;
    if (label_children(search, nodes, err) || measure_groups(search, err) ||
        find_live(search, nodes, err) || draft_period(search, name, err) ||
        draft_family(search, nodes, err))
        return err->kind;
    struct pattern_draft *best = choose(search);
    if (!best)
        return events_check(search->tree->events, err);
    if (settle(search, best, tier, err))
        return err->kind;
    *ret_is_better = !pattern->is_found || best->pattern.candidate.iteration_ns >
                                               pattern->candidate.iteration_ns;
    if (*ret_is_better) {
        pattern_done(pattern);
        pattern_move(pattern, &best->pattern);
    }
    return events_check(search->tree->events, err);
}
