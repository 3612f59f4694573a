/* SPDX-License-Identifier: Apache-2.0 */
/* One audit row, packed into lines. */
#include "example.h"

#include <inttypes.h>

#include "json_scan.h"

/* The first member stands behind the name and a bracket, however long it is. */
enum { WIDTH = 88, MARGIN = 6, FIRST_COLUMN = MARGIN + 1, MAX_DEPTH = 4 };

struct packing {
    struct buf *out;
    size_t line; /* where the current line begins */
    int depth;
};

/* Breaks the line when `len` more bytes would pass the width. */
static void
make_room(struct packing *packing, size_t len)
{
    struct buf *out = packing->out;
    size_t column = out->len - packing->line;
    if (column <= FIRST_COLUMN || column + len <= WIDTH)
        return;
    while (out->len && out->data[out->len - 1] == ' ')
        out->len--;
    buf_add_byte(out, '\n');
    packing->line = out->len;
    buf_addf(out, "%*s", MARGIN, "");
}

static enum err_kind
add_value(struct packing *packing, enum json_type type, struct slice value);

static enum err_kind
on_item(void *state, size_t i, enum json_type type, struct slice value, struct err *err)
{
    (void)err;
    struct packing *packing = state;
    buf_add_str(packing->out, i ? ", " : "");
    make_room(packing, value.len + 2);
    return add_value(packing, type, value);
}

static enum err_kind
on_member(void *state,
          struct slice key,
          enum json_type type,
          struct slice value,
          struct err *err)
{
    (void)err;
    struct packing *packing = state;
    struct buf *out = packing->out;
    if (out->len && out->data[out->len - 1] != '{')
        buf_add_str(out, ", ");
    bool opens = type == JSON_TYPE_ARRAY || type == JSON_TYPE_OBJECT;
    make_room(packing, key.len + (opens ? 4 : value.len + 4));
    buf_addf(out, "%.*s: ", SLICE_ARG(key));
    return add_value(packing, type, value);
}

/* A list or an object is packed in turn; deep ones stand as they are. */
static enum err_kind
add_value(struct packing *packing, enum json_type type, struct slice value)
{
    struct buf *out = packing->out;
    bool list = type == JSON_TYPE_ARRAY;
    if (packing->depth == MAX_DEPTH || (!list && type != JSON_TYPE_OBJECT)) {
        buf_add_slice(out, value);
        return ERR_OK;
    }
    packing->depth++;
    buf_add_byte(out, list ? '[' : '{');
    enum err_kind kind = list ? json_scan_items(value, on_item, packing, NULL)
                              : json_scan_members(value, on_member, packing, NULL);
    buf_add_byte(out, list ? ']' : '}');
    packing->depth--;
    return kind;
}

/* The document with line feeds between its parts, so it is still the same JSON. */
static void
add_document(struct buf *out, const char *name, struct slice document)
{
    enum json_type type = JSON_TYPE_NULL;
    if (!document.data)
        return;
    struct packing packing = {out, out->len, 0};
    buf_addf(out, "  %-3s ", name);
    if (json_scan_check(document, &type, NULL) == ERR_OK)
        add_value(&packing, type, document);
    else
        buf_add_slice(out, document);
    buf_add_byte(out, '\n');
}

void
example_write(struct example *example,
              const struct message *in,
              const struct audit_row *record)
{
    buf_addf(&example->text, "  %.*s\n  %s, partition %" PRId32 ", offset %" PRId64 "\n",
             SLICE_ARG(in->key), in->topic, in->partition, in->offset);
    add_document(&example->text, "row", record->row);
    add_document(&example->text, "x", record->x);
}

void
example_print(const struct example *example, struct buf *out)
{
    buf_addf(out, "\n%s\n", example->outcome);
    if (example->text.len)
        buf_add_slice(out, buf_slice(&example->text));
    else
        buf_add_str(out, "  no row has an entry of this outcome\n");
}
