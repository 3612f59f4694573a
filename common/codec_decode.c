/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to struct: runs the program of a plan, trusting nothing it reads. */
#include "codec_program.h"
#include "utf8.h"
#include "varint.h"

/*
 * A program that runs without a struct to fill has steps that skip and no other, which
 * the analyzer can't see. NOLINTBEGIN(clang-analyzer-core.*)
 */

struct reader {
    const char *start; /* of the body, for the offset in messages */
    const char *end;
    struct arena *arena;
    size_t depth_left;
    size_t items_left;
    struct err *err;
    char nothing; /* where steps that skip would write */
};

static const char *refuse(const struct reader *reader,
                          const struct op *op,
                          const char *at,
                          const char *code,
                          const char *what) __attribute__((cold, noinline));

static const char *
refuse(const struct reader *reader,
       const struct op *op,
       const char *at,
       const char *code,
       const char *what)
{
    err_set(reader->err, ERR_RECORD, code, "byte %td, field %s: %s", at - reader->start,
            *op->path ? op->path : "(root)", what);
    return NULL;
}

static const char *
invalid(const struct reader *reader,
        const struct op *op,
        const char *at,
        const char *what)
{
    return refuse(reader, op, at, "body_invalid", what);
}

static const char *
truncated(const struct reader *reader, const struct op *op, const char *at)
{
    return refuse(reader, op, at, "body_truncated", "the body ends within the value");
}

/* Why a number could not be read at `at`. */
static const char *
bad_varint(const struct reader *reader, const struct op *op, const char *at)
{
    for (const char *byte = at; byte - at < VARINT_MAX_BYTES; byte++) {
        if (byte == reader->end)
            return truncated(reader, op, at);
        if (!(*byte & 0x80))
            break;
    }
    return invalid(reader, op, at, "the number is longer than 64 bits");
}

/* Steps that run for every value: a call would cost more than most of them do. */
#define HOT static inline __attribute__((always_inline))

#define STORE(to, value)                                                                 \
    do {                                                                                 \
        __typeof__(value) stored_ = (value);                                             \
        memcpy(to, &stored_, sizeof stored_);                                            \
    } while (0)

HOT struct varint
get_long(const struct reader *reader, const struct op *op, const char *at)
{
    struct varint number = varint_get(at, reader->end);
    if (__builtin_expect(!number.next, 0))
        bad_varint(reader, op, at);
    return number;
}

HOT struct varint
get_int(const struct reader *reader, const struct op *op, const char *at)
{
    struct varint number = get_long(reader, op, at);
    bool fits =
        number.value == (int32_t)number.value && number.next - at <= VARINT_INT_BYTES;
    if (__builtin_expect(number.next && !fits, 0)) {
        invalid(reader, op, at, "the number is longer than 32 bits");
        number.next = NULL;
    }
    return number;
}

/* Steps over `len` bytes. */
HOT const char *
advance(const struct reader *reader, const struct op *op, const char *at, int64_t len)
{
    if (__builtin_expect((uint64_t)len <= (uint64_t)(reader->end - at), 1))
        return at + len;
    return len < 0 ? invalid(reader, op, at, "a length is negative")
                   : truncated(reader, op, at);
}

HOT const char *
get_slice(const struct reader *reader,
          const struct op *op,
          const char *at,
          char *to,
          bool is_text)
{
    struct varint len = get_long(reader, op, at);
    if (!len.next)
        return NULL;
    struct slice text = {len.next, (size_t)len.value};
    at = advance(reader, op, len.next, len.value);
    if (!at)
        return NULL;
    if (is_text && !utf8_valid_within(text.data, text.len, reader->end))
        return invalid(reader, op, text.data, "the text is not UTF-8");
    STORE(to, text);
    return at;
}

/* The index of a union with null: 0 or 1. */
HOT struct varint
get_opt(const struct reader *reader, const struct op *op, const char *at)
{
    struct varint index = get_long(reader, op, at);
    if (__builtin_expect(index.next && (uint64_t)index.value > 1, 0)) {
        invalid(reader, op, at, "the union has no such branch");
        index.next = NULL;
    }
    return index;
}

HOT const char *
get_bool(const struct reader *reader, const struct op *op, const char *at, char *to)
{
    if (at == reader->end)
        return truncated(reader, op, at);
    if ((unsigned char)*at > 1)
        return invalid(reader, op, at, "a boolean is 0 or 1");
    *to = *at;
    return at + 1;
}

HOT const char *
get_fixed(const struct reader *reader,
          const struct op *op,
          const char *at,
          char *to,
          size_t len)
{
    if (len > (size_t)(reader->end - at))
        return truncated(reader, op, at);
    memcpy(to, at, len);
    return at + len;
}

HOT const char *
get_enum(const struct reader *reader, const struct op *op, const char *at, char *to)
{
    struct varint number = get_int(reader, op, at);
    if (!number.next)
        return NULL;
    int32_t position = (int32_t)number.value;
    if (position < 0 || (uint32_t)position >= op->n)
        return invalid(reader, op, at, "the enum has no such symbol");
    if (op->code == OP_ENUM_BY_NAME) {
        position = op->positions[position];
        if (position < 0)
            return refuse(reader, op, at, "schema_incompatible",
                          "our enum lacks the writer's symbol and has no default");
    }
    STORE(to, position);
    return number.next;
}

/* Numbers that the writer has narrower than we do. */
static const char *
get_promoted(const struct reader *reader, const struct op *op, const char *at, char *to)
{
    if (op->code == OP_FLOAT_TO_DOUBLE) {
        float real = 0;
        at = get_fixed(reader, op, at, (char *)&real, sizeof real);
        STORE(to, (double)real);
        return at;
    }
    bool is_long = op->code == OP_LONG_TO_FLOAT || op->code == OP_LONG_TO_DOUBLE;
    struct varint number = is_long ? get_long(reader, op, at) : get_int(reader, op, at);
    if (op->code == OP_INT_TO_LONG)
        STORE(to, number.value);
    else if (op->code == OP_INT_TO_FLOAT || op->code == OP_LONG_TO_FLOAT)
        STORE(to, (float)number.value);
    else
        STORE(to, (double)number.value);
    return number.next;
}

/* Head of a block of items: how many, and where it ends if it says so. */
struct block {
    size_t n;
    const char *end; /* NULL: not said */
};

/* The length in bytes that a block of negative count has. */
static const char *
get_block_end(const struct reader *reader,
              const struct op *op,
              const char *at,
              struct block *block)
{
    struct varint bytes = get_long(reader, op, at);
    if (!bytes.next)
        return NULL;
    block->end = advance(reader, op, bytes.next, bytes.value);
    return block->end ? bytes.next : NULL;
}

/* Whether `n` items of at least `least` bytes can lie in `room` bytes. */
static inline bool
has_bytes(uint64_t n, uint32_t least, size_t room)
{
    uint64_t need = 0;
    return least == 0 || (!__builtin_mul_overflow(n, least, &need) && need <= room);
}

static inline const char *
get_block(const struct reader *reader,
          const struct op *op,
          const char *at,
          struct block *ret)
{
    const char *head = at;
    struct varint count = get_long(reader, op, at);
    if (!(at = count.next))
        return NULL;
    uint64_t n = (uint64_t)count.value;
    ret->end = NULL;
    if (__builtin_expect(count.value < 0, 0)) {
        n = 0 - n;
        if (!(at = get_block_end(reader, op, at, ret)))
            return NULL;
    }
    ret->n = (size_t)n;
    if (!has_bytes(n, op->least, (size_t)(reader->end - at)))
        return refuse(reader, op, head, "body_truncated",
                      "the block counts more items than the body has bytes for");
    if (n > reader->items_left)
        return invalid(reader, op, head, "more items than the codec's limit");
    return at;
}

static const char *
end_block(const struct reader *reader,
          const struct op *op,
          const char *at,
          const struct block *block)
{
    if (at && block->end && at != block->end)
        return invalid(reader, op, at, "the block is not as long as it says");
    return at;
}

/* Room for `n` more items in `list`, which holds `*cap`. */
static bool
list_grow(struct reader *reader, struct list *list, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap - list->n)
        return true;
    size_t bytes = 0;
    size_t want = list->n + n;
    if (list->n && want < *cap * 2)
        want = *cap * 2;
    if (__builtin_mul_overflow(want, size, &bytes))
        return false;
    char *items = arena_alloc(reader->arena, bytes);
    if (!items)
        return false;
    if (list->n)
        memcpy(items, list->items, list->n * size);
    list->items = items;
    *cap = want;
    return true;
}

/* A ceiling is the record's fault, no memory is not. */
static const char *
no_room(const struct reader *reader, const struct op *op, const char *at, size_t n)
{
    const struct arena *arena = reader->arena;
    size_t max = arena->max ? arena->max : ARENA_MAX_BYTES;
    if (n > (max - arena->taken) / op->n)
        return invalid(reader, op, at, "its items take more memory than a record may");
    err_no_memory(reader->err, "the items of a record");
    return NULL;
}

static const char *run(struct reader *reader,
                       const struct op *ops,
                       char *base,
                       size_t stride,
                       size_t count,
                       const char *at);

/* The items of one block, behind those that `list` has. */
static const char *
get_items(struct reader *reader,
          const struct op *op,
          const char *at,
          struct list *list,
          size_t *cap,
          size_t n)
{
    if (!list_grow(reader, list, cap, n, op->n))
        return no_room(reader, op, at, list->n + n);
    char *first = (char *)list->items + list->n * op->n;
    memset(first, 0, n * op->n);
    list->n += n;
    return run(reader, op->body->ops, first, op->n, n, at);
}

static const char *
get_list(struct reader *reader, const struct op *op, const char *at, char *to)
{
    struct list list = {0};
    size_t cap = 0;
    if (reader->depth_left == 0)
        return invalid(reader, op, at, "it nests deeper than the codec's limit");
    reader->depth_left--;
    struct block block = {0};
    while ((at = get_block(reader, op, at, &block)) && block.n) {
        reader->items_left -= block.n;
        at = get_items(reader, op, at, &list, &cap, block.n);
        at = end_block(reader, op, at, &block);
        if (!at)
            return NULL;
    }
    reader->depth_left++;
    if (at)
        memcpy(to, &list, sizeof list);
    return at;
}

/* Steps over an array or map; blocks that say their length in one go. */
static const char *
skip_list(struct reader *reader, const struct op *op, const char *at)
{
    if (reader->depth_left == 0)
        return invalid(reader, op, at, "it nests deeper than the codec's limit");
    reader->depth_left--;
    struct block block = {0};
    while ((at = get_block(reader, op, at, &block)) && block.n) {
        reader->items_left -= block.n;
        at = block.end ? block.end
                       : run(reader, op->body->ops, &reader->nothing, 0, block.n, at);
        if (!at)
            return NULL;
    }
    reader->depth_left++;
    return at;
}

/* Records may hold records that take no bytes, twice at every level: each call counts. */
static const char *
call(struct reader *reader, const struct op *op, const char *at)
{
    if (reader->depth_left == 0)
        return invalid(reader, op, at, "it nests deeper than the codec's limit");
    if (reader->items_left == 0)
        return invalid(reader, op, at, "more records to skip than the codec's limit");
    reader->items_left--;
    reader->depth_left--;
    at = run(reader, op->body->ops, &reader->nothing, 0, 1, at);
    reader->depth_left++;
    return at;
}

/* A default is a body of our own, read in place of the one at hand. */
static bool
set_default(struct reader *reader, const struct op *op, char *base)
{
    const struct op_default *value = op->value;
    const char *start = reader->start;
    const char *end = reader->end;
    reader->start = value->bytes.data;
    reader->end = value->bytes.data + value->bytes.len;
    const char *at = run(reader, value->body->ops, base, 0, 1, reader->start);
    reader->start = start;
    reader->end = end;
    return at != NULL;
}

HOT struct varint
get_branch(const struct reader *reader, const struct op *op, const char *at)
{
    struct varint index = get_long(reader, op, at);
    if (__builtin_expect(index.next && (uint64_t)index.value >= op->n, 0)) {
        invalid(reader, op, at, "the union has no such branch");
        index.next = NULL;
    }
    return index;
}

static const char *
skip_bytes(const struct reader *reader, const struct op *op, const char *at)
{
    struct varint len = get_long(reader, op, at);
    return len.next ? advance(reader, op, len.next, len.value) : NULL;
}

/* Steps that another writer's schema needs. */
static const char *
run_rare(struct reader *reader, const struct op *op, const char *at, char *to)
{
    switch (op->code) {
    case OP_DEFAULT:
        return set_default(reader, op, to) ? at : NULL;
    case OP_REFUSE:
        return refuse(reader, op, at, "schema_incompatible",
                      "the writer's value has no place in our schema");
    case OP_SKIP_VARINT:
        return get_long(reader, op, at).next;
    case OP_SKIP_FIXED:
        return advance(reader, op, at, op->n);
    case OP_SKIP_BYTES:
        return skip_bytes(reader, op, at);
    case OP_SKIP_LIST:
        return skip_list(reader, op, at);
    case OP_CALL:
        return call(reader, op, at);
    default:
        return get_promoted(reader, op, at, to);
    }
}

/*
 * Runs the steps once for each of `count` items that lie `stride` bytes apart and are
 * zeroed; returns the byte after them. Steps that skip leave `base` alone.
 */
static const char *
run(struct reader *reader,
    const struct op *ops,
    char *base,
    size_t stride,
    size_t count,
    const char *at)
{
    struct varint number;
    for (const struct op *op = ops; __builtin_expect(at != NULL, 1); op++) {
        char *to = base + op->offset;
        switch (op->code) {
        case OP_END:
            if (--count == 0)
                return at;
            base += stride;
            op = ops - 1;
            break;
        case OP_BOOLEAN:
            at = get_bool(reader, op, at, to);
            break;
        case OP_INT:
            number = get_int(reader, op, at);
            at = number.next;
            STORE(to, (int32_t)number.value);
            break;
        case OP_LONG:
            number = get_long(reader, op, at);
            at = number.next;
            STORE(to, number.value);
            break;
        case OP_FLOAT:
            at = get_fixed(reader, op, at, to, sizeof(float));
            break;
        case OP_DOUBLE:
            at = get_fixed(reader, op, at, to, sizeof(double));
            break;
        case OP_OPT_STRING:
            number = get_opt(reader, op, at);
            at = number.next;
            if (!at || number.value == op->null_index)
                break;
            __attribute__((fallthrough));
        case OP_STRING:
            at = get_slice(reader, op, at, to, true);
            break;
        case OP_OPT_BYTES:
            number = get_opt(reader, op, at);
            at = number.next;
            if (!at || number.value == op->null_index)
                break;
            __attribute__((fallthrough));
        case OP_BYTES:
            at = get_slice(reader, op, at, to, false);
            break;
        case OP_FIXED:
            at = get_fixed(reader, op, at, to, op->n);
            break;
        case OP_ENUM:
        case OP_ENUM_BY_NAME:
            at = get_enum(reader, op, at, to);
            break;
        case OP_OPT:
            number = get_opt(reader, op, at);
            at = number.next;
            if (number.value == op->null_index)
                op = ops + op->jump - 1;
            else
                STORE(to, (bool)true);
            break;
        case OP_LIST:
            at = get_list(reader, op, at, to);
            break;
        case OP_UNION:
            number = get_branch(reader, op, at);
            at = number.next;
            if (at)
                op = ops + op->branches[number.value].target - 1;
            break;
        case OP_JUMP:
            op = ops + op->jump - 1;
            break;
        case OP_SET_TAG:
            STORE(to, op->tag);
            break;
        case OP_SET_PRESENT:
            STORE(to, (bool)true);
            break;
        default:
            at = run_rare(reader, op, at, to);
        }
    }
    return NULL;
}

enum err_kind
codec_decode(const struct codec_plan *plan,
             struct slice body,
             struct arena *arena,
             void *ret_value,
             struct err *err)
{
    const struct codec *codec = plan->codec;
    struct err mine;
    mine.kind = ERR_RECORD;
    struct reader reader = {
        .start = body.data ? body.data : "",
        .arena = arena,
        .depth_left = codec->limits.max_depth,
        .items_left = codec->limits.max_items,
        .err = err ? err : &mine,
    };
    reader.end = reader.start + (body.data ? body.len : 0);
    memset(ret_value, 0, codec->type->size);
    const char *at = run(&reader, plan->decode->ops, ret_value, 0, 1, reader.start);
    if (at == reader.end)
        return ERR_OK;
    memset(ret_value, 0, codec->type->size);
    if (!at)
        return reader.err->kind;
    return err_set(err, ERR_RECORD, "body_trailing",
                   "byte %td: %td bytes are left after the record", at - reader.start,
                   reader.end - at);
}

/* NOLINTEND(clang-analyzer-core.*) */
