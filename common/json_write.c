/* SPDX-License-Identifier: Apache-2.0 */
/* The line form of JSON: measured without building it, written without recursion. */
#include "json.h"

#include "cleanup.h"
#include "text.h"

#include <stdlib.h>

enum { FIRST_FRAMES = 32, INSERTION_SORT_KEYS = 32 };

static const char hex[] = "0123456789abcdef";

/* The letter of the short escape, 'u' for \uXXXX, 0 for what stands for itself. */
#define ESCAPED_16                                                                       \
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u'

static const char escapes[256] = {
    'u',        'u',        'u',        'u',        'u',        'u',        'u',
    'u',        'b',        't',        'n',        'u',        'f',        'r',
    'u',        'u',        ESCAPED_16, 0,          0,          '"',        0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    '\\',       0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,
    'u',        ESCAPED_16, ESCAPED_16, ESCAPED_16, ESCAPED_16, ESCAPED_16, ESCAPED_16,
    ESCAPED_16, ESCAPED_16,
};

static size_t
plain_run(struct slice text)
{
    size_t i = 0;
    while (text.len - i >= JSON_STEP_BYTES) {
        size_t plain = json_plain_bytes(text.data + i);
        i += plain;
        if (plain < JSON_STEP_BYTES)
            return i;
    }
    while (i < text.len && !escapes[(unsigned char)text.data[i]])
        i++;
    return i;
}

size_t
json_string_size(struct slice text)
{
    size_t size = 2;
    const char *end = text.data + text.len;
    for (const char *at = text.data; at < end;) {
        char escape = escapes[(unsigned char)*at];
        if (!escape) {
            size++;
            at++;
        } else if (escape != 'u') {
            size += 2;
            at++;
        } else {
            size += text_next(&at, end) > 0xFFFF ? 12 : 6;
        }
    }
    return size;
}

static void
add_unit(struct buf *out, uint32_t unit)
{
    char text[6] = {'\\',
                    'u',
                    hex[unit >> 12 & 15],
                    hex[unit >> 8 & 15],
                    hex[unit >> 4 & 15],
                    hex[unit & 15]};
    buf_add(out, text, sizeof text);
}

static void
add_point(struct buf *out, uint32_t point)
{
    if (point > 0xFFFF) {
        add_unit(out, 0xD800 + ((point - 0x10000) >> 10));
        add_unit(out, 0xDC00 + ((point - 0x10000) & 0x3FF));
    } else {
        add_unit(out, point);
    }
}

static void
add_quoted(struct buf *out, struct slice text)
{
    if (!buf_reserve(out, text.len + 2))
        return;
    char *to = out->data + out->len;
    *to++ = '"';
    if (text.len)
        memcpy(to, text.data, text.len);
    to[text.len] = '"';
    out->len += text.len + 2;
}

void
json_write_string(struct buf *out, struct slice text)
{
    size_t run = plain_run(text);
    if (run == text.len) {
        add_quoted(out, text);
        return;
    }
    buf_add_byte(out, '"');
    const char *end = text.data + text.len;
    for (const char *at = text.data; at < end;) {
        run = plain_run((struct slice){at, (size_t)(end - at)});
        buf_add(out, at, run);
        at += run;
        if (at == end)
            break;
        char escape = escapes[(unsigned char)*at];
        if (escape == 'u') {
            add_point(out, text_next(&at, end));
        } else {
            buf_add(out, (char[]){'\\', escape}, 2);
            at++;
        }
    }
    buf_add_byte(out, '"');
}

static size_t
node_size(const struct json *doc, const struct json_node *node)
{
    switch ((enum node_type)node->type) {
    case NODE_NULL:
    case NODE_TRUE:
        return 4;
    case NODE_FALSE:
        return 5;
    case NODE_NUMBER:
        return node->len;
    case NODE_SPECIAL:
        return (size_t)node->len + 2;
    case NODE_STRING: {
        size_t key = node->flags & NODE_KEY ? 2 : 0;
        size_t plain = (size_t)node->len + 2;
        return key + (node->flags & NODE_PLAIN
                          ? plain
                          : json_string_size(json_node_text(doc, node)));
    }
    case NODE_ARRAY:
    case NODE_OBJECT:
    default:
        return node->len > 1 ? 2 * (size_t)node->len : 2;
    }
}

size_t
json_size(struct json_value value)
{
    if (!value.doc)
        return 0;
    const struct json_node *nodes = value.doc->nodes;
    uint32_t end = nodes[value.at].next;
    size_t size = nodes[value.at].flags & NODE_KEY ? (size_t)-2 : 0;
    for (uint32_t at = value.at; at < end;) {
        if (nodes[at].flags & NODE_DEAD) {
            at = nodes[at + 1].next;
            continue;
        }
        size += node_size(value.doc, &nodes[at]);
        at++;
    }
    return size;
}

static void
write_scalar(struct buf *out,
             const struct json *doc,
             const struct json_node *node,
             bool verbatim)
{
    struct slice text = {NULL, 0};
    switch ((enum node_type)node->type) {
    case NODE_NULL:
        buf_add(out, "null", 4);
        return;
    case NODE_TRUE:
        buf_add(out, "true", 4);
        return;
    case NODE_FALSE:
        buf_add(out, "false", 5);
        return;
    case NODE_NUMBER:
        buf_add_slice(out, json_node_text(doc, node));
        return;
    case NODE_SPECIAL:
        text = json_node_text(doc, node);
        if (verbatim)
            buf_add_slice(out, text);
        else
            add_quoted(out, text);
        return;
    case NODE_STRING:
        text = json_node_text(doc, node);
        if (node->flags & NODE_PLAIN)
            add_quoted(out, text);
        else
            json_write_string(out, text);
        return;
    case NODE_ARRAY:
    case NODE_OBJECT:
    default:
        return;
    }
}

/* An open container while writing. */
struct frame {
    uint32_t at, end; /* the next item or key, and the node behind the container */
    uint32_t *order;  /* keys in order; NULL: they are in order as they stand */
    uint32_t i, n;    /* position in `order` and its length */
    bool object;
    bool first;
};

struct writer {
    struct buf *out;
    const struct json *doc;
    struct frame *frames;
    size_t n_frames, cap;
    bool verbatim;
    struct frame few[FIRST_FRAMES];
};

static int
compare_keys(const void *a, const void *b, void *state)
{
    const struct json *doc = state;
    return slice_compare(json_node_text(doc, &doc->nodes[*(const uint32_t *)a]),
                         json_node_text(doc, &doc->nodes[*(const uint32_t *)b]));
}

static void
sort_keys(const struct json *doc, uint32_t *keys, uint32_t n)
{
    if (n > INSERTION_SORT_KEYS) {
        qsort_r(keys, n, sizeof *keys, compare_keys, (void *)(uintptr_t)doc);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        uint32_t key = keys[i];
        uint32_t j = i;
        for (; j > 0 && compare_keys(&key, &keys[j - 1], (void *)(uintptr_t)doc) < 0; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

static bool
order_keys(const struct json *doc, struct frame *frame, uint32_t n)
{
    frame->order = arena_alloc(doc->arena, (size_t)n * sizeof *frame->order);
    if (!frame->order)
        return false;
    for (uint32_t at = frame->at; at < frame->end; at = doc->nodes[at + 1].next)
        if (!(doc->nodes[at].flags & NODE_DEAD))
            frame->order[frame->n++] = at;
    sort_keys(doc, frame->order, frame->n);
    return true;
}

static bool
more_frames(struct writer *writer)
{
    struct frame *frames =
        arena_alloc(writer->doc->arena, writer->cap * 2 * sizeof *frames);
    if (!frames)
        return false;
    memcpy(frames, writer->frames, writer->n_frames * sizeof *frames);
    writer->frames = frames;
    writer->cap *= 2;
    return true;
}

static bool
push(struct writer *writer, uint32_t at)
{
    const struct json_node *node = &writer->doc->nodes[at];
    if (writer->n_frames == writer->cap && !more_frames(writer))
        return false;
    struct frame *frame = &writer->frames[writer->n_frames++];
    *frame = (struct frame){
        .at = at + 1,
        .end = node->next,
        .object = node->type == NODE_OBJECT,
        .first = true,
    };
    buf_add_byte(writer->out, frame->object ? '{' : '[');
    return !frame->object || node->flags & NODE_SORTED ||
           order_keys(writer->doc, frame, node->len);
}

/* The node of the next item or key of `frame`, NO_NODE at its end. */
static uint32_t
step(const struct json *doc, struct frame *frame)
{
    if (frame->order)
        return frame->i < frame->n ? frame->order[frame->i++] : NO_NODE;
    if (frame->at >= frame->end)
        return NO_NODE;
    uint32_t at = frame->at;
    frame->at = doc->nodes[at + frame->object].next;
    return at;
}

static bool
write_node(struct writer *writer, uint32_t at)
{
    const struct json_node *node = &writer->doc->nodes[at];
    if (node->type == NODE_ARRAY || node->type == NODE_OBJECT)
        return push(writer, at);
    write_scalar(writer->out, writer->doc, node, writer->verbatim);
    return true;
}

static bool
write_step(struct writer *writer)
{
    struct frame *frame = &writer->frames[writer->n_frames - 1];
    uint32_t at = step(writer->doc, frame);
    if (at == NO_NODE) {
        buf_add_byte(writer->out, frame->object ? '}' : ']');
        writer->n_frames--;
        return true;
    }
    if (!frame->first)
        buf_add(writer->out, ", ", 2);
    frame->first = false;
    if (!frame->object)
        return write_node(writer, at);
    write_scalar(writer->out, writer->doc, &writer->doc->nodes[at], writer->verbatim);
    buf_add(writer->out, ": ", 2);
    return write_node(writer, at + 1);
}

static void
write_value(struct buf *out, struct json_value value, size_t limit, bool verbatim)
{
    if (!value.doc)
        return;
    const struct json_node *node = &value.doc->nodes[value.at];
    if (node->type != NODE_ARRAY && node->type != NODE_OBJECT) {
        write_scalar(out, value.doc, node, verbatim);
        return;
    }
    struct writer writer;
    writer.out = out;
    writer.doc = value.doc;
    writer.frames = writer.few;
    writer.n_frames = 0;
    writer.cap = FIRST_FRAMES;
    writer.verbatim = verbatim;
    size_t begin = out->len;
    bool room = write_node(&writer, value.at);
    while (room && writer.n_frames && out->len - begin < limit && !out->failed)
        room = write_step(&writer);
    out->failed |= !room;
}

void
json_write(struct buf *out, struct json_value value)
{
    write_value(out, value, SIZE_MAX, false);
}

void
json_write_after(struct buf *out, struct slice before, struct json_value value)
{
    const struct json_node *node = value.doc ? json_node(value) : NULL;
    bool plain = node && node->flags & NODE_PLAIN;
    if (!plain || !buf_reserve(out, before.len + node->len + 2)) {
        buf_add_slice(out, before);
        json_write(out, value);
        return;
    }
    char *to = mempcpy(out->data + out->len, before.data, before.len);
    *to++ = '"';
    to = mempcpy(to, value.doc->text + node->off, node->len);
    *to++ = '"';
    out->len = (size_t)(to - out->data);
}

void
json_write_begin(struct buf *out, struct json_value value, size_t limit)
{
    write_value(out, value, limit, false);
}

void
json_write_verbatim(struct buf *out, struct json_value value)
{
    write_value(out, value, SIZE_MAX, true);
}

/* A container on the way to a NaN, and how long the path to it is. */
struct path_frame {
    struct json_iter iter;
    size_t path_len;
    size_t i;
};

struct path_walk {
    struct buf path;
    struct path_frame *frames;
    size_t n_frames, cap;
};

static void
walk_done(struct path_walk *walk)
{
    buf_done(&walk->path);
}

static bool
has_special(struct json_value value)
{
    if (!value.doc || value.doc->n_special == 0)
        return false;
    const struct json_node *nodes = value.doc->nodes;
    for (uint32_t at = value.at; at < nodes[value.at].next; at++)
        if (nodes[at].type == NODE_SPECIAL)
            return true;
    return false;
}

static bool
push_path(struct path_walk *walk, struct json_value value)
{
    if (walk->n_frames == walk->cap) {
        size_t cap = walk->cap ? walk->cap * 2 : FIRST_FRAMES;
        struct path_frame *frames = arena_alloc(value.doc->arena, cap * sizeof *frames);
        if (!frames)
            return false;
        if (walk->n_frames)
            memcpy(frames, walk->frames, walk->n_frames * sizeof *frames);
        walk->frames = frames;
        walk->cap = cap;
    }
    walk->frames[walk->n_frames++] =
        (struct path_frame){.iter = json_iter(value), .path_len = walk->path.len};
    return true;
}

/* Moves to the next item of the innermost container and appends its step to the path. */
static bool
next_path(struct path_walk *walk, struct json_value *ret_value)
{
    while (walk->n_frames) {
        struct path_frame *frame = &walk->frames[walk->n_frames - 1];
        struct slice key;
        walk->path.len = frame->path_len;
        if (!json_next(&frame->iter, &key, ret_value)) {
            walk->n_frames--;
            continue;
        }
        if (frame->iter.members) {
            buf_add_byte(&walk->path, '.');
            buf_add_slice(&walk->path, key);
        } else {
            buf_addf(&walk->path, "[%zu]", frame->i++);
        }
        return true;
    }
    return false;
}

enum err_kind
json_each_special(struct json_value value,
                  struct slice path,
                  json_path_fn *found,
                  void *state,
                  struct err *err)
{
    if (!has_special(value))
        return ERR_OK;
    CLEANUP(walk_done) struct path_walk walk = {.path = BUF_INIT};
    buf_add_slice(&walk.path, path);
    bool room = true;
    do {
        enum json_kind type = json_kind(value);
        if (json_is_special(value) && found(state, buf_slice(&walk.path), err))
            return err->kind;
        if (type == JSON_ARRAY || type == JSON_OBJECT)
            room = push_path(&walk, value);
    } while (room && !walk.path.failed && next_path(&walk, &value));
    if (room && !walk.path.failed)
        return ERR_OK;
    return err_set(err, ERR_RECORD, "record_too_large",
                   "the path of a NaN is longer than a record may hold");
}
