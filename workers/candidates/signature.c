/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of an op, joined. */
#include "signature.h"

#include "buf.h"
#include "signature_plain.h"

/* False: no memory. What is no JSON leaves JSON_NONE. */
static bool
read_text(struct slice text,
          struct arena *arena,
          struct json *doc,
          struct json_value *ret_value)
{
    struct err err = {0};
    *ret_value = JSON_NONE;
    if (!text.data)
        return true;
    if (json_read(doc, text, arena, &err) == ERR_OK) {
        *ret_value = json_root(doc);
        return true;
    }
    return strcmp(err.code, "json_invalid") == 0 || strcmp(err.code, "json_empty") == 0;
}

/* The operands in the making: `text` of an item is its length until all are joined. */
struct joint {
    struct buf text;
    struct operand *items;
    size_t *begins;
    size_t n;
};

static void
add_item(struct joint *joint, struct json_value dims, struct slice dtype)
{
    size_t before = joint->text.len;
    if (joint->n)
        buf_add_str(&joint->text, "<br>");
    size_t begin = joint->text.len;
    if (!operand_add(&joint->text, dims, dtype)) {
        joint->text.len = before;
        return;
    }
    joint->begins[joint->n] = begin;
    joint->items[joint->n++] = (struct operand){{NULL, joint->text.len - begin}, dtype};
}

static void
add_items(struct joint *joint, struct json_value dims, struct json_value types)
{
    struct json_iter iter = json_iter(dims);
    struct json_iter type_iter = json_iter(types);
    bool typed = json_kind(types) == JSON_ARRAY;
    struct slice key;
    struct json_value item;
    while (json_next(&iter, &key, &item)) {
        struct json_value type = JSON_NONE;
        if (typed && !json_next(&type_iter, &key, &type))
            type = JSON_NONE;
        add_item(joint, item, operand_dtype(json_string(type)));
    }
}

static bool
join(struct json_value dims,
     struct json_value types,
     struct joint *joint,
     struct arena *arena,
     struct signature *ret_signature)
{
    size_t n = json_count(dims);
    joint->items = arena_alloc(arena, n * sizeof joint->items[0]);
    joint->begins = arena_alloc(arena, n * sizeof joint->begins[0]);
    if (!joint->items || !joint->begins)
        return false;
    add_items(joint, dims, types);
    struct slice text = arena_copy(arena, buf_slice(&joint->text));
    if (joint->text.failed || !text.data)
        return false;
    for (size_t i = 0; i < joint->n; i++)
        joint->items[i].text.data = text.data + joint->begins[i];
    *ret_signature = (struct signature){text, joint->items, joint->n};
    return true;
}

static bool
read_signature(struct slice dims,
               struct slice types,
               struct arena *arena,
               struct signature *ret_signature)
{
    struct json dims_doc;
    struct json types_doc;
    struct json_value dims_value;
    struct json_value types_value;
    struct joint joint = {.text = BUF_INIT};
    if (!read_text(dims, arena, &dims_doc, &dims_value) ||
        !read_text(types, arena, &types_doc, &types_value))
        return false;
    if (json_kind(dims_value) != JSON_ARRAY)
        return true;
    bool done = join(dims_value, types_value, &joint, arena, ret_signature);
    buf_done(&joint.text);
    return done;
}

bool
signature_of(struct slice dims,
             struct slice types,
             struct arena *arena,
             struct signature *ret_signature)
{
    *ret_signature = (struct signature){0};
    if (!dims.data)
        return true;
    enum plain plain = signature_plain(dims, types, arena, ret_signature);
    if (plain == PLAIN_NOT)
        return read_signature(dims, types, arena, ret_signature);
    return plain == PLAIN_DONE;
}
