/* SPDX-License-Identifier: Apache-2.0 */
/* The parsing canonical form of a schema and the fingerprints over it. */
#include "schema_build.h"

#include "cleanup.h"
#include "digest.h"

/* The specification's EMPTY: polynomial and fingerprint of nothing. */
static const uint64_t crc64_empty = UINT64_C(0xc15d213aa4d7a795);

struct form {
    struct buf out;
    bool *written; /* by node: a definition is written once, then named */
};

static void form_write(struct form *form, const struct schema_node *node);

static void
form_done(struct form *form)
{
    buf_done(&form->out);
}

static void
fields_write(struct form *form, const struct schema_node *node)
{
    buf_add_str(&form->out, ",\"fields\":[");
    for (size_t i = 0; i < node->n_fields; i++) {
        buf_addf(&form->out, "%s{\"name\":\"%s\",\"type\":", i ? "," : "",
                 node->fields[i].name);
        form_write(form, node->fields[i].type);
        buf_add_byte(&form->out, '}');
    }
    buf_add_byte(&form->out, ']');
}

static void
symbols_write(struct form *form, const struct schema_node *node)
{
    buf_add_str(&form->out, ",\"symbols\":[");
    for (size_t i = 0; i < node->n_symbols; i++)
        buf_addf(&form->out, "%s\"%s\"", i ? "," : "", node->symbols[i]);
    buf_add_byte(&form->out, ']');
}

static void
named_write(struct form *form, const struct schema_node *node)
{
    if (form->written[node->index]) {
        buf_addf(&form->out, "\"%s\"", node->name);
        return;
    }
    form->written[node->index] = true;
    buf_addf(&form->out, "{\"name\":\"%s\",\"type\":\"%s\"", node->name,
             schema_type_name(node->type));
    if (node->type == SCHEMA_RECORD)
        fields_write(form, node);
    else if (node->type == SCHEMA_ENUM)
        symbols_write(form, node);
    else
        buf_addf(&form->out, ",\"size\":%zu", node->fixed_size);
    buf_add_byte(&form->out, '}');
}

static void
items_write(struct form *form, const struct schema_node *node, const char *head)
{
    buf_add_str(&form->out, head);
    form_write(form, node->items);
    buf_add_byte(&form->out, '}');
}

static void
union_write(struct form *form, const struct schema_node *node)
{
    buf_add_byte(&form->out, '[');
    for (size_t i = 0; i < node->n_branches; i++) {
        if (i)
            buf_add_byte(&form->out, ',');
        form_write(form, node->branches[i]);
    }
    buf_add_byte(&form->out, ']');
}

static void
form_write(struct form *form, const struct schema_node *node)
{
    if (node->name)
        named_write(form, node);
    else if (node->type == SCHEMA_ARRAY)
        items_write(form, node, "{\"type\":\"array\",\"items\":");
    else if (node->type == SCHEMA_MAP)
        items_write(form, node, "{\"type\":\"map\",\"values\":");
    else if (node->type == SCHEMA_UNION)
        union_write(form, node);
    else
        buf_addf(&form->out, "\"%s\"", schema_type_name(node->type));
}

static uint64_t
crc64(struct slice text)
{
    uint64_t table[256];
    for (uint64_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = (table[i] >> 1) ^ (table[i] & 1 ? crc64_empty : 0);
    }
    uint64_t crc = crc64_empty;
    for (size_t i = 0; i < text.len; i++)
        crc = (crc >> 8) ^ table[(crc ^ (unsigned char)text.data[i]) & 0xFF];
    return crc;
}

enum err_kind
schema_identify(struct build *b)
{
    struct schema *schema = b->schema;
    CLEANUP(form_done) struct form form = {.out = BUF_INIT};
    form.written = arena_calloc(&b->scratch, schema->n_nodes, sizeof(bool));
    if (!form.written)
        return err_no_memory(b->err, "the canonical form of a schema");
    form_write(&form, schema->root);
    enum err_kind kind = buf_check(&form.out, "the canonical form of a schema", b->err);
    if (kind)
        return kind;
    schema->canonical = schema_keep(b, buf_slice(&form.out));
    if (!schema->canonical.data)
        return ERR_RECORD;
    schema->crc64 = crc64(schema->canonical);
    digest_sha256(schema->canonical, schema->sha256);
    return ERR_OK;
}
