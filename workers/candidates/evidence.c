/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of candidates. */
#include "evidence.h"

#include "amount.h"
#include "report_rows.h"
#include "text.h"

#include <ctype.h>

enum { MIN_STEM_CHARS = 16 };

static bool
starts_with(struct slice text, struct slice head)
{
    return text.len >= head.len && memcmp(text.data, head.data, head.len) == 0;
}

/* What stands before the dots of a name that was cut; null: it was not. */
static struct slice
stem_of(struct slice kernel)
{
    if (kernel.len < 3 || memcmp(kernel.data + kernel.len - 3, "...", 3) != 0)
        return (struct slice){0};
    struct slice stem = amount_trim((struct slice){kernel.data, kernel.len - 3});
    return text_count(stem) >= MIN_STEM_CHARS ? stem : (struct slice){0};
}

static bool
is_only_one(struct slice stem, const struct evidence_candidate *candidates, size_t n)
{
    size_t hits = 0;
    for (size_t i = 0; i < n; i++)
        hits += starts_with(candidates[i].device_kernel_name, stem);
    return hits == 1;
}

static bool
names(const struct report_row *row,
      struct slice symbol,
      const struct evidence_candidate *candidates,
      size_t n)
{
    if (row->args.n == 0 || symbol.len == 0)
        return false;
    for (size_t i = 0; i < row->kernels.n; i++) {
        struct slice kernel = row->kernels.items[i];
        struct slice stem = stem_of(kernel);
        if (slice_equal(kernel, symbol) ||
            (stem.data && starts_with(symbol, stem) && is_only_one(stem, candidates, n)))
            return true;
    }
    return false;
}

static bool
same_texts(const struct slice *a, size_t n_a, const struct slice *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!slice_equal(a[i], b[i]))
            return false;
    return true;
}

/* What follows the parenthesis of "(8192,1024) bf16". */
static struct slice
dtype_of(struct slice shape)
{
    const char *end =
        shape.len && shape.data[0] == '(' ? memchr(shape.data, ')', shape.len) : NULL;
    if (!end)
        return SLICE("");
    size_t at = (size_t)(end - shape.data) + 1;
    while (at < shape.len && isspace((unsigned char)shape.data[at]))
        at++;
    return (struct slice){shape.data + at, shape.len - at};
}

static bool
fill(struct shape_evidence *evidence, const struct report_row *row, struct arena *arena)
{
    struct slice *dtypes = arena_alloc(arena, row->args.n * sizeof dtypes[0]);
    if (!dtypes)
        return false;
    for (size_t i = 0; i < row->args.n; i++)
        dtypes[i] = dtype_of(row->args.items[i]);
    evidence->shapes = row->args.items;
    evidence->input_dtypes = dtypes;
    evidence->n = row->args.n;
    evidence->operation = row->operation;
    evidence->table_row = row->line;
    return true;
}

/* The first row that names the candidate; `*ret_unique`: all that do agree with it. */
static const struct report_row *
match(const struct report_rows *rows,
      struct slice symbol,
      const struct evidence_candidate *candidates,
      size_t n,
      bool *ret_unique)
{
    const struct report_row *first = NULL;
    *ret_unique = true;
    for (size_t i = 0; i < rows->n; i++) {
        const struct report_row *row = &rows->items[i];
        if (!names(row, symbol, candidates, n))
            continue;
        first = first ? first : row;
        *ret_unique &=
            same_texts(first->args.items, first->args.n, row->args.items, row->args.n);
    }
    return first;
}

enum err_kind
evidence_find(struct slice markdown,
              const struct evidence_candidate *candidates,
              size_t n,
              struct arena *arena,
              const struct shape_evidence **ret_evidence,
              size_t *ret_n,
              struct err *err)
{
    struct report_rows rows = {.arena = arena};
    struct shape_evidence *found = arena_alloc(arena, n * sizeof found[0]);
    size_t n_found = 0;
    report_rows_read(markdown, &rows);
    if (!found || rows.no_memory)
        return err_no_memory(err, "the tables of a report");
    for (size_t i = 0; i < n; i++) {
        bool unique = true;
        if (candidates[i].has_shapes)
            continue;
        const struct report_row *row =
            match(&rows, candidates[i].device_kernel_name, candidates, n, &unique);
        if (!row)
            continue;
        found[n_found] = (struct shape_evidence){.kernel_id = candidates[i].kernel_id,
                                                 .unique_args = unique,
                                                 .operation = SLICE("")};
        if (unique && !fill(&found[n_found], row, arena))
            return err_no_memory(err, "the evidence of shapes");
        n_found++;
    }
    *ret_evidence = found;
    *ret_n = n_found;
    return ERR_OK;
}

bool
evidence_confirms(const struct shape_evidence *evidence,
                  size_t n,
                  struct slice kernel_id,
                  const struct slice *shapes,
                  size_t n_shapes,
                  struct slice provenance)
{
    if (!slice_is(provenance, "review_backfill"))
        return false;
    for (size_t i = 0; i < n; i++)
        if (slice_equal(evidence[i].kernel_id, kernel_id) && evidence[i].unique_args &&
            same_texts(evidence[i].shapes, evidence[i].n, shapes, n_shapes))
            return true;
    return false;
}
