/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of an older splitter. */
#include "details.h"

#include "import.h"

/* The columns that are read. */
enum column {
    COLUMN_OUTPUT_PATH,
    COLUMN_NUM_GPU_EVENTS,
    COLUMN_GPU_DURATION,
    COLUMN_GPU_BUSY_DURATION,
    COLUMN_BUSY_RATIO,
    COLUMN_NUM_STEPS,
    COLUMNS,
};

static const char *const column_names[COLUMNS] = {
    "output_path",       "num_gpu_events", "gpu_duration",
    "gpu_busy_duration", "busy_ratio",     "num_steps",
};

/* Cells of one row; null: no such column, or the row ends before it. */
struct cells {
    struct slice items[COLUMNS];
};

static void
take_row(const struct cells *cells, struct details_row *row)
{
    struct import_row given = {
        .num_gpu_events = cells->items[COLUMN_NUM_GPU_EVENTS],
        .gpu_duration = cells->items[COLUMN_GPU_DURATION],
        .gpu_busy_duration = cells->items[COLUMN_GPU_BUSY_DURATION],
        .busy_ratio = cells->items[COLUMN_BUSY_RATIO],
    };
    struct import_numbers numbers;
    import_read_row(&given, &numbers);
    *row = (struct details_row){
        .output_path = amount_trim(cells->items[COLUMN_OUTPUT_PATH]),
        .numbers = import_chunk_numbers(&numbers),
    };
    row->numbers.num_steps = amount_of_text(cells->items[COLUMN_NUM_STEPS]);
}

/* --- CSV ---------------------------------------------------------------------------- */

struct csv {
    struct slice rest;
    struct arena *arena;
    bool end_of_row; /* the cell before was the last of its row */
};

static char
byte_at(const struct csv *csv, size_t at)
{
    if (at >= csv->rest.len)
        return '\n';
    return csv->rest.data[at];
}

/* Steps over what ends a cell at `at`. */
static void
end_cell(struct csv *csv, size_t at)
{
    bool comma = at < csv->rest.len && csv->rest.data[at] == ',';
    size_t skip = at < csv->rest.len;
    if (byte_at(csv, at) == '\r' && byte_at(csv, at + 1) == '\n' &&
        at + 1 < csv->rest.len)
        skip = 2;
    csv->end_of_row = !comma;
    csv->rest = (struct slice){csv->rest.data + at + skip, csv->rest.len - at - skip};
}

/* A cell in quotation marks; doubled ones inside mean one. */
static enum err_kind
quoted_cell(struct csv *csv, struct slice *ret_cell, struct err *err)
{
    char *text = arena_alloc(csv->arena, csv->rest.len);
    size_t n = 0;
    size_t at = 1;
    if (!text)
        return err_no_memory(err, "a cell");
    for (;; at++) {
        if (at >= csv->rest.len)
            return err_set(err, ERR_RECORD, "details_malformed",
                           "a quotation of the table does not end");
        if (csv->rest.data[at] != '"')
            text[n++] = csv->rest.data[at];
        else if (byte_at(csv, at + 1) == '"' && at + 1 < csv->rest.len)
            text[n++] = csv->rest.data[at++];
        else
            break;
    }
    *ret_cell = (struct slice){text, n};
    at++;
    while (byte_at(csv, at) != ',' && byte_at(csv, at) != '\n' &&
           byte_at(csv, at) != '\r')
        at++;
    end_cell(csv, at);
    return ERR_OK;
}

static enum err_kind
next_cell(struct csv *csv, struct slice *ret_cell, struct err *err)
{
    if (byte_at(csv, 0) == '"')
        return quoted_cell(csv, ret_cell, err);
    size_t at = 0;
    while (byte_at(csv, at) != ',' && byte_at(csv, at) != '\n' &&
           byte_at(csv, at) != '\r')
        at++;
    *ret_cell = (struct slice){csv->rest.data, at};
    end_cell(csv, at);
    return ERR_OK;
}

static enum column
column_of(struct slice title)
{
    title = amount_trim(title);
    for (int i = 0; i < COLUMNS; i++)
        if (slice_is(title, column_names[i]))
            return (enum column)i;
    return COLUMNS;
}

static enum err_kind
read_header(struct csv *csv, enum column *columns, size_t *ret_n, struct err *err)
{
    bool seen[COLUMNS + 1] = {false};
    size_t n = 0;
    do {
        struct slice title = {0};
        if (next_cell(csv, &title, err))
            return err->kind;
        if (n == DETAILS_MAX_COLUMNS)
            return err_set(err, ERR_RECORD, "details_malformed",
                           "the table has more than %d columns", DETAILS_MAX_COLUMNS);
        columns[n] = column_of(title);
        seen[columns[n++]] = true;
    } while (!csv->end_of_row);
    *ret_n = n;
    if (seen[COLUMN_OUTPUT_PATH] && seen[COLUMN_NUM_GPU_EVENTS])
        return ERR_OK;
    return err_set(err, ERR_RECORD, "details_malformed",
                   "the header line has no columns output_path and num_gpu_events; this "
                   "is no execution_details.csv");
}

static enum err_kind
read_row(struct csv *csv,
         const enum column *columns,
         size_t n_columns,
         struct cells *cells,
         bool *ret_blank,
         struct err *err)
{
    size_t n = 0;
    *cells = (struct cells){0};
    *ret_blank = true;
    do {
        struct slice cell = {0};
        if (next_cell(csv, &cell, err))
            return err->kind;
        *ret_blank &= cell.len == 0;
        if (n < n_columns && columns[n] != COLUMNS)
            cells->items[columns[n]] = cell;
        n++;
    } while (!csv->end_of_row);
    return ERR_OK;
}

static size_t
count_lines(struct slice bytes)
{
    size_t n = 1;
    for (size_t i = 0; i < bytes.len; i++)
        n += bytes.data[i] == '\n' || bytes.data[i] == '\r';
    return n;
}

enum err_kind
details_read_csv(struct slice bytes,
                 struct arena *arena,
                 struct details_row **ret_rows,
                 size_t *ret_n,
                 struct err *err)
{
    enum column columns[DETAILS_MAX_COLUMNS];
    struct csv csv = {.rest = bytes, .arena = arena};
    size_t n_columns = 0;
    size_t most = count_lines(bytes);
    size_t n = 0;
    if (bytes.len >= 3 && memcmp(bytes.data, "\xEF\xBB\xBF", 3) == 0)
        csv.rest = (struct slice){bytes.data + 3, bytes.len - 3};
    if (read_header(&csv, columns, &n_columns, err))
        return err->kind;
    if (most > DETAILS_MAX_ROWS)
        return err_set(err, ERR_RECORD, "details_malformed",
                       "the table has more than %d rows", DETAILS_MAX_ROWS);
    struct details_row *rows = arena_alloc(arena, most * sizeof rows[0]);
    if (!rows)
        return err_no_memory(err, "the rows of a table");
    while (csv.rest.len) {
        struct cells cells;
        bool blank = true;
        if (read_row(&csv, columns, n_columns, &cells, &blank, err))
            return err->kind;
        if (!blank)
            take_row(&cells, &rows[n++]);
    }
    *ret_rows = rows;
    *ret_n = n;
    return ERR_OK;
}

/* --- JSON --------------------------------------------------------------------------- */

/* A number's own text is its cell: what it looks like decides whether it is coarse. */
static struct slice
cell_of(struct json_value value)
{
    struct slice number = json_number(value);
    return number.data ? number : json_string(value);
}

enum err_kind
details_read_json(struct json_value array,
                  struct arena *arena,
                  struct details_row **ret_rows,
                  size_t *ret_n,
                  struct err *err)
{
    size_t n = json_count(array);
    struct details_row *rows = arena_alloc(arena, n * sizeof rows[0]);
    struct json_iter iter = json_iter(array);
    struct slice key;
    struct json_value item;
    if (!rows)
        return err_no_memory(err, "the rows of a table");
    for (size_t i = 0; i < n && json_next(&iter, &key, &item); i++) {
        struct json_value steps = json_get(item, "steps");
        struct cells cells;
        if (json_kind(item) != JSON_OBJECT)
            return err_set(err, ERR_RECORD, "details_malformed",
                           "entry %zu is a JSON %s; this is no execution_details.json", i,
                           json_kind_name(item));
        for (int k = 0; k < COLUMNS; k++)
            cells.items[k] = cell_of(json_get(item, column_names[k]));
        take_row(&cells, &rows[i]);
        if (json_kind(steps) == JSON_ARRAY)
            rows[i].numbers.num_steps = AMOUNT((double)json_count(steps));
    }
    *ret_rows = rows;
    *ret_n = n;
    return ERR_OK;
}

bool
details_chunks(const struct details_row *rows,
               size_t n,
               struct arena *arena,
               struct gate_split *ret_split)
{
    struct gate_chunk *chunks = arena_alloc(arena, n * sizeof chunks[0]);
    size_t n_chunks = 0;
    if (!chunks)
        return false;
    for (size_t i = 0; i < n; i++) {
        enum gate_mode mode = import_family_of(rows[i].output_path, NULL);
        if (mode != MODES)
            chunks[n_chunks++] = (struct gate_chunk){
                .kind = slice_of(mode_names[mode]),
                .file = rows[i].output_path,
                .has_numbers = true,
                .numbers = rows[i].numbers,
            };
    }
    *ret_split = (struct gate_split){
        .status = STATUS_UNKNOWN, .chunks = chunks, .n_chunks = n_chunks};
    return true;
}
