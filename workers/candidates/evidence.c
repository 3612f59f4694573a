/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of an analysis.md. */
#include "evidence.h"

#include "amount.h"
#include "text.h"

#include <ctype.h>
#include <strings.h>

enum { MIN_STEM_CHARS = 16, COLUMNS_MAX = 64, LINES_MAX = 10000000 };

struct texts {
    struct slice *items;
    size_t n;
};

/* A line of a table that names kernels. */
struct table_row {
    int64_t line;
    struct texts kernels;
    struct texts args;
    struct slice operation;
};

struct rows {
    struct arena *arena;
    struct table_row *items;
    size_t n, cap;
    bool no_memory;
};

/* Cells of one line. */
struct cells {
    struct slice items[COLUMNS_MAX];
    size_t n;
};

static bool
is_null_cell(struct slice cell)
{
    return cell.len == 0 || slice_is(cell, "-") || slice_is(cell, "\xE2\x80\x93") ||
           slice_is(cell, "\xE2\x80\x94") ||
           (cell.len == 3 && strncasecmp(cell.data, "n/a", 3) == 0);
}

static struct slice
next_line(struct slice *rest)
{
    const char *end = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    struct slice line = {rest->data, len};
    *rest = end ? (struct slice){end + 1, rest->len - len - 1} : (struct slice){0};
    return line;
}

/* The part of `text` before `mark`, which is stepped over. Null `text` ends. */
static struct slice
next_part(struct slice *text, const char *mark)
{
    size_t len = strlen(mark);
    const char *end = text->len ? memmem(text->data, text->len, mark, len) : NULL;
    struct slice part = *text;
    if (!end) {
        *text = (struct slice){0};
        return part;
    }
    part.len = (size_t)(end - text->data);
    *text = (struct slice){end + len, text->len - part.len - len};
    return part;
}

static bool
is_table_line(struct slice line)
{
    line = amount_trim(line);
    return line.len && line.data[0] == '|';
}

static bool
is_separator(struct slice line)
{
    bool dash = false;
    line = amount_trim(line);
    if (line.len < 2 || line.data[0] != '|')
        return false;
    for (size_t i = 1; i < line.len; i++) {
        char c = line.data[i];
        dash |= c == '-';
        if (c != '-' && c != ':' && c != '|' && !isspace((unsigned char)c))
            return false;
    }
    return dash;
}

static void
read_cells(struct slice line, struct cells *ret_cells)
{
    line = amount_trim(line);
    while (line.len && line.data[0] == '|') {
        line.data++;
        line.len--;
    }
    while (line.len && line.data[line.len - 1] == '|')
        line.len--;
    ret_cells->n = 0;
    struct slice rest = line;
    do {
        ret_cells->items[ret_cells->n++] = amount_trim(next_part(&rest, "|"));
    } while (rest.data && ret_cells->n < COLUMNS_MAX);
}

/* The cell of the last column of that title; empty when the line is shorter. */
static struct slice
cell_of(const struct cells *titles, const struct cells *cells, const char *title)
{
    size_t len = strlen(title);
    struct slice found = SLICE("");
    for (size_t i = 0; i < titles->n && i < cells->n; i++)
        if (titles->items[i].len == len &&
            strncasecmp(titles->items[i].data, title, len) == 0)
            found = cells->items[i];
    return found;
}

static bool
has_title(const struct cells *titles, const char *title)
{
    return cell_of(titles, titles, title).len > 0;
}

/* Without "Kernel N:" in front. */
static struct slice
strip_number(struct slice name)
{
    static const char word[] = "Kernel";
    enum { WORD = sizeof word - 1 };
    name = amount_trim(name);
    size_t at = WORD;
    if (name.len <= WORD || memcmp(name.data, word, WORD) != 0)
        return name;
    while (at < name.len && isspace((unsigned char)name.data[at]))
        at++;
    size_t digits = at;
    while (at < name.len && isdigit((unsigned char)name.data[at]))
        at++;
    if (digits == WORD || at == digits || at == name.len || name.data[at] != ':')
        return name;
    return amount_trim((struct slice){name.data + at + 1, name.len - at - 1});
}

static struct texts
split_cell(struct rows *rows, struct slice cell, bool numbered)
{
    size_t n = 1;
    for (struct slice rest = cell; rest.data; n++)
        next_part(&rest, "<br>");
    struct texts texts = {arena_alloc(rows->arena, n * sizeof texts.items[0]), 0};
    if (!texts.items) {
        rows->no_memory = true;
        return texts;
    }
    for (struct slice rest = cell; rest.data;) {
        struct slice part = next_part(&rest, "<br>");
        part = numbered ? strip_number(part) : amount_trim(part);
        if (!is_null_cell(part))
            texts.items[texts.n++] = part;
    }
    return texts;
}

static void
add_row(struct rows *rows,
        const struct cells *titles,
        const struct cells *cells,
        int64_t line)
{
    if (rows->n == rows->cap) {
        size_t cap = rows->cap ? 2 * rows->cap : 64;
        struct table_row *items = arena_alloc(rows->arena, cap * sizeof items[0]);
        if (!items) {
            rows->no_memory = true;
            return;
        }
        if (rows->n)
            memcpy(items, rows->items, rows->n * sizeof items[0]);
        rows->items = items;
        rows->cap = cap;
    }
    struct slice operation = cell_of(titles, cells, "operation");
    rows->items[rows->n++] = (struct table_row){
        .line = line,
        .kernels = split_cell(rows, cell_of(titles, cells, "kernel name"), true),
        .args = split_cell(rows, cell_of(titles, cells, "args"), false),
        .operation = is_null_cell(operation) ? SLICE("") : operation,
    };
}

static void
read_rows(struct slice markdown, struct rows *rows)
{
    struct slice rest = markdown;
    int64_t number = 0;
    while (rest.data && !rows->no_memory) {
        struct slice line = next_line(&rest);
        struct slice ahead = rest;
        number++;
        if (!rest.data || !is_table_line(line) || !is_separator(next_line(&ahead)))
            continue;
        struct cells titles;
        struct cells cells;
        read_cells(line, &titles);
        rest = ahead;
        number++;
        bool wanted = has_title(&titles, "kernel name") && has_title(&titles, "args");
        while (rest.data && !rows->no_memory) {
            ahead = rest;
            line = next_line(&ahead);
            if (!is_table_line(line))
                break;
            rest = ahead;
            number++;
            read_cells(line, &cells);
            if (wanted)
                add_row(rows, &titles, &cells, number);
        }
    }
}

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
names(const struct table_row *row,
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
fill(struct shape_evidence *evidence, const struct table_row *row, struct arena *arena)
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
static const struct table_row *
match(const struct rows *rows,
      struct slice symbol,
      const struct evidence_candidate *candidates,
      size_t n,
      bool *ret_unique)
{
    const struct table_row *first = NULL;
    *ret_unique = true;
    for (size_t i = 0; i < rows->n; i++) {
        const struct table_row *row = &rows->items[i];
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
    struct rows rows = {.arena = arena};
    struct shape_evidence *found = arena_alloc(arena, n * sizeof found[0]);
    size_t n_found = 0;
    read_rows(markdown, &rows);
    if (!found || rows.no_memory)
        return err_no_memory(err, "the tables of a report");
    for (size_t i = 0; i < n; i++) {
        bool unique = true;
        if (candidates[i].has_shapes)
            continue;
        const struct table_row *row =
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
