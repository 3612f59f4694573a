/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of shapes. */
#include "shapes.h"

#include "amount.h"
#include "signature.h"

#include <stdlib.h>

enum { MAX_NOTES = 3, LAUNCH_KINDS = 3, LINE_DIGITS = 18 };

const char *
launch_kind_name(enum launch_kind kind)
{
    static const char *const names[LAUNCH_KINDS] = {"eager", "graph", "unlinked"};
    return names[kind];
}

static bool
names_op(const struct launch_group *launch)
{
    return launch->kind == LAUNCH_KIND_EAGER && amount_trim(launch->op).len > 0;
}

static enum launch_kind
most_time(const struct kernel_row *row)
{
    const struct launch_group *launches = row->launches.items;
    double total[LAUNCH_KINDS] = {0};
    bool seen[LAUNCH_KINDS] = {false};
    for (size_t i = 0; i < row->launches.n; i++) {
        total[launches[i].kind] += (double)launches[i].total_ns;
        seen[launches[i].kind] = true;
    }
    if (row->omitted_launches) {
        total[LAUNCH_KIND_EAGER] += (double)row->omitted_launch_ns;
        seen[LAUNCH_KIND_EAGER] = true;
    }
    int best = -1;
    for (int i = 0; i < LAUNCH_KINDS; i++)
        if (seen[i] && (best < 0 || total[i] > total[best]))
            best = i;
    return best < 0 ? LAUNCH_KIND_UNLINKED : (enum launch_kind)best;
}

static double
time_of_op(const struct kernel_row *row, size_t from, struct slice op)
{
    const struct launch_group *launches = row->launches.items;
    double total = 0;
    for (size_t i = from; i < row->launches.n; i++)
        if (names_op(&launches[i]) && slice_equal(launches[i].op, op))
            total += (double)launches[i].total_ns;
    return total;
}

static bool
op_was_seen(const struct kernel_row *row, size_t before, struct slice op)
{
    const struct launch_group *launches = row->launches.items;
    for (size_t i = 0; i < before; i++)
        if (names_op(&launches[i]) && slice_equal(launches[i].op, op))
            return true;
    return false;
}

struct launcher
launcher_of(const struct kernel_row *row)
{
    const struct launch_group *launches = row->launches.items;
    struct launcher launcher = {most_time(row), SLICE("")};
    double best = 0;
    for (size_t i = 0; i < row->launches.n; i++) {
        if (!names_op(&launches[i]) || op_was_seen(row, i, launches[i].op))
            continue;
        double total = time_of_op(row, i, launches[i].op);
        if (launcher.op.len == 0 || total > best ||
            (!(total < best) && slice_compare(launches[i].op, launcher.op) < 0)) {
            launcher.op = launches[i].op;
            best = total;
        }
    }
    return launcher;
}

/* A signature and the calls that had it. */
struct counted {
    struct signature signature;
    int64_t calls;
};

struct evidence {
    struct counted *items;
    size_t n;
    struct slice *notes;
    size_t n_notes;
};

static void
add_note(struct evidence *evidence, const char *note)
{
    for (size_t i = 0; i < evidence->n_notes; i++)
        if (slice_is(evidence->notes[i], note))
            return;
    evidence->notes[evidence->n_notes++] = slice_of(note);
}

static struct counted *
count_signature(struct evidence *evidence, const struct signature *signature)
{
    for (size_t i = 0; i < evidence->n; i++)
        if (slice_equal(evidence->items[i].signature.text, signature->text))
            return &evidence->items[i];
    evidence->items[evidence->n] = (struct counted){*signature, 0};
    return &evidence->items[evidence->n++];
}

/* The launches of the majority op: those with operands of their own count. */
static bool
gather_launches(const struct kernel_row *row,
                struct slice op,
                struct arena *arena,
                struct evidence *evidence)
{
    const struct launch_group *launches = row->launches.items;
    for (size_t i = 0; op.len && i < row->launches.n; i++) {
        struct signature signature;
        const struct launch_group *launch = &launches[i];
        if (launch->kind != LAUNCH_KIND_EAGER || !slice_equal(launch->op, op))
            continue;
        if (!signature_of(launch->input_dims, launch->input_type, arena, &signature))
            return false;
        if (signature.n == 0)
            continue;
        if (launch->has_dims_from && launch->dims_from == DIMS_FROM_OP) {
            struct counted *counted = count_signature(evidence, &signature);
            counted->calls =
                (int64_t)((uint64_t)counted->calls + (uint64_t)launch->calls);
        } else {
            add_note(evidence, "ancestor_dims");
        }
    }
    if (row->omitted_launches)
        add_note(evidence, "other_combinations");
    return true;
}

/* Operands of the same kernel launched eagerly outside the chunk. */
static bool
gather_eager(const struct kernel_row *row, struct arena *arena, struct evidence *evidence)
{
    const struct eager_shape *shapes = row->eager_shapes.items;
    for (size_t i = 0; i < row->eager_shapes.n; i++) {
        struct signature signature;
        if (!signature_of(shapes[i].input_dims, shapes[i].input_type, arena, &signature))
            return false;
        if (signature.n)
            count_signature(evidence, &signature)->calls = row->calls;
    }
    return true;
}

static int
by_calls(const void *a, const void *b)
{
    const struct counted *x = a;
    const struct counted *y = b;
    if (x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    return slice_compare(x->signature.text, y->signature.text);
}

static bool
take_shapes(struct evidence *evidence,
            const char *provenance,
            struct arena *arena,
            struct shape_fields *fields)
{
    qsort(evidence->items, evidence->n, sizeof evidence->items[0], by_calls);
    const struct signature *first = &evidence->items[0].signature;
    struct input_shape *all = arena_alloc(arena, evidence->n * sizeof all[0]);
    struct slice *shapes = arena_alloc(arena, first->n * sizeof shapes[0]);
    struct slice *dtypes = arena_alloc(arena, first->n * sizeof dtypes[0]);
    if (!all || !shapes || !dtypes)
        return false;
    for (size_t i = 0; i < evidence->n; i++)
        all[i] = (struct input_shape){evidence->items[i].calls,
                                      evidence->items[i].signature.text};
    for (size_t i = 0; i < first->n; i++) {
        shapes[i] = first->items[i].text;
        dtypes[i] = first->items[i].dtype;
    }
    fields->input_shapes = (struct list){all, evidence->n};
    fields->shapes = (struct list){shapes, first->n};
    fields->input_dtypes = (struct list){dtypes, first->n};
    fields->provenance = slice_of(provenance);
    fields->dispatchable = true;
    return true;
}

static const char *
reason_of(enum launch_kind kind)
{
    static const char *const reasons[LAUNCH_KINDS] = {
        "op_recorded_no_dims", "graph_replay_no_args", "no_launching_op"};
    return reasons[kind];
}

bool
shapes_of(const struct kernel_row *row,
          const struct launcher *launcher,
          struct arena *arena,
          struct shape_fields *ret_fields)
{
    size_t n = row->launches.n + row->eager_shapes.n;
    struct evidence evidence = {
        .items = arena_alloc(arena, n * sizeof evidence.items[0]),
        .notes = arena_alloc(arena, MAX_NOTES * sizeof evidence.notes[0]),
    };
    const char *provenance = "torch_trace";
    bool ambiguous = false;
    *ret_fields =
        (struct shape_fields){.provenance = SLICE(""), .missing_reason = SLICE("")};
    if (!evidence.items || !evidence.notes ||
        !gather_launches(row, launcher->op, arena, &evidence))
        return false;
    if (evidence.n == 0) {
        provenance = "capture_backfill";
        if (!gather_eager(row, arena, &evidence))
            return false;
        ambiguous = evidence.n > 1 || (evidence.n && row->omitted_eager_shapes);
    }
    if (ambiguous)
        add_note(&evidence, "backfill_ambiguous");
    ret_fields->notes = (struct list){evidence.notes, evidence.n_notes};
    if (evidence.n && !ambiguous)
        return take_shapes(&evidence, provenance, arena, ret_fields);
    ret_fields->missing_reason =
        ambiguous ? SLICE("ambiguous_backfill") : slice_of(reason_of(launcher->kind));
    return true;
}

/* Digits of a line at `at`, followed by "): " and something. */
static bool
line_at(struct slice text, size_t at, struct frame *frame)
{
    size_t end = at;
    int64_t line = 0;
    while (end < text.len && text.data[end] >= '0' && text.data[end] <= '9') {
        if (end - at >= LINE_DIGITS)
            return false;
        line = line * 10 + (text.data[end++] - '0');
    }
    if (end == at || text.len - end <= 3 || memcmp(text.data + end, "): ", 3) != 0)
        return false;
    frame->line = line;
    frame->function = (struct slice){text.data + end + 3, text.len - end - 3};
    return true;
}

struct frame
frame_of(struct slice text)
{
    static const char mark[] = ".py(";
    enum { MARK = sizeof mark - 1 };
    struct frame frame = {0};
    /* The file is as long as it can be: the last place that fits counts. */
    for (size_t at = text.len; at-- > 1;) {
        if (text.len - at <= MARK || memcmp(text.data + at, mark, MARK) != 0)
            continue;
        if (line_at(text, at + MARK, &frame)) {
            frame.file = (struct slice){text.data, at + 3};
            return frame;
        }
    }
    return (struct frame){0};
}
