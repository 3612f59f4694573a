/* SPDX-License-Identifier: Apache-2.0 */
/* External candidate tables. */
#include "external.h"

#include "amount.h"
#include "identity_set.h"

static const char *const lists[] = {"hot_kernels", "kernel_candidates", "skipped_kernels",
                                    "routable_kernels"};
static const char *const top_known[] = {"task_groups",     "reusable_native_kernel_ids",
                                        "framework",       "model_name",
                                        "target_platform", "source"};

enum { LISTS = 4, TOP_KNOWN = 6 };

/* Grows by doubling in the arena. */
struct vector {
    void *items;
    size_t n, cap;
};

struct reader {
    struct arena *arena;
    struct vector rows, notes;
    struct identity_set seen; /* of rows */
    bool no_memory;
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
        [EXTERNAL_TYPE_STRING] = JSON_STRING,
        [EXTERNAL_TYPE_NUMBER] = JSON_NUMBER,
        [EXTERNAL_TYPE_LIST] = JSON_ARRAY,
        [EXTERNAL_TYPE_BOOLEAN] = JSON_BOOLEAN,
    };
    struct external_value read = null_value(value);
    if (json_kind(value) == kinds[external_field_type(field)]) {
        read.state = EXTERNAL_VALUE;
        read.flag = json_is_true(value);
        read.text = json_string(value);
        if (field == EXTERNAL_KERNEL_ID)
            read.text = amount_trim(read.text);
    } else if (json_kind(value) != JSON_NULL) {
        *ret_keep = true;
        add_note(reader, kernel_id, "field_type", external_field_name(field));
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
    enum external_field field = external_field_of(name);
    bool keep = field == EXTERNAL_FIELDS;
    if (!keep)
        row->fields[field] =
            external_field_type(field) == EXTERNAL_TYPE_NUMBER
                ? read_number(reader, kernel_id, external_field_name(field), value, &keep)
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
    bool added = false;
    if (!identity_set_add(&reader->seen, identity, reader->arena, &added))
        reader->no_memory = true;
    else if (added)
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

/* Rows without an id of their own go by their name; a member may still say as little. */
struct nameless {
    bool null;
    bool empty;
};

static struct nameless
find_nameless(const struct reader *reader)
{
    const struct external_row *rows = reader->rows.items;
    struct nameless found = {false, false};
    for (size_t i = 0; i < reader->rows.n; i++) {
        const struct external_value *id = &rows[i].fields[EXTERNAL_KERNEL_ID];
        found.null |= id->state != EXTERNAL_VALUE;
        found.empty |= id->state == EXTERNAL_VALUE && id->text.len == 0;
    }
    return found;
}

static bool
names_row(struct reader *reader, const struct nameless *nameless, struct json_value id)
{
    const struct identity identity = {false, json_string(id)};
    if (!identity.text.data)
        return nameless->null && json_kind(id) == JSON_NULL;
    if (identity.text.len == 0)
        return nameless->empty;
    return identity_set_has(&reader->seen, identity);
}

static void
check_members(struct reader *reader,
              const struct nameless *nameless,
              struct json_value group)
{
    struct json_value ids = json_get(group, "kernel_ids");
    struct json_iter iter = json_iter(ids);
    struct slice key;
    struct json_value id;
    if (json_kind(ids) != JSON_ARRAY)
        return;
    while (json_next(&iter, &key, &id) && !reader->no_memory)
        if (!names_row(reader, nameless, id))
            add_note(reader, json_string(id), "group_member_unknown", NULL);
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
    const struct nameless nameless = find_nameless(reader);
    while (json_next(&iter, &key, &group))
        check_members(reader, &nameless, group);
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
