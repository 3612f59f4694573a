/* SPDX-License-Identifier: Apache-2.0 */
/* Struct to bytes. */
#include "codec_program.h"
#include "utf8.h"
#include "varint.h"

/* ---- Compiling ------------------------------------------------------------------- */

struct body_memo {
    struct body_memo *next;
    const struct field *row; /* of the item */
    const struct schema_node *node;
    struct body body;
};

struct compiler {
    struct codec *codec;
    struct body_memo *memos;
    struct path path;
    size_t depth;
    size_t n_ops;
};

static bool compile_row(struct compiler *compiler,
                        struct program *program,
                        const struct field *row,
                        const struct schema_node *node,
                        size_t base);

static bool
compile_record(struct compiler *compiler,
               struct program *program,
               const struct record_type *type,
               const struct schema_node *node,
               size_t base)
{
    const struct layout *layout = codec_layout(compiler->codec, type, node);
    if (++compiler->depth > PROGRAM_MAX_DEPTH)
        return false;
    for (size_t i = 0; i < node->n_fields; i++) {
        size_t len = path_push(&compiler->path, ".", node->fields[i].name);
        if (!compile_row(compiler, program, layout->rows[i], node->fields[i].type, base))
            return false;
        path_pop(&compiler->path, len);
    }
    compiler->depth--;
    return true;
}

/* The steps of an item, compiled once however often it is referred to. */
static const struct body *
compile_item(struct compiler *compiler,
             const struct field *row,
             const struct schema_node *node)
{
    for (struct body_memo *memo = compiler->memos; memo; memo = memo->next)
        if (memo->row == row && memo->node == node)
            return &memo->body;
    struct arena *memory = &compiler->codec->memory;
    struct body_memo *memo = arena_calloc(memory, 1, sizeof *memo);
    if (!memo)
        return NULL;
    memo->row = row;
    memo->node = node;
    memo->next = compiler->memos;
    compiler->memos = memo;
    struct program program = {.memory = memory};
    size_t depth = compiler->depth;
    compiler->depth = 0;
    if (node->type == SCHEMA_MAP)
        program_add(&program, OP_STRING, 0, &compiler->path);
    bool done = compile_row(compiler, &program, row->of, node->items, 0);
    compiler->depth = depth;
    return done && program_end(&program, &memo->body) ? &memo->body : NULL;
}

static bool
compile_list(struct compiler *compiler,
             struct program *program,
             const struct field *row,
             const struct schema_node *node,
             size_t base)
{
    size_t len = path_push(&compiler->path, "", "[]");
    const struct body *body = compile_item(compiler, row, node);
    path_pop(&compiler->path, len);
    if (!body || row->size > UINT32_MAX)
        return false;
    size_t at = program_add(program, OP_LIST, base + row->offset, &compiler->path);
    if (program->failed)
        return false;
    program->ops[at].n = (uint32_t)row->size;
    program->ops[at].body = body;
    return true;
}

static bool
compile_union(struct compiler *compiler,
              struct program *program,
              const struct field *row,
              const struct schema_node *node,
              size_t base)
{
    struct arena *memory = &compiler->codec->memory;
    struct op_branch *branches = arena_calloc(memory, row->n_of, sizeof *branches);
    size_t *ends = arena_calloc(memory, row->n_of, sizeof *ends);
    size_t at = program_add(program, OP_UNION, base + row->offset, &compiler->path);
    if (!branches || !ends || program->failed)
        return false;
    program->ops[at].n = (uint32_t)row->n_of;
    program->ops[at].branches = branches;
    for (size_t i = 0; i < row->n_of; i++) {
        branches[i] = (struct op_branch){row->of[i].tag, (uint32_t)program->n};
        if (!compile_row(compiler, program, &row->of[i], node->branches[i],
                         base + row->offset))
            return false;
        ends[i] = program_add(program, OP_JUMP, 0, NULL);
    }
    for (size_t i = 0; i < row->n_of && !program->failed; i++)
        program->ops[ends[i]].jump = (uint32_t)program->n;
    return !program->failed;
}

static bool
compile_plain(struct compiler *compiler,
              struct program *program,
              const struct field *row,
              const struct schema_node *node,
              size_t base)
{
    static const enum op_code codes[] = {
        [FIELD_BOOLEAN] = OP_BOOLEAN, [FIELD_INT] = OP_INT,
        [FIELD_LONG] = OP_LONG,       [FIELD_FLOAT] = OP_FLOAT,
        [FIELD_DOUBLE] = OP_DOUBLE,   [FIELD_STRING] = OP_STRING,
        [FIELD_BYTES] = OP_BYTES,     [FIELD_FIXED] = OP_FIXED,
        [FIELD_ENUM] = OP_ENUM,
    };
    if (row->type == FIELD_NULL)
        return true;
    if (row->type == FIELD_RECORD)
        return compile_record(compiler, program, row->record, node, base + row->offset);
    if (row->type == FIELD_ARRAY || row->type == FIELD_MAP)
        return compile_list(compiler, program, row, node, base);
    if (row->type == FIELD_UNION)
        return compile_union(compiler, program, row, node, base);
    size_t at =
        program_add(program, codes[row->type], base + row->offset, &compiler->path);
    if (program->failed)
        return false;
    program->ops[at].n =
        (uint32_t)(row->type == FIELD_ENUM ? node->n_symbols : node->fixed_size);
    return true;
}

static bool
compile_row(struct compiler *compiler,
            struct program *program,
            const struct field *row,
            const struct schema_node *node,
            size_t base)
{
    if (!row->nullable)
        return compile_plain(compiler, program, row, node, base);
    enum op_code code = row->type == FIELD_STRING  ? OP_OPT_STRING
                        : row->type == FIELD_BYTES ? OP_OPT_BYTES
                                                   : OP_OPT;
    size_t offset = base + (code == OP_OPT ? row->present : row->offset);
    size_t at = program_add(program, code, offset, &compiler->path);
    if (program->failed)
        return false;
    program->ops[at].null_index = node->branches[0]->type == SCHEMA_NULL ? 0 : 1;
    if (code != OP_OPT)
        return true;
    if (!compile_plain(compiler, program, row, other_branch(node), base))
        return false;
    program->ops[at].jump = (uint32_t)program->n;
    return true;
}

enum err_kind
codec_compile_encode(struct codec *codec, struct err *err)
{
    struct compiler compiler = {.codec = codec};
    struct program program = {.memory = &codec->memory};
    struct body *body = arena_calloc(&codec->memory, 1, sizeof *body);
    if (!body ||
        !compile_record(&compiler, &program, codec->type, schema_root(codec->schema),
                        0) ||
        !program_end(&program, body))
        return err_set(err, ERR_FATAL, "schema_table",
                       "table of %s, field %s: records nest too deep, the table is too "
                       "large, or no memory",
                       codec->type->name, compiler.path.text);
    codec->encode = body;
    return ERR_OK;
}

/* ---- Running --------------------------------------------------------------------- */

struct writer {
    struct buf *out;
    char *end; /* of the room in `out`, its ceiling counted */
    size_t depth_left;
    size_t items_left;
    enum err_kind kind; /* of what stopped it */
    struct err *err;
};

static char *refuse(struct writer *writer, const struct op *op, const char *what)
    __attribute__((cold, noinline));

static char *
refuse(struct writer *writer, const struct op *op, const char *what)
{
    writer->kind = err_set(writer->err, ERR_RECORD, "body_invalid",
                           "can't write field %s: %s", op->path, what);
    return NULL;
}

/* Room for `len` bytes at `at`; NULL at the ceiling. */
static char *
make_room(struct writer *writer, const char *at, size_t len)
{
    struct buf *out = writer->out;
    if (at)
        out->len = (size_t)(at - out->data);
    if (!buf_reserve(out, len)) {
        writer->kind = buf_check(out, "the record", writer->err);
        return NULL;
    }
    size_t ceiling = out->max ? out->max : BUF_MAX_BYTES;
    writer->end = out->data + (out->cap < ceiling ? out->cap : ceiling);
    return out->data + out->len;
}

static char *
put_bytes(struct writer *writer, char *at, const void *data, size_t len)
{
    if ((size_t)(writer->end - at) < len && !(at = make_room(writer, at, len)))
        return NULL;
    memcpy(at, data, len);
    return at + len;
}

/* Steps that run for every value: a call would cost more than most of them do. */
#define HOT static inline __attribute__((always_inline))

/* Near the end of the room the exact length counts: the ceiling may lie there. */
static char *
put_long_slow(struct writer *writer, char *at, int64_t value)
{
    char bytes[VARINT_MAX_BYTES];
    return put_bytes(writer, at, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

HOT char *
put_long(struct writer *writer, char *at, int64_t value)
{
    if (__builtin_expect(writer->end - at < VARINT_MAX_BYTES, 0))
        return put_long_slow(writer, at, value);
    return varint_put(at, value);
}

HOT char *
put_fixed(struct writer *writer, char *at, const char *from, size_t len)
{
    if (__builtin_expect((size_t)(writer->end - at) < len, 0))
        return put_bytes(writer, at, from, len);
    memcpy(at, from, len);
    return at + len;
}

static char *
put_slice_slow(
    struct writer *writer, const struct op *op, char *at, struct slice text, bool is_text)
{
    if (!text.data)
        return refuse(writer, op, "it has no value, and its schema no null");
    if (text.len > INT64_MAX)
        return refuse(writer, op, "it is too long");
    if (is_text && !utf8_valid(text.data, text.len))
        return refuse(writer, op, "it is not UTF-8");
    at = put_long_slow(writer, at, (int64_t)text.len);
    return at ? put_bytes(writer, at, text.data, text.len) : NULL;
}

/* The room is what the buffer has left, so a text that fits is no longer than that. */
HOT char *
put_slice(
    struct writer *writer, const struct op *op, char *at, struct slice text, bool is_text)
{
    size_t room = (size_t)(writer->end - at);
    if (__builtin_expect(!text.data || room < VARINT_MAX_BYTES ||
                             text.len > room - VARINT_MAX_BYTES,
                         0))
        return put_slice_slow(writer, op, at, text, is_text);
    at = varint_put(at, (int64_t)text.len);
    if (!is_text)
        memcpy(at, text.data, text.len);
    else if (!utf8_copy(at, text.data, text.len))
        return refuse(writer, op, "it is not UTF-8");
    return at + text.len;
}

HOT char *
put_bool(struct writer *writer, char *at, uint8_t value)
{
    char byte = value ? 1 : 0;
    return put_fixed(writer, at, &byte, 1);
}

HOT char *
put_enum(struct writer *writer, const struct op *op, char *at, int32_t position)
{
    if (position < 0 || (uint32_t)position >= op->n)
        return refuse(writer, op, "its enum has no symbol at that position");
    return put_long(writer, at, position);
}

static const struct op_branch *
find_branch(const struct op *op, int32_t tag)
{
    for (uint32_t i = 0; i < op->n; i++)
        if (op->branches[i].tag == tag)
            return &op->branches[i];
    return NULL;
}

static char *
put_list(struct writer *writer, const struct op *op, const struct list *list, char *at);

#define LOAD(type, from)                                                                 \
    __extension__({                                                                      \
        type loaded_;                                                                    \
        memcpy(&loaded_, from, sizeof loaded_);                                          \
        loaded_;                                                                         \
    })

/* Runs the steps once for each of `count` items that lie `stride` bytes apart. */
static char *
run(struct writer *writer,
    const struct op *ops,
    const char *base,
    size_t stride,
    size_t count,
    char *at)
{
    const struct op_branch *branch;
    struct slice text;
    for (const struct op *op = ops; __builtin_expect(at != NULL, 1); op++) {
        const char *from = base + op->offset;
        switch (op->code) {
        case OP_END:
            if (--count == 0)
                return at;
            base += stride;
            op = ops - 1;
            break;
        case OP_BOOLEAN:
            at = put_bool(writer, at, LOAD(uint8_t, from));
            break;
        case OP_INT:
            at = put_long(writer, at, LOAD(int32_t, from));
            break;
        case OP_LONG:
            at = put_long(writer, at, LOAD(int64_t, from));
            break;
        case OP_FLOAT:
            at = put_fixed(writer, at, from, sizeof(float));
            break;
        case OP_DOUBLE:
            at = put_fixed(writer, at, from, sizeof(double));
            break;
        case OP_OPT_STRING:
        case OP_OPT_BYTES:
            text = LOAD(struct slice, from);
            at = put_long(writer, at, text.data ? 1 - op->null_index : op->null_index);
            if (at && text.data)
                at = put_slice(writer, op, at, text, op->code == OP_OPT_STRING);
            break;
        case OP_STRING:
        case OP_BYTES:
            at = put_slice(writer, op, at, LOAD(struct slice, from),
                           op->code == OP_STRING);
            break;
        case OP_FIXED:
            at = put_fixed(writer, at, from, op->n);
            break;
        case OP_ENUM:
            at = put_enum(writer, op, at, LOAD(int32_t, from));
            break;
        case OP_OPT:
            if (LOAD(uint8_t, from)) {
                at = put_long(writer, at, 1 - op->null_index);
                break;
            }
            at = put_long(writer, at, op->null_index);
            op = ops + op->jump - 1;
            break;
        case OP_LIST:
            at = put_list(writer, op, (const struct list *)(const void *)from, at);
            break;
        case OP_UNION:
            branch = find_branch(op, LOAD(int32_t, from));
            if (!branch)
                return refuse(writer, op, "no branch of its union has that tag");
            at = put_long(writer, at, branch - op->branches);
            op = ops + branch->target - 1;
            break;
        case OP_JUMP:
            op = ops + op->jump - 1;
            break;
        default:
            return refuse(writer, op, "its program is broken");
        }
    }
    return NULL;
}

static char *
put_list(struct writer *writer, const struct op *op, const struct list *list, char *at)
{
    if (list->n == 0)
        return put_long(writer, at, 0);
    if (!list->items)
        return refuse(writer, op, "it counts items and has none");
    if (list->n > writer->items_left)
        return refuse(writer, op, "it has more items than the codec's limit");
    if (writer->depth_left == 0)
        return refuse(writer, op, "it nests deeper than the codec's limit");
    writer->items_left -= list->n;
    writer->depth_left--;
    at = put_long(writer, at, (int64_t)list->n);
    if (at)
        at = run(writer, op->body->ops, list->items, op->n, list->n, at);
    writer->depth_left++;
    return at ? put_long(writer, at, 0) : NULL;
}

enum err_kind
codec_encode(const struct codec *codec,
             const void *value,
             struct buf *out,
             struct err *err)
{
    struct writer writer = {
        .out = out,
        .depth_left = codec->limits.max_depth,
        .items_left = codec->limits.max_items,
        .err = err,
    };
    size_t before = out->len;
    char *at = make_room(&writer, NULL, out->data ? 0 : 1);
    if (at)
        at = run(&writer, codec->encode->ops, value, 0, 1, at);
    out->len = at ? (size_t)(at - out->data) : before;
    return at ? ERR_OK : writer.kind;
}
