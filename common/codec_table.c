/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a field table says what its schema says, and which row is which field. */
#include "codec_program.h"

struct check {
    struct codec *codec;
    struct path path;
    struct err *err;
};

#define disagree(check, ...)                                                             \
    disagree_at(check, arena_printf(&(check)->codec->memory, __VA_ARGS__))

static enum err_kind
disagree_at(struct check *check, struct slice what)
{
    return err_set(check->err, ERR_FATAL, "schema_table",
                   "table of %s, field %s: %.*s; make table and schema agree",
                   check->codec->type->name,
                   check->path.len ? check->path.text : "(root)", SLICE_ARG(what));
}

const struct layout *
codec_layout(const struct codec *codec,
             const struct record_type *type,
             const struct schema_node *node)
{
    const struct layout *layout = codec->layouts;
    while (layout && (layout->type != type || layout->node != node))
        layout = layout->next;
    return layout;
}

static enum schema_type
schema_type_of(enum field_type type)
{
    static const enum schema_type types[] = {
        [FIELD_NULL] = SCHEMA_NULL,     [FIELD_BOOLEAN] = SCHEMA_BOOLEAN,
        [FIELD_INT] = SCHEMA_INT,       [FIELD_LONG] = SCHEMA_LONG,
        [FIELD_FLOAT] = SCHEMA_FLOAT,   [FIELD_DOUBLE] = SCHEMA_DOUBLE,
        [FIELD_STRING] = SCHEMA_STRING, [FIELD_BYTES] = SCHEMA_BYTES,
        [FIELD_FIXED] = SCHEMA_FIXED,   [FIELD_ENUM] = SCHEMA_ENUM,
        [FIELD_RECORD] = SCHEMA_RECORD, [FIELD_ARRAY] = SCHEMA_ARRAY,
        [FIELD_MAP] = SCHEMA_MAP,       [FIELD_UNION] = SCHEMA_UNION,
    };
    return types[type];
}

/* Bytes of the member that a row describes; of a union, those of its tag. */
static size_t
member_size(const struct field *row)
{
    static const size_t sizes[] = {
        [FIELD_NULL] = 0,
        [FIELD_BOOLEAN] = sizeof(bool),
        [FIELD_INT] = sizeof(int32_t),
        [FIELD_LONG] = sizeof(int64_t),
        [FIELD_FLOAT] = sizeof(float),
        [FIELD_DOUBLE] = sizeof(double),
        [FIELD_STRING] = sizeof(struct slice),
        [FIELD_BYTES] = sizeof(struct slice),
        [FIELD_FIXED] = 0,
        [FIELD_ENUM] = sizeof(int32_t),
        [FIELD_RECORD] = 0,
        [FIELD_ARRAY] = sizeof(struct list),
        [FIELD_MAP] = sizeof(struct list),
        [FIELD_UNION] = sizeof(int32_t),
    };
    if (row->type == FIELD_FIXED)
        return row->size;
    return row->type == FIELD_RECORD ? row->record->size : sizes[row->type];
}

static enum err_kind check_row(struct check *check,
                               const struct field *row,
                               const struct schema_node *node,
                               size_t size);
static enum err_kind check_record(struct check *check,
                                  const struct record_type *type,
                                  const struct schema_node *node);

static enum err_kind
check_item(struct check *check, const struct field *row, const struct schema_node *node)
{
    size_t key = row->type == FIELD_MAP ? sizeof(struct slice) : 0;
    if (!row->of || row->size == 0 || row->size < key)
        return disagree(check, "an array or map needs the row and the size of its item");
    if (row->of->offset < key)
        return disagree(check, "the value of a map's item lies on its key");
    size_t len = path_push(&check->path, "", "[]");
    enum err_kind kind = check_row(check, row->of, node->items, row->size);
    path_pop(&check->path, len);
    return kind;
}

static enum err_kind
check_branch(struct check *check,
             const struct field *row,
             const struct schema_node *node,
             size_t i,
             size_t size)
{
    const struct field *branch = &row->of[i];
    for (size_t k = 0; k < i; k++)
        if (row->of[k].tag == branch->tag)
            return disagree(check, "two branches have the tag %d", (int)branch->tag);
    if (branch->nullable || branch->type == FIELD_UNION)
        return disagree(check, "branch %zu is a union", i);
    if (branch->type != FIELD_NULL && branch->offset < sizeof(int32_t))
        return disagree(check, "branch %zu lies on the tag", i);
    return check_row(check, branch, node->branches[i], size);
}

static enum err_kind
check_union(struct check *check,
            const struct field *row,
            const struct schema_node *node,
            size_t size)
{
    if (!row->of || row->n_of != node->n_branches)
        return disagree(check, "the table has %zu branches, the schema %zu", row->n_of,
                        node->n_branches);
    for (size_t i = 0; i < row->n_of; i++)
        if (check_branch(check, row, node, i, size - row->offset))
            return ERR_FATAL;
    return ERR_OK;
}

/* The type itself, whatever stands around it. */
static enum err_kind
check_type(struct check *check,
           const struct field *row,
           const struct schema_node *node,
           size_t size)
{
    if (node->type != schema_type_of(row->type))
        return disagree(check, "the table has %s, the schema %s",
                        schema_type_name(schema_type_of(row->type)),
                        schema_type_name(node->type));
    if (row->type == FIELD_RECORD && !row->record)
        return disagree(check, "the row of a record names no table");
    size_t member = member_size(row);
    if (row->offset > size || member > size - row->offset)
        return disagree(check, "the member ends after its struct");
    if (row->type == FIELD_FIXED && row->size != node->fixed_size)
        return disagree(check, "the table has %zu bytes, the schema %zu", row->size,
                        node->fixed_size);
    if (row->type == FIELD_RECORD)
        return check_record(check, row->record, node);
    if (row->type == FIELD_ARRAY || row->type == FIELD_MAP)
        return check_item(check, row, node);
    return row->type == FIELD_UNION ? check_union(check, row, node, size) : ERR_OK;
}

static bool
is_pair_with_null(const struct schema_node *node)
{
    return node->type == SCHEMA_UNION && node->n_branches == 2 &&
           (node->branches[0]->type == SCHEMA_NULL ||
            node->branches[1]->type == SCHEMA_NULL);
}

static enum err_kind
check_row(struct check *check,
          const struct field *row,
          const struct schema_node *node,
          size_t size)
{
    if ((unsigned)row->type > FIELD_UNION)
        return disagree(check, "the row has no type");
    if (!row->nullable)
        return check_type(check, row, node, size);
    if (row->type == FIELD_UNION || row->type == FIELD_NULL)
        return disagree(check, "a nullable union is written as a branch of it");
    if (!is_pair_with_null(node))
        return disagree(check, "the table is nullable, the schema is not");
    if (!field_is_slice(row) && row->present >= size)
        return disagree(check, "the bool beside it lies outside of its struct");
    return check_type(check, row, other_branch(node), size);
}

static const struct field *
find_row(const struct record_type *type, const char *name)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].name && strcmp(type->fields[i].name, name) == 0)
            return &type->fields[i];
    return NULL;
}

static const struct schema_field *
find_field(const struct schema_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_fields; i++)
        if (strcmp(node->fields[i].name, name) == 0)
            return &node->fields[i];
    return NULL;
}

static struct layout *
layout_add(struct check *check,
           const struct record_type *type,
           const struct schema_node *node)
{
    struct arena *memory = &check->codec->memory;
    struct layout *layout = arena_calloc(memory, 1, sizeof *layout);
    if (!layout)
        return NULL;
    layout->type = type;
    layout->node = node;
    layout->rows = arena_calloc(memory, node->n_fields, sizeof *layout->rows);
    layout->fields = arena_calloc(memory, type->n_fields, sizeof *layout->fields);
    if (!layout->rows || !layout->fields)
        return NULL;
    layout->next = check->codec->layouts;
    check->codec->layouts = layout;
    return layout;
}

static enum err_kind
match_rows(struct check *check, struct layout *layout)
{
    const struct record_type *type = layout->type;
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *row = &type->fields[i];
        if (!row->name)
            return disagree(check, "row %zu of %s has no name", i, type->name);
        layout->fields[i] = find_field(layout->node, row->name);
        if (!layout->fields[i])
            return disagree(check, "%s has no field %s", type->name, row->name);
        if (find_row(type, row->name) != row)
            return disagree(check, "%s has two rows %s", type->name, row->name);
    }
    for (size_t i = 0; i < layout->node->n_fields; i++) {
        layout->rows[i] = find_row(type, layout->node->fields[i].name);
        if (!layout->rows[i])
            return disagree(check, "%s has no row for the field %s", type->name,
                            layout->node->fields[i].name);
    }
    return ERR_OK;
}

static enum err_kind
check_rows(struct check *check, const struct layout *layout)
{
    for (size_t i = 0; i < layout->node->n_fields; i++) {
        const struct schema_field *field = &layout->node->fields[i];
        size_t len = path_push(&check->path, ".", field->name);
        enum err_kind kind =
            check_row(check, layout->rows[i], field->type, layout->type->size);
        path_pop(&check->path, len);
        if (kind)
            return kind;
    }
    return ERR_OK;
}

static enum err_kind
check_record(struct check *check,
             const struct record_type *type,
             const struct schema_node *node)
{
    if (node->type != SCHEMA_RECORD || !type->name || strcmp(type->name, node->name) != 0)
        return disagree(check, "the table is of record %s, the schema of %s %s",
                        type->name ? type->name : "(none)", schema_type_name(node->type),
                        node->name ? node->name : "");
    if (codec_layout(check->codec, type, node))
        return ERR_OK;
    struct layout *layout = layout_add(check, type, node);
    if (!layout)
        return err_no_memory(check->err, "the table of a record type");
    if (match_rows(check, layout))
        return ERR_FATAL;
    return check_rows(check, layout);
}

enum err_kind
codec_check_table(struct codec *codec, struct err *err)
{
    struct check check = {.codec = codec, .err = err};
    return check_record(&check, codec->type, schema_root(codec->schema));
}
