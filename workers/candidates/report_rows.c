/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a report. */
#include "report_rows.h"

#include "amount.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS_MAX = 64 }; /* of a table; further ones are left out */

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

static struct report_texts
split_cell(struct report_rows *rows, struct slice cell, bool numbered)
{
    size_t n = 1;
    for (struct slice rest = cell; rest.data; n++)
        next_part(&rest, "<br>");
    struct report_texts texts = {arena_alloc(rows->arena, n * sizeof texts.items[0]), 0};
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
add_row(struct report_rows *rows,
        const struct cells *titles,
        const struct cells *cells,
        int64_t line)
{
    if (rows->n == rows->cap) {
        size_t cap = rows->cap ? 2 * rows->cap : 64;
        struct report_row *items = arena_alloc(rows->arena, cap * sizeof items[0]);
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
    rows->items[rows->n++] = (struct report_row){
        .line = line,
        .kernels = split_cell(rows, cell_of(titles, cells, "kernel name"), true),
        .args = split_cell(rows, cell_of(titles, cells, "args"), false),
        .operation = is_null_cell(operation) ? SLICE("") : operation,
    };
}

/* The lines of a table behind its separator; `*rest` begins with them and is moved on. */
static void
read_table(const struct cells *titles,
           struct slice *rest,
           int64_t *number,
           struct report_rows *rows)
{
    bool wanted = has_title(titles, "kernel name") && has_title(titles, "args");
    while (rest->data && !rows->no_memory) {
        struct cells cells;
        struct slice ahead = *rest;
        struct slice line = next_line(&ahead);
        if (!is_table_line(line))
            return;
        *rest = ahead;
        ++*number;
        read_cells(line, &cells);
        if (wanted)
            add_row(rows, titles, &cells, *number);
    }
}

void
report_rows_read(struct slice markdown, struct report_rows *rows)
{
    struct slice rest = markdown;
    int64_t number = 0;
    while (rest.data && !rows->no_memory) {
        struct cells titles;
        struct slice line = next_line(&rest);
        struct slice ahead = rest;
        number++;
        if (!rest.data || !is_table_line(line) || !is_separator(next_line(&ahead)))
            continue;
        read_cells(line, &titles);
        rest = ahead;
        number++;
        read_table(&titles, &rest, &number, rows);
    }
}
