/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as Python writes it, as a flat row of nodes. */
#include "json.h"

#include "cleanup.h"
#include "json_node.h"
#include "text.h"

#include <stdlib.h>

enum { FIRST_NODES = 32, BYTES_PER_NODE = 8, SMALL_OBJECT = 96 };

enum byte_class {
    BYTE_PLAIN = 0, /* printable ASCII that needs no escape */
    BYTE_QUOTE,
    BYTE_BACKSLASH,
    BYTE_CONTROL,
    BYTE_WIDE, /* DEL and everything beyond ASCII: legal, but not plain */
};

static const uint8_t punctuation_classes[128] = {
    ['"'] = BYTE_QUOTE,
    ['\\'] = BYTE_BACKSLASH,
    [0x7F] = BYTE_WIDE,
};

static enum byte_class
class_of(char c)
{
    unsigned char byte = (unsigned char)c;
    if (byte < 0x20)
        return BYTE_CONTROL;
    return byte < 0x80 ? (enum byte_class)punctuation_classes[byte] : BYTE_WIDE;
}

struct reader {
    struct json *doc;
    char *at; /* the text ends with zero bytes, which no rule lets pass */
    char *end;
    uint32_t open; /* the innermost open container, NO_NODE outside */
    struct err *err;
};

static enum err_kind
invalid(struct reader *reader, const char *what)
{
    return err_set(reader->err, ERR_RECORD, "json_invalid", "%s at byte %zu", what,
                   (size_t)(reader->at - reader->doc->text));
}

static enum err_kind
no_room(struct reader *reader)
{
    return err_set(
        reader->err, ERR_RECORD, "record_too_large",
        "a JSON document of %zu bytes needs more memory than a record may take",
        (size_t)(reader->end - reader->doc->text));
}

static bool
grow(struct json *doc)
{
    if (doc->cap > UINT32_MAX / 2)
        return false;
    struct json_node *nodes =
        arena_alloc(doc->arena, (size_t)doc->cap * 2 * sizeof *nodes);
    if (!nodes)
        return false;
    memcpy(nodes, doc->nodes, doc->n_nodes * sizeof *nodes);
    doc->nodes = nodes;
    doc->cap *= 2;
    return true;
}

static inline struct json_node *
add_node(struct reader *reader, enum node_type type)
{
    struct json *doc = reader->doc;
    if (doc->n_nodes == doc->cap && !grow(doc)) {
        no_room(reader);
        return NULL;
    }
    struct json_node *node = &doc->nodes[doc->n_nodes++];
    *node = (struct json_node){.type = (uint8_t)type, .next = doc->n_nodes};
    return node;
}

static inline void
skip_space(struct reader *reader)
{
    char *at = reader->at;
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    reader->at = at;
}

static bool
hex_digits(const char *at, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)at[i];
        uint32_t digit = c >= '0' && c <= '9'   ? c - (uint32_t)'0'
                         : c >= 'a' && c <= 'f' ? c - (uint32_t)'a' + 10
                         : c >= 'A' && c <= 'F' ? c - (uint32_t)'A' + 10
                                                : 16;
        if (digit > 15)
            return false;
        unit = unit << 4 | digit;
    }
    *ret_unit = unit;
    return true;
}

/* \uXXXX, and the second half of a pair when it follows. `at` is behind the u. */
static enum err_kind
read_unicode(struct reader *reader, char **to)
{
    uint32_t point = 0;
    if (!hex_digits(reader->at, &point))
        return invalid(reader, "bad \\u escape");
    reader->at += 4;
    uint32_t low = 0;
    if (point >= 0xD800 && point < 0xDC00 && reader->at[0] == '\\' &&
        reader->at[1] == 'u') {
        if (!hex_digits(reader->at + 2, &low))
            return invalid(reader, "bad \\u escape");
        if (low >= 0xDC00 && low < 0xE000) {
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            reader->at += 6;
        }
    }
    *to += text_put(*to, point);
    return ERR_OK;
}

static enum err_kind
read_escape(struct reader *reader, char **to)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    char c = reader->at[1];
    if (c == 'u') {
        reader->at += 2;
        return read_unicode(reader, to);
    }
    const char *name = c ? strchr(names, c) : NULL;
    if (!name)
        return invalid(reader, "bad escape");
    *(*to)++ = values[name - names];
    reader->at += 2;
    return ERR_OK;
}

static char *
skip_plain(char *at)
{
    for (;;) {
        size_t plain = json_plain_bytes(at);
        at += plain;
        if (plain < JSON_STEP_BYTES)
            return at;
    }
}

/* Undoes the escapes in place: no escape is shorter than what it stands for. */
static enum err_kind
read_string(struct reader *reader, uint8_t flags)
{
    struct json_node *node = add_node(reader, NODE_STRING);
    if (!node)
        return reader->err ? reader->err->kind : ERR_RECORD;
    char *begin = ++reader->at;
    char *to = begin;
    flags |= NODE_PLAIN;
    for (;;) {
        char *stop = skip_plain(reader->at);
        if (to != reader->at)
            memmove(to, reader->at, (size_t)(stop - reader->at));
        to += stop - reader->at;
        reader->at = stop;
        switch (class_of(*stop)) {
        case BYTE_QUOTE:
            reader->at++;
            node->flags = flags;
            node->off = (uint32_t)(begin - reader->doc->text);
            node->len = (uint32_t)(to - begin);
            return ERR_OK;
        case BYTE_WIDE:
            flags &= (uint8_t)~NODE_PLAIN;
            *to++ = *reader->at++;
            break;
        case BYTE_BACKSLASH:
            flags &= (uint8_t)~NODE_PLAIN;
            if (read_escape(reader, &to))
                return ERR_RECORD;
            break;
        case BYTE_PLAIN:
        case BYTE_CONTROL:
        default:
            return invalid(reader, "raw control character or open string");
        }
    }
}

static char *
skip_digits(char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

static char *
number_end(char *at)
{
    if (*at == '-')
        at++;
    if (*at < '0' || *at > '9')
        return NULL;
    at = *at == '0' ? at + 1 : skip_digits(at);
    if (at[0] == '.' && at[1] >= '0' && at[1] <= '9')
        at = skip_digits(at + 1);
    if (*at == 'e' || *at == 'E') {
        char *exponent = at + 1 + (at[1] == '+' || at[1] == '-');
        if (*exponent >= '0' && *exponent <= '9')
            at = skip_digits(exponent);
    }
    return at;
}

static enum err_kind
add_lexeme(struct reader *reader, enum node_type type, size_t len)
{
    struct json_node *node = add_node(reader, type);
    if (!node)
        return reader->err ? reader->err->kind : ERR_RECORD;
    node->off = (uint32_t)(reader->at - reader->doc->text);
    node->len = (uint32_t)len;
    reader->at += len;
    reader->doc->n_special += type == NODE_SPECIAL;
    return ERR_OK;
}

static enum err_kind
read_word(struct reader *reader)
{
    static const struct {
        const char *text;
        uint8_t len;
        uint8_t type;
    } words[] = {
        {"null", 4, NODE_NULL},        {"true", 4, NODE_TRUE},
        {"false", 5, NODE_FALSE},      {"NaN", 3, NODE_SPECIAL},
        {"Infinity", 8, NODE_SPECIAL}, {"-Infinity", 9, NODE_SPECIAL},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(reader->at, words[i].text, words[i].len) == 0)
            return add_lexeme(reader, (enum node_type)words[i].type, words[i].len);
    return invalid(reader, "no JSON value");
}

static enum err_kind
read_scalar(struct reader *reader)
{
    char c = *reader->at;
    if (c == '"')
        return read_string(reader, 0);
    if (c != '-' && (c < '0' || c > '9'))
        return read_word(reader);
    char *end = number_end(reader->at);
    if (!end)
        return read_word(reader);
    return add_lexeme(reader, NODE_NUMBER, (size_t)(end - reader->at));
}

/* While a container is open its `next` holds the one around it, `off` its depth so far,
 * and `len` the number of its items. */
static enum err_kind
open_container(struct reader *reader, enum node_type type)
{
    uint32_t at = reader->doc->n_nodes;
    struct json_node *node = add_node(reader, type);
    if (!node)
        return ERR_RECORD;
    node->next = reader->open;
    reader->open = at;
    reader->at++;
    return ERR_OK;
}

static struct slice
key_at(const struct json *doc, uint32_t at)
{
    return (struct slice){doc->text + doc->nodes[at].off, doc->nodes[at].len};
}

static unsigned
key_hash(struct slice key)
{
    unsigned hash = (unsigned)key.len * 31U;
    if (key.len)
        hash += (unsigned char)key.data[0] * 7U + (unsigned char)key.data[key.len - 1] +
                (unsigned char)key.data[key.len / 2] * 131U;
    return hash & 511U;
}

static void
drop_key(struct json *doc, uint32_t container, uint32_t key)
{
    doc->nodes[key].flags |= NODE_DEAD;
    doc->nodes[container].len--;
    doc->nodes[container].flags |= NODE_HAS_DEAD;
}

static void
drop_equal_before(struct json *doc, uint32_t container, uint32_t last)
{
    struct slice key = key_at(doc, last);
    for (uint32_t at = container + 1; at < last; at = doc->nodes[at + 1].next)
        if (!(doc->nodes[at].flags & NODE_DEAD) && slice_equal(key, key_at(doc, at)))
            drop_key(doc, container, at);
}

/* A bit for each hash seen: only keys that share one are compared. */
static void
drop_repeats_small(struct json *doc, uint32_t container)
{
    uint64_t seen[8] = {0};
    for (uint32_t at = container + 1; at < doc->n_nodes; at = doc->nodes[at + 1].next) {
        unsigned hash = key_hash(key_at(doc, at));
        uint64_t bit = (uint64_t)1 << (hash & 63U);
        if (seen[hash >> 6] & bit)
            drop_equal_before(doc, container, at);
        seen[hash >> 6] |= bit;
    }
}

static int
compare_keys(const void *a, const void *b, void *state)
{
    const struct json *doc = state;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int d = slice_compare(key_at(doc, x), key_at(doc, y));
    return d ? d : (x > y) - (x < y);
}

static bool
drop_repeats_large(struct json *doc, uint32_t container)
{
    uint32_t n = doc->nodes[container].len;
    uint32_t *keys = malloc(n * sizeof *keys);
    if (!keys)
        return false;
    uint32_t i = 0;
    for (uint32_t at = container + 1; at < doc->n_nodes; at = doc->nodes[at + 1].next)
        keys[i++] = at;
    qsort_r(keys, n, sizeof *keys, compare_keys, doc);
    for (i = 0; i + 1 < n; i++)
        if (slice_equal(key_at(doc, keys[i]), key_at(doc, keys[i + 1])))
            drop_key(doc, container, keys[i]);
    free(keys);
    return true;
}

static bool
keys_rise(const struct json *doc, uint32_t container)
{
    for (uint32_t at = container + 1, next = 0; at < doc->n_nodes; at = next) {
        next = doc->nodes[at + 1].next;
        if (next < doc->n_nodes && slice_compare(key_at(doc, at), key_at(doc, next)) >= 0)
            return false;
    }
    return true;
}

static enum err_kind
close_container(struct reader *reader)
{
    struct json *doc = reader->doc;
    uint32_t at = reader->open;
    struct json_node *node = &doc->nodes[at];
    reader->open = node->next;
    node->next = doc->n_nodes;
    node->off++;
    if (reader->open != NO_NODE) {
        struct json_node *around = &doc->nodes[reader->open];
        if (around->off < node->off)
            around->off = node->off;
    }
    reader->at++;
    if (node->type != NODE_OBJECT)
        return ERR_OK;
    if (keys_rise(doc, at))
        node->flags |= NODE_SORTED;
    else if (node->len <= SMALL_OBJECT)
        drop_repeats_small(doc, at);
    else if (!drop_repeats_large(doc, at))
        return no_room(reader);
    return ERR_OK;
}

static enum err_kind
read_key(struct reader *reader)
{
    skip_space(reader);
    if (*reader->at != '"')
        return invalid(reader, "no key in quotes");
    if (read_string(reader, NODE_KEY))
        return ERR_RECORD;
    skip_space(reader);
    if (*reader->at != ':')
        return invalid(reader, "no colon behind a key");
    reader->at++;
    return ERR_OK;
}

/* Up to the next place where a value must stand; `*ret_done` when there is none. */
static enum err_kind
after_value(struct reader *reader, bool *ret_done)
{
    while (reader->open != NO_NODE) {
        struct json_node *node = &reader->doc->nodes[reader->open];
        bool object = node->type == NODE_OBJECT;
        node->len++;
        skip_space(reader);
        if (*reader->at == ',') {
            reader->at++;
            return object ? read_key(reader) : ERR_OK;
        }
        if (*reader->at != (object ? '}' : ']'))
            return invalid(reader, "no comma and no end");
        if (close_container(reader))
            return ERR_RECORD;
    }
    *ret_done = true;
    return ERR_OK;
}

/* Opens a container; `*ret_value` when it is not closed at once, so a value follows. */
static enum err_kind
read_open(struct reader *reader, bool *ret_value)
{
    bool object = *reader->at == '{';
    if (open_container(reader, object ? NODE_OBJECT : NODE_ARRAY))
        return ERR_RECORD;
    skip_space(reader);
    *ret_value = *reader->at != (object ? '}' : ']');
    if (!*ret_value)
        return close_container(reader);
    return object ? read_key(reader) : ERR_OK;
}

static enum err_kind
read_document(struct reader *reader)
{
    for (bool done = false; !done;) {
        skip_space(reader);
        bool value_follows = false;
        bool container = *reader->at == '{' || *reader->at == '[';
        if (container ? read_open(reader, &value_follows) : read_scalar(reader))
            return ERR_RECORD;
        if (!value_follows && after_value(reader, &done))
            return ERR_RECORD;
    }
    skip_space(reader);
    return reader->at == reader->end ? ERR_OK : invalid(reader, "text behind the value");
}

static enum err_kind
copy_text(struct json *doc, struct slice bytes, size_t *ret_len, struct err *err)
{
    bool valid = text_bad(bytes) == bytes.len;
    size_t len = valid ? bytes.len : text_repaired_len(bytes);
    size_t cap = len / BYTES_PER_NODE + FIRST_NODES;
    doc->text = len < UINT32_MAX ? arena_alloc(doc->arena, len + JSON_STEP_BYTES) : NULL;
    doc->nodes = doc->text ? arena_alloc(doc->arena, cap * sizeof *doc->nodes) : NULL;
    if (!doc->nodes)
        return err_set(err, ERR_RECORD, "record_too_large",
                       "a JSON document of %zu bytes is more than a record may take",
                       bytes.len);
    doc->cap = (uint32_t)cap;
    if (!valid)
        text_repair_to(doc->text, bytes);
    else if (len)
        memcpy(doc->text, bytes.data, len);
    memset(doc->text + len, 0, JSON_STEP_BYTES);
    *ret_len = len;
    return ERR_OK;
}

enum err_kind
json_read(struct json *ret_doc, struct slice bytes, struct arena *arena, struct err *err)
{
    struct json doc = {.arena = arena};
    struct err local;
    struct err *fill = err ? err : &local;
    size_t len = 0;
    if (copy_text(&doc, bytes, &len, fill))
        return ERR_RECORD;
    struct reader reader = {
        .doc = &doc, .at = doc.text, .end = doc.text + len, .open = NO_NODE, .err = fill};
    if (len >= 3 && memcmp(doc.text, "\xEF\xBB\xBF", 3) == 0)
        reader.at += 3;
    skip_space(&reader);
    if (reader.at == reader.end)
        return err_set(fill, ERR_RECORD, "json_empty", "no JSON value in %zu bytes",
                       bytes.len);
    if (read_document(&reader))
        return ERR_RECORD;
    *ret_doc = doc;
    return ERR_OK;
}

static bool
is_plain(struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (class_of(text.data[i]) != BYTE_PLAIN)
            return false;
    return true;
}

enum err_kind
json_make_string(struct json *ret_doc,
                 struct slice text,
                 struct arena *arena,
                 struct err *err)
{
    char *copy = text.len < UINT32_MAX ? arena_alloc(arena, text.len) : NULL;
    struct json_node *node = arena_alloc(arena, sizeof *node);
    if (!copy || !node)
        return err_set(err, ERR_RECORD, "record_too_large",
                       "a text of %zu bytes is more than a record may take", text.len);
    if (text.len)
        memcpy(copy, text.data, text.len);
    *node = (struct json_node){.type = NODE_STRING, .len = (uint32_t)text.len, .next = 1};
    node->flags = is_plain(text) ? NODE_PLAIN : 0;
    *ret_doc = (struct json){
        .text = copy, .nodes = node, .n_nodes = 1, .cap = 1, .arena = arena};
    return ERR_OK;
}
