/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as Python writes it, as a flat row of nodes. */
#include "json.h"

#include "cleanup.h"
#include "text.h"

#include <stdlib.h>

enum { FIRST_NODES = 32, BYTES_PER_NODE = 8, SMALL_OBJECT = 96 };
enum { WINDOW_BYTES = 1024, STOPS_AT_ONCE = 8 };

/* Offsets, and those of a block behind the text, fit. */
#define TEXT_LIMIT (UINT32_MAX - 4096)
#define NO_STOP    UINT32_MAX

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

/*
 * Where the bytes lie that are not plain, for a part of the text at a time: found ahead
 * of the reader, they tell it where a string ends before it has looked at the string.
 */
struct window {
    uint32_t next;  /* of `stops`, the first that may lie ahead */
    uint32_t limit; /* offset where the next part begins */
    uint32_t stops[WINDOW_BYTES + STOPS_AT_ONCE + 1]; /* rising offsets, then NO_STOP */
};

/*
 * The position is handed from step to step, so it stays in a register: each returns the
 * one behind what it read, NULL when `err` is set.
 */
struct reader {
    struct json *doc;
    struct window window;
    char *end;     /* of the text, which zero bytes follow, which no rule lets pass */
    uint32_t open; /* the innermost open container, NO_NODE outside */
    struct err *err;
};

static char *
invalid(const struct reader *reader, const char *at, const char *what)
{
    err_set(reader->err, ERR_RECORD, "json_invalid", "%s at byte %zu", what,
            (size_t)(at - reader->doc->text));
    return NULL;
}

static char *
no_room(const struct reader *reader)
{
    err_set(reader->err, ERR_RECORD, "record_too_large",
            "a JSON document of %zu bytes needs more memory than a record may take",
            (size_t)(reader->end - reader->doc->text));
    return NULL;
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

static inline bool
add_node(struct reader *reader, struct json_node node)
{
    struct json *doc = reader->doc;
    if (doc->n_nodes == doc->cap && !grow(doc)) {
        no_room(reader);
        return false;
    }
    doc->nodes[doc->n_nodes] = node;
    doc->n_nodes++;
    return true;
}

/* A value without items, whose text is `len` bytes. */
static inline bool
add_leaf(struct reader *reader,
         enum node_type type,
         uint8_t flags,
         const char *text,
         size_t len)
{
    return add_node(reader, (struct json_node){
                                .off = (uint32_t)(text - reader->doc->text),
                                .len = (uint32_t)len,
                                .next = reader->doc->n_nodes + 1,
                                .type = (uint8_t)type,
                                .flags = flags,
                            });
}

/* None, or one space: what writers put there. */
static inline char *
skip_space(char *at)
{
    at += *at == ' ';
    while ((unsigned char)*at <= ' ' &&
           (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
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
static char *
read_unicode(const struct reader *reader, char *at, char **to)
{
    uint32_t point = 0;
    if (!hex_digits(at, &point))
        return invalid(reader, at, "bad \\u escape");
    at += 4;
    uint32_t low = 0;
    if (point >= 0xD800 && point < 0xDC00 && at[0] == '\\' && at[1] == 'u') {
        if (!hex_digits(at + 2, &low))
            return invalid(reader, at, "bad \\u escape");
        if (low >= 0xDC00 && low < 0xE000) {
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
        }
    }
    *to += text_put(*to, point);
    return at;
}

static char *
read_escape(const struct reader *reader, char *at, char **to)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    char c = at[1];
    if (c == 'u')
        return read_unicode(reader, at + 2, to);
    const char *name = c ? strchr(names, c) : NULL;
    if (!name)
        return invalid(reader, at, "bad escape");
    *(*to)++ = values[name - names];
    return at + 2;
}

/* A call of libgcc where the processor may lack the instruction. */
static inline uint32_t
count_bits(uint64_t mask)
{
    mask -= mask >> 1 & UINT64_C(0x5555555555555555);
    mask = (mask & UINT64_C(0x3333333333333333)) +
           (mask >> 2 & UINT64_C(0x3333333333333333));
    mask = (mask + (mask >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (uint32_t)(mask * UINT64_C(0x0101010101010101) >> 56);
}

/* Writes more than there are, so that few stops need no branch for each. */
static inline uint32_t *
put_stops(uint32_t *to, uint32_t off, uint64_t mask)
{
    uint32_t *end = to + count_bits(mask);
    for (size_t i = 0; i < STOPS_AT_ONCE; i++) {
        *to++ = off + (uint32_t)__builtin_ctzll(mask | UINT64_C(1) << 63);
        mask &= mask - 1;
    }
    for (; mask; mask &= mask - 1)
        *to++ = off + (uint32_t)__builtin_ctzll(mask);
    return end;
}

/* The window moves to `off`, or behind where it ends now. */
static void
fill_window(struct reader *reader, uint32_t off)
{
    struct window *window = &reader->window;
    const char *text = reader->doc->text;
    uint32_t len = (uint32_t)(reader->end - text);
    uint32_t *to = window->stops;
    if (off < window->limit)
        off = window->limit;
    uint32_t limit = len - off < WINDOW_BYTES ? len + 1 : off + WINDOW_BYTES;
    for (; off < limit; off += JSON_BLOCK_BYTES)
        to = put_stops(to, off, json_stops(text + off));
    *to = NO_STOP;
    window->next = 0;
    window->limit = off;
}

/* To the first byte from `at` on that is not plain; the one behind the text is none. */
static inline char *
skip_plain(struct reader *reader, const char *at)
{
    struct window *window = &reader->window;
    char *text = reader->doc->text;
    uint32_t off = (uint32_t)(at - text);
    for (;;) {
        uint32_t next = window->next;
        while (window->stops[next] < off)
            next++;
        window->next = next;
        if (window->stops[next] != NO_STOP)
            return text + window->stops[next];
        fill_window(reader, off);
    }
}

/* A string that is not plain from `at` on. Undoes its escapes in place: none is shorter
 * than what it stands for. */
static char *
read_string_on(struct reader *reader, char *begin, char *at, uint8_t flags)
{
    char *to = at;
    for (;;) {
        char *stop = skip_plain(reader, at);
        if (to != at)
            memmove(to, at, (size_t)(stop - at));
        to += stop - at;
        at = stop;
        switch (class_of(*at)) {
        case BYTE_QUOTE: {
            size_t len = (size_t)(to - begin);
            return add_leaf(reader, NODE_STRING, flags, begin, len) ? at + 1 : NULL;
        }
        case BYTE_WIDE:
            *to++ = *at++;
            break;
        case BYTE_BACKSLASH:
            at = read_escape(reader, at, &to);
            if (!at)
                return NULL;
            break;
        case BYTE_PLAIN:
        case BYTE_CONTROL:
        default:
            return invalid(reader, at, "raw control character or open string");
        }
    }
}

/* `at` is the quote before it. */
static inline char *
read_string(struct reader *reader, char *at, uint8_t flags)
{
    char *begin = at + 1;
    char *stop = skip_plain(reader, begin);
    if (*stop != '"')
        return read_string_on(reader, begin, stop, flags);
    size_t len = (size_t)(stop - begin);
    flags |= NODE_PLAIN;
    return add_leaf(reader, NODE_STRING, flags, begin, len) ? stop + 1 : NULL;
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

static char *
read_word(struct reader *reader, char *at)
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
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        enum node_type type = (enum node_type)words[i].type;
        if (strncmp(at, words[i].text, words[i].len) != 0)
            continue;
        if (!add_leaf(reader, type, 0, at, words[i].len))
            return NULL;
        reader->doc->n_special += type == NODE_SPECIAL;
        return at + words[i].len;
    }
    return invalid(reader, at, "no JSON value");
}

static inline char *
read_scalar(struct reader *reader, char *at)
{
    char c = *at;
    if (c == '"')
        return read_string(reader, at, 0);
    if (c != '-' && (c < '0' || c > '9'))
        return read_word(reader, at);
    char *end = number_end(at);
    if (!end)
        return read_word(reader, at);
    return add_leaf(reader, NODE_NUMBER, 0, at, (size_t)(end - at)) ? end : NULL;
}

static struct slice
key_at(const struct json *doc, uint32_t at)
{
    return json_node_text(doc, &doc->nodes[at]);
}

/* By length and the first eight bytes: behind every key lies as much text or more. */
static unsigned
key_hash(struct slice key)
{
    uint64_t word;
    memcpy(&word, key.data, sizeof word);
    word = le64toh(word);
    if (key.len < sizeof word)
        word = key.len ? word << (64 - 8 * key.len) : 0;
    word = (word ^ key.len) * UINT64_C(0x9E3779B97F4A7C15);
    return (unsigned)(word >> 55);
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

/* Most neighbours differ in their first byte already. */
static bool
rises(struct slice a, struct slice b)
{
    if (a.len && b.len && a.data[0] != b.data[0])
        return (unsigned char)a.data[0] < (unsigned char)b.data[0];
    return slice_compare(a, b) < 0;
}

static bool
keys_rise(const struct json *doc, uint32_t container)
{
    for (uint32_t at = container + 1, next = 0; at < doc->n_nodes; at = next) {
        next = doc->nodes[at + 1].next;
        if (next < doc->n_nodes && !rises(key_at(doc, at), key_at(doc, next)))
            return false;
    }
    return true;
}

/*
 * While a container is open its `next` holds the one around it, `off` its depth so far,
 * and `len` the number of its items.
 */
static char *
close_container(struct reader *reader, char *at)
{
    struct json *doc = reader->doc;
    uint32_t open = reader->open;
    struct json_node *node = &doc->nodes[open];
    reader->open = node->next;
    node->next = doc->n_nodes;
    node->off++;
    if (reader->open != NO_NODE) {
        struct json_node *around = &doc->nodes[reader->open];
        if (around->off < node->off)
            around->off = node->off;
    }
    if (node->type != NODE_OBJECT)
        return at + 1;
    if (keys_rise(doc, open))
        node->flags |= NODE_SORTED;
    else if (node->len <= SMALL_OBJECT)
        drop_repeats_small(doc, open);
    else if (!drop_repeats_large(doc, open))
        return no_room(reader);
    return at + 1;
}

static inline char *
read_key(struct reader *reader, char *at)
{
    at = skip_space(at);
    if (*at != '"')
        return invalid(reader, at, "no key in quotes");
    at = read_string(reader, at, NODE_KEY);
    if (!at)
        return NULL;
    at = skip_space(at);
    return *at == ':' ? at + 1 : invalid(reader, at, "no colon behind a key");
}

/* Up to the next place where a value must stand; `*ret_done` when there is none. */
static inline char *
after_value(struct reader *reader, char *at, bool *ret_done)
{
    while (reader->open != NO_NODE) {
        struct json_node *node = &reader->doc->nodes[reader->open];
        bool object = node->type == NODE_OBJECT;
        node->len++;
        at = skip_space(at);
        if (*at == ',')
            return object ? read_key(reader, at + 1) : at + 1;
        if (*at != (object ? '}' : ']'))
            return invalid(reader, at, "no comma and no end");
        at = close_container(reader, at);
        if (!at)
            return NULL;
    }
    *ret_done = true;
    return at;
}

/* Opens a container; `*ret_value` when it is not closed at once, so a value follows. */
static char *
read_open(struct reader *reader, char *at, bool *ret_value)
{
    bool object = *at == '{';
    uint32_t open = reader->doc->n_nodes;
    uint8_t type = object ? NODE_OBJECT : NODE_ARRAY;
    if (!add_node(reader, (struct json_node){.type = type, .next = reader->open}))
        return NULL;
    reader->open = open;
    at = skip_space(at + 1);
    *ret_value = *at != (object ? '}' : ']');
    if (!*ret_value)
        return close_container(reader, at);
    return object ? read_key(reader, at) : at;
}

static enum err_kind
read_document(struct reader *reader, char *at)
{
    for (bool done = false; !done;) {
        bool value_follows = false;
        at = skip_space(at);
        bool container = *at == '{' || *at == '[';
        at = container ? read_open(reader, at, &value_follows) : read_scalar(reader, at);
        if (at && !value_follows)
            at = after_value(reader, at, &done);
        if (!at)
            return ERR_RECORD;
    }
    at = skip_space(at);
    if (at != reader->end)
        invalid(reader, at, "text behind the value");
    return at == reader->end ? ERR_OK : ERR_RECORD;
}

static enum err_kind
copy_text(struct json *doc, struct slice bytes, size_t *ret_len, struct err *err)
{
    bool valid = text_bad(bytes) == bytes.len;
    size_t len = valid ? bytes.len : text_repaired_len(bytes);
    size_t cap = len / BYTES_PER_NODE + FIRST_NODES;
    doc->text = len < TEXT_LIMIT ? arena_alloc(doc->arena, len + JSON_BLOCK_BYTES) : NULL;
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
    memset(doc->text + len, 0, JSON_BLOCK_BYTES);
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
    struct reader reader;
    reader.doc = &doc;
    reader.end = doc.text + len;
    reader.open = NO_NODE;
    reader.err = fill;
    reader.window.limit = 0;
    reader.window.next = 0;
    reader.window.stops[0] = NO_STOP;
    bool has_mark = len >= 3 && memcmp(doc.text, "\xEF\xBB\xBF", 3) == 0;
    char *at = skip_space(doc.text + (has_mark ? 3 : 0));
    if (at == reader.end)
        return err_set(fill, ERR_RECORD, "json_empty", "no JSON value in %zu bytes",
                       bytes.len);
    if (read_document(&reader, at))
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
