/* SPDX-License-Identifier: Apache-2.0 */
/* External candidate tables. */
#include "external.h"

#include "amount.h"
#include "json_out.h"

enum type { TYPE_STRING, TYPE_NUMBER, TYPE_LIST, TYPE_BOOLEAN };

static const struct known {
    const char *name;
    enum type type;
} known[EXTERNAL_FIELDS] = {
    [EXTERNAL_KERNEL_ID] = {"kernel_id", TYPE_STRING},
    [EXTERNAL_NAME] = {"name", TYPE_STRING},
    [EXTERNAL_DEVICE_KERNEL_NAME] = {"device_kernel_name", TYPE_STRING},
    [EXTERNAL_OPERATION] = {"operation", TYPE_STRING},
    [EXTERNAL_SOURCE_FILE] = {"source_file", TYPE_STRING},
    [EXTERNAL_SOURCE_RESOLUTION_METHOD] = {"source_resolution_method", TYPE_STRING},
    [EXTERNAL_SOURCE_TYPE] = {"source_type", TYPE_STRING},
    [EXTERNAL_LIBRARY] = {"library", TYPE_STRING},
    [EXTERNAL_KERNEL_CATEGORY] = {"kernel_category", TYPE_STRING},
    [EXTERNAL_SHAPE_PROVENANCE] = {"shape_provenance", TYPE_STRING},
    [EXTERNAL_SKIP_REASON] = {"skip_reason", TYPE_STRING},
    [EXTERNAL_GPU_PCT_BASIS] = {"gpu_pct_basis", TYPE_STRING},
    [EXTERNAL_PATCH_STRATEGY] = {"patch_strategy", TYPE_STRING},
    [EXTERNAL_CANDIDATE_SOURCE] = {"candidate_source", TYPE_STRING},
    [EXTERNAL_GPU_PCT] = {"gpu_pct", TYPE_NUMBER},
    [EXTERNAL_DURATION_US] = {"duration_us", TYPE_NUMBER},
    [EXTERNAL_CALL_COUNT] = {"call_count", TYPE_NUMBER},
    [EXTERNAL_PERCENT_OF_TOTAL] = {"percent_of_total", TYPE_NUMBER},
    [EXTERNAL_KERNEL_TIME_PCT] = {"kernel_time_pct", TYPE_NUMBER},
    [EXTERNAL_EFFICIENCY_PERCENT] = {"efficiency_percent", TYPE_NUMBER},
    [EXTERNAL_PLAYBOOK_AGGREGATE_GPU_PCT] = {"vendor_playbook_aggregate_gpu_pct",
                                             TYPE_NUMBER},
    [EXTERNAL_PLAYBOOK_MIN_GPU_PCT_FLOOR] = {"vendor_playbook_min_gpu_pct_floor",
                                             TYPE_NUMBER},
    [EXTERNAL_SHAPES] = {"shapes", TYPE_LIST},
    [EXTERNAL_INPUT_SHAPES] = {"input_shapes", TYPE_LIST},
    [EXTERNAL_INPUT_DTYPES] = {"input_dtypes", TYPE_LIST},
    [EXTERNAL_BENCHMARK_FILES] = {"benchmark_files", TYPE_LIST},
    [EXTERNAL_RECOMMENDED_BACKENDS] = {"recommended_backends", TYPE_LIST},
    [EXTERNAL_REUSABLE_NATIVE_KERNEL] = {"reusable_native_kernel", TYPE_BOOLEAN},
    [EXTERNAL_SHAPE_DISPATCHABLE] = {"shape_dispatchable", TYPE_BOOLEAN},
    [EXTERNAL_IS_MULTIGPU] = {"is_multigpu", TYPE_BOOLEAN},
    [EXTERNAL_RUNTIME_GENERATED_KERNEL] = {"runtime_generated_kernel", TYPE_BOOLEAN},
};

static const char *const lists[] = {"hot_kernels", "kernel_candidates", "skipped_kernels",
                                    "routable_kernels"};
static const char *const top_known[] = {"task_groups",     "reusable_native_kernel_ids",
                                        "framework",       "model_name",
                                        "target_platform", "source"};

enum { LISTS = 4, TOP_KNOWN = 6, FIRST_SLOTS = 64 };

/* Grows by doubling in the arena. */
struct vector {
    void *items;
    size_t n, cap;
};

struct reader {
    struct arena *arena;
    struct vector rows, notes;
    uint32_t *slots; /* positions + 1 of rows by identity; open addressing */
    size_t n_slots;
    struct vector identities; /* struct identity */
    bool no_memory;
};

/* What tells rows apart: the trimmed kernel_id, else the name. */
struct identity {
    bool is_name;
    struct slice text;
};

static void *
push(struct reader *reader, struct vector *vector, size_t size)
{
    if (vector->n == vector->cap) {
        size_t cap = vector->cap ? 2 * vector->cap : 16;
        void *items = arena_calloc(reader->arena, cap, size);
        if (!items) {
            reader->no_memory = true;
            return NULL;
        }
        if (vector->n)
            memcpy(items, vector->items, vector->n * size);
        vector->items = items;
        vector->cap = cap;
    }
    return (char *)vector->items + size * vector->n++;
}

const char *
external_field_name(enum external_field field)
{
    return known[field].name;
}

static enum external_field
field_of(struct slice name)
{
    for (int i = 0; i < EXTERNAL_FIELDS; i++)
        if (slice_is(name, known[i].name))
            return (enum external_field)i;
    return EXTERNAL_FIELDS;
}

static void
add_note(struct reader *reader,
         struct slice kernel_id,
         const char *code,
         const char *field)
{
    struct external_note *note = push(reader, &reader->notes, sizeof *note);
    if (!note)
        return;
    note->kernel_id = kernel_id.data ? kernel_id : SLICE("");
    note->code =
        field ? arena_printf(reader->arena, "%s:%s", code, field) : slice_of(code);
    reader->no_memory |= note->code.data == NULL;
}

/* --- rows that were seen ------------------------------------------------------------ */

static size_t
hash_of(const struct identity *identity)
{
    uint64_t hash = UINT64_C(14695981039346656037) + identity->is_name;
    for (size_t i = 0; i < identity->text.len; i++)
        hash = (hash ^ (unsigned char)identity->text.data[i]) * UINT64_C(1099511628211);
    return (size_t)(hash ^ (hash >> 32));
}

static uint32_t *
slot_of(struct reader *reader, const struct identity *identity)
{
    const struct identity *seen = reader->identities.items;
    size_t at = hash_of(identity) & (reader->n_slots - 1);
    for (; reader->slots[at]; at = (at + 1) & (reader->n_slots - 1)) {
        const struct identity *other = &seen[reader->slots[at] - 1];
        if (other->is_name == identity->is_name &&
            slice_equal(other->text, identity->text))
            break;
    }
    return &reader->slots[at];
}

static bool
grow_slots(struct reader *reader)
{
    const struct identity *seen = reader->identities.items;
    reader->n_slots = reader->n_slots ? 2 * reader->n_slots : FIRST_SLOTS;
    reader->slots = arena_calloc(reader->arena, reader->n_slots, sizeof reader->slots[0]);
    if (!reader->slots)
        return false;
    for (size_t i = 0; i < reader->identities.n; i++)
        *slot_of(reader, &seen[i]) = (uint32_t)i + 1;
    return true;
}

/* True for an identity that no row had before. */
static bool
is_new(struct reader *reader, struct identity identity)
{
    if (2 * (reader->identities.n + 1) > reader->n_slots && !grow_slots(reader)) {
        reader->no_memory = true;
        return false;
    }
    uint32_t *slot = slot_of(reader, &identity);
    if (*slot)
        return false;
    struct identity *added = push(reader, &reader->identities, sizeof *added);
    if (!added)
        return false;
    *added = identity;
    *slot = (uint32_t)reader->identities.n;
    return true;
}

/* --- a row -------------------------------------------------------------------------- */

static struct external_value
null_value(struct json_value value)
{
    return (struct external_value){.state = EXTERNAL_NULL, .value = value};
}

static bool
is_finite(struct json_value value)
{
    double ignored;
    return json_double(value, &ignored);
}

/* Reads a number; `*ret_keep`: the original goes to extra. */
static struct external_value
read_number(struct reader *reader,
            struct slice kernel_id,
            const char *name,
            struct json_value value,
            bool *ret_keep)
{
    struct external_value read = null_value(value);
    struct amount of_text = amount_of_text(json_string(value));
    if (of_text.known) {
        read.state = EXTERNAL_VALUE;
        read.number = of_text.value;
        *ret_keep = true;
        add_note(reader, kernel_id, "number_as_string", name);
    } else if (json_kind(value) == JSON_NUMBER && is_finite(value)) {
        read.state = EXTERNAL_VALUE;
        json_double(value, &read.number);
    } else if (json_kind(value) == JSON_NUMBER) {
        add_note(reader, kernel_id, "non_finite", name);
    } else if (json_kind(value) != JSON_NULL) {
        *ret_keep = true;
        add_note(reader, kernel_id, "field_type", name);
    }
    return read;
}

static struct external_value
read_other(struct reader *reader,
           struct slice kernel_id,
           enum external_field field,
           struct json_value value,
           bool *ret_keep)
{
    static const enum json_kind kinds[] = {
        [TYPE_STRING] = JSON_STRING,
        [TYPE_NUMBER] = JSON_NUMBER,
        [TYPE_LIST] = JSON_ARRAY,
        [TYPE_BOOLEAN] = JSON_BOOLEAN,
    };
    struct external_value read = null_value(value);
    if (json_kind(value) == kinds[known[field].type]) {
        read.state = EXTERNAL_VALUE;
        read.flag = json_is_true(value);
        read.text = json_string(value);
        if (field == EXTERNAL_KERNEL_ID)
            read.text = amount_trim(read.text);
    } else if (json_kind(value) != JSON_NULL) {
        *ret_keep = true;
        add_note(reader, kernel_id, "field_type", known[field].name);
    }
    return read;
}

static void
read_field(struct reader *reader,
           struct slice kernel_id,
           struct slice name,
           struct json_value value,
           struct external_row *row)
{
    enum external_field field = field_of(name);
    bool keep = field == EXTERNAL_FIELDS;
    if (!keep)
        row->fields[field] =
            known[field].type == TYPE_NUMBER
                ? read_number(reader, kernel_id, known[field].name, value, &keep)
                : read_other(reader, kernel_id, field, value, &keep);
    if (keep)
        row->extra[row->n_extra++] = (struct external_extra){name, value};
}

static void
read_row(struct reader *reader, struct slice kernel_id, struct json_value object)
{
    struct external_row *row = push(reader, &reader->rows, sizeof *row);
    if (!row)
        return;
    *row = (struct external_row){0};
    row->extra = arena_alloc(reader->arena, json_count(object) * sizeof row->extra[0]);
    if (!row->extra) {
        reader->no_memory = true;
        return;
    }
    struct json_iter iter = json_iter(object);
    struct slice name;
    struct json_value value;
    while (json_next(&iter, &name, &value))
        read_field(reader, kernel_id, name, value, row);
    struct external_value *reusable = &row->fields[EXTERNAL_REUSABLE_NATIVE_KERNEL];
    reusable->flag = reusable->state == EXTERNAL_VALUE && reusable->flag;
    reusable->state = EXTERNAL_VALUE;
    struct external_value *basis = &row->fields[EXTERNAL_GPU_PCT_BASIS];
    if (basis->state == EXTERNAL_ABSENT)
        *basis =
            (struct external_value){.state = EXTERNAL_VALUE, .text = SLICE("reported")};
}

static void
read_entry(struct reader *reader, struct json_value entry)
{
    if (json_kind(entry) != JSON_OBJECT) {
        add_note(reader, SLICE(""), "row_not_object", NULL);
        return;
    }
    struct slice id = amount_trim(json_string(json_get(entry, "kernel_id")));
    struct slice name = json_string(json_get(entry, "name"));
    if (id.len == 0 && amount_trim(name).len == 0) {
        add_note(reader, SLICE(""), "row_without_identity", NULL);
        return;
    }
    struct identity identity = {id.len == 0, id.len ? id : name};
    if (is_new(reader, identity))
        read_row(reader, id, entry);
}

static enum err_kind
read_rows(struct reader *reader, struct json_value root, struct err *err)
{
    for (int i = 0; i < LISTS; i++) {
        struct json_value list = json_get(root, lists[i]);
        struct json_iter iter = json_iter(list);
        struct slice key;
        struct json_value entry;
        if (json_kind(list) != JSON_ARRAY)
            continue;
        while (json_next(&iter, &key, &entry)) {
            read_entry(reader, entry);
            if (reader->no_memory)
                return err_no_memory(err, "an external table");
            if (reader->rows.n > EXTERNAL_MAX_ROWS)
                return err_set(err, ERR_RECORD, "candidates_over_limit",
                               "more than %d rows; cut the table down",
                               EXTERNAL_MAX_ROWS);
        }
    }
    return ERR_OK;
}

/* --- the rest of the document ------------------------------------------------------- */

static bool
names_row(const struct reader *reader, struct json_value id)
{
    const struct external_row *rows = reader->rows.items;
    struct slice text = json_string(id);
    for (size_t i = 0; i < reader->rows.n; i++) {
        const struct external_value *own = &rows[i].fields[EXTERNAL_KERNEL_ID];
        if (text.data ? own->state == EXTERNAL_VALUE && slice_equal(own->text, text)
                      : own->state != EXTERNAL_VALUE && json_kind(id) == JSON_NULL)
            return true;
    }
    return false;
}

static void
check_members(struct reader *reader, struct json_value group)
{
    struct json_value ids = json_get(group, "kernel_ids");
    struct json_iter iter = json_iter(ids);
    struct slice key;
    struct json_value id;
    if (json_kind(ids) != JSON_ARRAY)
        return;
    while (json_next(&iter, &key, &id) && !reader->no_memory) {
        struct slice text = json_string(id);
        struct identity identity = {false, text};
        bool found = text.data && reader->n_slots ? *slot_of(reader, &identity) != 0
                                                  : names_row(reader, id);
        if (!found)
            add_note(reader, text, "group_member_unknown", NULL);
    }
}

static void
check_groups(struct reader *reader, struct json_value root)
{
    struct json_value groups = json_get(root, "task_groups");
    struct json_iter iter = json_iter(groups);
    struct slice key;
    struct json_value group;
    if (json_kind(groups) != JSON_ARRAY)
        return;
    while (json_next(&iter, &key, &group))
        check_members(reader, group);
}

static bool
is_top_known(struct slice name)
{
    for (int i = 0; i < LISTS; i++)
        if (slice_is(name, lists[i]))
            return true;
    for (int i = 0; i < TOP_KNOWN; i++)
        if (slice_is(name, top_known[i]))
            return true;
    return false;
}

static void
keep_top(struct reader *reader, struct json_value root, struct external_table *table)
{
    table->top_extra =
        arena_alloc(reader->arena, json_count(root) * sizeof table->top_extra[0]);
    if (!table->top_extra) {
        reader->no_memory = true;
        return;
    }
    struct json_iter iter = json_iter(root);
    struct slice name;
    struct json_value value;
    while (json_next(&iter, &name, &value))
        if (!is_top_known(name))
            table->top_extra[table->n_top_extra++] = (struct external_extra){name, value};
}

static enum err_kind
open_document(struct slice bytes, struct arena *arena, struct json *doc, struct err *err)
{
    struct err cause = {0};
    if (bytes.len > EXTERNAL_MAX_BYTES)
        return err_set(err, ERR_RECORD, "candidates_over_limit",
                       "%zu bytes, at most %d; cut the table down", bytes.len,
                       EXTERNAL_MAX_BYTES);
    if (json_read(doc, bytes, arena, &cause)) {
        bool too_large = strcmp(cause.code, "record_too_large") == 0;
        return err_set(err, ERR_RECORD,
                       too_large ? "candidates_over_limit" : "candidates_malformed",
                       "the table can't be read: %s", cause.msg);
    }
    struct json_value root = json_root(doc);
    if (json_depth(root) > EXTERNAL_MAX_DEPTH)
        return err_set(err, ERR_RECORD, "candidates_over_limit",
                       "nested %u deep, at most %d", json_depth(root),
                       EXTERNAL_MAX_DEPTH);
    for (int i = 0; i < LISTS; i++)
        if (json_kind(json_get(root, lists[i])) == JSON_ARRAY)
            return ERR_OK;
    return err_set(err, ERR_RECORD, "candidates_malformed",
                   "no JSON object with a list hot_kernels, kernel_candidates, "
                   "skipped_kernels or routable_kernels");
}

enum err_kind
candidates_read(struct slice bytes,
                struct arena *arena,
                struct external_table *ret_table,
                struct err *err)
{
    struct reader reader = {.arena = arena};
    *ret_table = (struct external_table){0};
    if (open_document(bytes, arena, &ret_table->doc, err))
        return err->kind;
    struct json_value root = json_root(&ret_table->doc);
    if (read_rows(&reader, root, err))
        return err->kind;
    check_groups(&reader, root);
    keep_top(&reader, root, ret_table);
    if (reader.no_memory)
        return err_no_memory(err, "an external table");
    ret_table->rows = reader.rows.items;
    ret_table->n_rows = reader.rows.n;
    ret_table->notes = reader.notes.items;
    ret_table->n_notes = reader.notes.n;
    return ERR_OK;
}

/* --- as JSON ------------------------------------------------------------------------ */

static void
write_extra(struct buf *out, const struct external_extra *extra, size_t n)
{
    buf_add_byte(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_str(out, ", ");
        json_write_string(out, extra[i].name);
        buf_add_str(out, ": ");
        json_out_value(out, extra[i].value);
    }
    buf_add_byte(out, '}');
}

static void
write_value(struct buf *out,
            enum external_field field,
            const struct external_value *value)
{
    if (value->state == EXTERNAL_NULL)
        buf_add_str(out, "null");
    else if (known[field].type == TYPE_STRING)
        json_write_string(out, value->text);
    else if (known[field].type == TYPE_BOOLEAN)
        buf_add_str(out, value->flag ? "true" : "false");
    else if (json_kind(value->value) == JSON_STRING)
        json_out_number(out, value->number);
    else
        json_out_value(out, value->value);
}

static void
write_row(struct buf *out, const struct external_row *row)
{
    bool first = true;
    buf_add_str(out, "{\"row\": {");
    for (int i = 0; i < EXTERNAL_FIELDS; i++) {
        if (row->fields[i].state == EXTERNAL_ABSENT)
            continue;
        buf_addf(out, "%s\"%s\": ", first ? "" : ", ", known[i].name);
        write_value(out, (enum external_field)i, &row->fields[i]);
        first = false;
    }
    buf_add_str(out, "}, \"extra\": ");
    write_extra(out, row->extra, row->n_extra);
    buf_add_byte(out, '}');
}

void
candidates_write(const struct external_table *table, struct buf *out)
{
    buf_add_str(out, "{\"rows\": [");
    for (size_t i = 0; i < table->n_rows; i++) {
        buf_add_str(out, i ? ", " : "");
        write_row(out, &table->rows[i]);
    }
    buf_add_str(out, "], \"notes\": [");
    for (size_t i = 0; i < table->n_notes; i++) {
        buf_add_str(out, i ? ", {\"kernel_id\": " : "{\"kernel_id\": ");
        json_write_string(out, table->notes[i].kernel_id);
        buf_add_str(out, ", \"code\": ");
        json_write_string(out, table->notes[i].code);
        buf_add_byte(out, '}');
    }
    buf_add_str(out, "], \"top_extra\": ");
    write_extra(out, table->top_extra, table->n_top_extra);
    buf_add_byte(out, '}');
}
