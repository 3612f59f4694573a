/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer's schema against ours, by name ("Schema Resolution" of the Avro specification
 * 1.11), compiled into the steps that read the one into the struct of the other.
 */
#include "codec_program.h"

#include "schema_match.h"

#include <stdlib.h>

/* An item's steps, compiled once however often it is met: schemas may hold themselves. */
struct memo {
    struct memo *next;
    const struct schema_node *writer;
    const struct schema_node *node; /* ours; NULL: steps that skip */
    const struct field *row;
    bool refused; /* the two can't be resolved */
    struct body body;
};

struct planner {
    const struct codec *codec;
    struct arena *memory;
    struct memo *memos;
    struct path path;
    size_t depth;
    size_t n_ops;
    struct err *err; /* never NULL */
};

static bool resolve(struct planner *planner,
                    struct program *program,
                    const struct schema_node *writer,
                    const struct field *row,
                    const struct schema_node *node,
                    size_t base);
static bool
skip(struct planner *planner, struct program *program, const struct schema_node *writer);

/* ---- Failing --------------------------------------------------------------------- */

static const char *
path_of(const struct planner *planner)
{
    return planner->path.len ? planner->path.text : "(root)";
}

static const char *
type_text(const struct schema_node *node)
{
    return node->name ? node->name : schema_type_name(node->type);
}

static bool
incompatible(struct planner *planner,
             const struct schema_node *writer,
             const struct schema_node *node,
             const char *why)
{
    err_set(planner->err, ERR_RECORD, "schema_incompatible",
            "field %s: the writer's %s can't be read as our %s: %s", path_of(planner),
            type_text(writer), type_text(node), why);
    return false;
}

/* Half of the memory can't go in one piece: below that it is the machine that has none.
 */
static bool
too_large(struct planner *planner)
{
    if (planner->n_ops <= PROGRAM_MAX_OPS && planner->depth <= PROGRAM_MAX_DEPTH &&
        planner->memory->taken < PROGRAM_MAX_BYTES / 2) {
        err_no_memory(planner->err, "a plan");
        return false;
    }
    err_set(planner->err, ERR_RECORD, "schema_incompatible",
            "field %s: the schemas nest too deep or resolve to more than %d steps",
            path_of(planner), PROGRAM_MAX_OPS);
    return false;
}

/* Appends a step; false, with the error set, when there is no room for it. */
static bool
add(struct planner *planner,
    struct program *program,
    enum op_code code,
    size_t offset,
    size_t *ret_at)
{
    if (++planner->n_ops > PROGRAM_MAX_OPS)
        return too_large(planner);
    size_t at = program_add(program, code, offset, &planner->path);
    if (program->failed)
        return too_large(planner);
    if (ret_at)
        *ret_at = at;
    return true;
}

/* ---- Items ----------------------------------------------------------------------- */

/*
 * A lower bound of the bytes a value takes. Looks at no more than `*budget` nodes: what
 * lies behind counts as nothing, which is where schemas that hold themselves end.
 */
static uint32_t
least_bytes(const struct schema_node *node, unsigned *budget)
{
    if (*budget == 0)
        return 0;
    --*budget;
    uint64_t sum = 0;
    switch (node->type) {
    case SCHEMA_NULL:
        return 0;
    case SCHEMA_FLOAT:
        return sizeof(float);
    case SCHEMA_DOUBLE:
        return sizeof(double);
    case SCHEMA_FIXED:
        return (uint32_t)node->fixed_size;
    case SCHEMA_RECORD:
        for (size_t i = 0; i < node->n_fields; i++)
            sum += least_bytes(node->fields[i].type, budget);
        return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
    case SCHEMA_BOOLEAN:
    case SCHEMA_INT:
    case SCHEMA_LONG:
    case SCHEMA_BYTES:
    case SCHEMA_STRING:
    case SCHEMA_ENUM:
    case SCHEMA_ARRAY:
    case SCHEMA_MAP:
    case SCHEMA_UNION:
        return 1;
    }
    return 0;
}

static uint32_t
least_item(const struct schema_node *list)
{
    unsigned budget = 256;
    uint32_t key = list->type == SCHEMA_MAP ? 1 : 0;
    uint32_t item = least_bytes(list->items, &budget);
    return item < UINT32_MAX ? item + key : item;
}

static struct memo *
find_memo(const struct planner *planner,
          const struct schema_node *writer,
          const struct schema_node *node,
          const struct field *row)
{
    struct memo *memo = planner->memos;
    while (memo && (memo->writer != writer || memo->node != node || memo->row != row))
        memo = memo->next;
    return memo;
}

static struct memo *
add_memo(struct planner *planner,
         const struct schema_node *writer,
         const struct schema_node *node,
         const struct field *row)
{
    struct memo *memo = arena_calloc(planner->memory, 1, sizeof *memo);
    if (!memo) {
        err_no_memory(planner->err, "a plan");
        return NULL;
    }
    memo->writer = writer;
    memo->node = node;
    memo->row = row;
    memo->next = planner->memos;
    planner->memos = memo;
    return memo;
}

/* Steps that others may already refer to, when they turn out not to resolve. */
static bool
refuse_body(struct planner *planner, struct memo *memo)
{
    struct program program = {.memory = planner->memory};
    memo->refused = true;
    program_add(&program, OP_REFUSE, 0, &planner->path);
    program_end(&program, &memo->body);
    return false;
}

static bool
item_steps(struct planner *planner,
           struct program *program,
           const struct schema_node *writer,
           const struct field *row,
           const struct schema_node *node)
{
    bool is_map = writer->type == SCHEMA_MAP;
    if (!node) {
        if (is_map && !add(planner, program, OP_SKIP_BYTES, 0, NULL))
            return false;
        return skip(planner, program, writer->items);
    }
    if (is_map && !add(planner, program, OP_STRING, 0, NULL))
        return false;
    return resolve(planner, program, writer->items, row->of, node->items, 0);
}

/* The steps of an item of an array or map; of a record to skip, those of its fields. */
static struct memo *
body_for(struct planner *planner,
         const struct schema_node *writer,
         const struct field *row,
         const struct schema_node *node)
{
    struct memo *memo = find_memo(planner, writer, node, row);
    if (memo || !(memo = add_memo(planner, writer, node, row)))
        return memo;
    struct program program = {.memory = planner->memory};
    bool done = true;
    if (writer->type == SCHEMA_RECORD)
        for (size_t i = 0; done && i < writer->n_fields; i++)
            done = skip(planner, &program, writer->fields[i].type);
    else
        done = item_steps(planner, &program, writer, row, node);
    if (done && !program_end(&program, &memo->body))
        done = too_large(planner);
    if (!done)
        refuse_body(planner, memo);
    return memo;
}

static bool
resolve_list(struct planner *planner,
             struct program *program,
             const struct schema_node *writer,
             const struct field *row,
             const struct schema_node *node,
             size_t base)
{
    size_t len = path_push(&planner->path, "", "[]");
    const struct memo *memo = body_for(planner, writer, row, node);
    bool refused = memo && memo->refused;
    if (refused && planner->err->kind == ERR_OK)
        incompatible(planner, writer, node, "its items can't be resolved");
    path_pop(&planner->path, len);
    size_t at = 0;
    if (!memo || refused || !add(planner, program, OP_LIST, base + row->offset, &at))
        return false;
    program->ops[at].n = (uint32_t)row->size;
    program->ops[at].least = least_item(writer);
    program->ops[at].body = &memo->body;
    return true;
}

/* ---- Skipping -------------------------------------------------------------------- */

static bool
skip_body(struct planner *planner,
          struct program *program,
          enum op_code code,
          const struct schema_node *writer)
{
    const struct memo *memo = body_for(planner, writer, NULL, NULL);
    size_t at = 0;
    if (!memo || memo->refused || !add(planner, program, code, 0, &at))
        return false;
    program->ops[at].body = &memo->body;
    if (code == OP_SKIP_LIST)
        program->ops[at].least = least_item(writer);
    return true;
}

/* Lets every branch go on behind the last one. */
static void
join_branches(struct program *program, const size_t *ends, size_t n)
{
    for (size_t i = 0; i < n; i++)
        program->ops[ends[i]].jump = (uint32_t)program->n;
}

struct fork {
    struct op_branch *branches;
    size_t *ends;
    size_t n;
};

static bool
add_fork(struct planner *planner,
         struct program *program,
         const struct schema_node *writer,
         struct fork *ret)
{
    size_t n = writer->n_branches;
    size_t at = 0;
    ret->n = n;
    ret->branches = arena_calloc(planner->memory, n, sizeof *ret->branches);
    ret->ends = arena_calloc(planner->memory, n, sizeof *ret->ends);
    if (!ret->branches || !ret->ends)
        return too_large(planner);
    if (!add(planner, program, OP_UNION, 0, &at))
        return false;
    program->ops[at].n = (uint32_t)n;
    program->ops[at].branches = ret->branches;
    return true;
}

static bool
skip_union(struct planner *planner,
           struct program *program,
           const struct schema_node *writer)
{
    struct fork fork;
    if (!add_fork(planner, program, writer, &fork))
        return false;
    for (size_t i = 0; i < fork.n; i++) {
        fork.branches[i].target = (uint32_t)program->n;
        if (!skip(planner, program, writer->branches[i]) ||
            !add(planner, program, OP_JUMP, 0, &fork.ends[i]))
            return false;
    }
    join_branches(program, fork.ends, fork.n);
    return true;
}

static bool
skip_fixed(struct planner *planner, struct program *program, size_t size)
{
    size_t at = 0;
    if (!add(planner, program, OP_SKIP_FIXED, 0, &at))
        return false;
    program->ops[at].n = (uint32_t)size;
    return true;
}

static bool
skip(struct planner *planner, struct program *program, const struct schema_node *writer)
{
    switch (writer->type) {
    case SCHEMA_NULL:
        return true;
    case SCHEMA_BOOLEAN:
        return skip_fixed(planner, program, 1);
    case SCHEMA_FLOAT:
        return skip_fixed(planner, program, sizeof(float));
    case SCHEMA_DOUBLE:
        return skip_fixed(planner, program, sizeof(double));
    case SCHEMA_FIXED:
        return skip_fixed(planner, program, writer->fixed_size);
    case SCHEMA_INT:
    case SCHEMA_LONG:
    case SCHEMA_ENUM:
        return add(planner, program, OP_SKIP_VARINT, 0, NULL);
    case SCHEMA_BYTES:
    case SCHEMA_STRING:
        return add(planner, program, OP_SKIP_BYTES, 0, NULL);
    case SCHEMA_ARRAY:
    case SCHEMA_MAP:
        return skip_body(planner, program, OP_SKIP_LIST, writer);
    case SCHEMA_RECORD:
        return skip_body(planner, program, OP_CALL, writer);
    case SCHEMA_UNION:
        return skip_union(planner, program, writer);
    }
    return false;
}

/* ---- Records --------------------------------------------------------------------- */

static bool
is_alias(const struct schema_field *field, const char *name)
{
    for (size_t i = 0; i < field->n_aliases; i++)
        if (strcmp(field->aliases[i], name) == 0)
            return true;
    return false;
}

/*
 * Which of our fields takes each of the writer's: by name first, then by our aliases.
 * `taken[i]` is 1 + the position of our field, 0 for a field that we lack.
 */
static void
match_fields(const struct schema_node *writer,
             const struct schema_node *node,
             size_t *taken,
             bool *given)
{
    for (size_t i = 0; i < writer->n_fields; i++)
        for (size_t k = 0; k < node->n_fields && !taken[i]; k++)
            if (strcmp(writer->fields[i].name, node->fields[k].name) == 0) {
                taken[i] = k + 1;
                given[k] = true;
            }
    for (size_t i = 0; i < writer->n_fields; i++)
        for (size_t k = 0; k < node->n_fields && !taken[i]; k++)
            if (!given[k] && is_alias(&node->fields[k], writer->fields[i].name)) {
                taken[i] = k + 1;
                given[k] = true;
            }
}

/* A field that the writer lacks: its default is read as a body of our own schema. */
static bool
add_default(struct planner *planner,
            struct program *program,
            const struct field *row,
            const struct schema_field *field,
            size_t base)
{
    if (!field->default_body.data) {
        err_set(planner->err, ERR_RECORD, "schema_incompatible",
                "field %s: the writer lacks it and it has no default", path_of(planner));
        return false;
    }
    const struct schema_node *first =
        field->type->type == SCHEMA_UNION ? field->type->branches[0] : field->type;
    if (row->nullable && first->type == SCHEMA_NULL)
        return true;
    struct op_default *value = arena_calloc(planner->memory, 1, sizeof *value);
    struct body *body = arena_calloc(planner->memory, 1, sizeof *body);
    struct program inner = {.memory = planner->memory};
    if (!value || !body)
        return too_large(planner);
    if (!resolve(planner, &inner, field->type, row, field->type, base))
        return false;
    size_t at = 0;
    if (!program_end(&inner, body) || !add(planner, program, OP_DEFAULT, 0, &at))
        return too_large(planner);
    *value = (struct op_default){field->default_body, body};
    program->ops[at].value = value;
    return true;
}

static bool
resolve_fields(struct planner *planner,
               struct program *program,
               const struct schema_node *writer,
               const struct layout *layout,
               const size_t *taken,
               size_t base)
{
    for (size_t i = 0; i < writer->n_fields; i++) {
        const struct schema_field *theirs = &writer->fields[i];
        size_t len = path_push(&planner->path, ".", theirs->name);
        size_t k = taken[i];
        bool done = k ? resolve(planner, program, theirs->type, layout->rows[k - 1],
                                layout->node->fields[k - 1].type, base)
                      : skip(planner, program, theirs->type);
        if (!done)
            return false;
        path_pop(&planner->path, len);
    }
    return true;
}

static bool
resolve_record(struct planner *planner,
               struct program *program,
               const struct schema_node *writer,
               const struct layout *layout,
               size_t base)
{
    const struct schema_node *node = layout->node;
    size_t *taken = arena_calloc(planner->memory, writer->n_fields, sizeof *taken);
    bool *given = arena_calloc(planner->memory, node->n_fields, sizeof *given);
    if (!taken || !given || ++planner->depth > PROGRAM_MAX_DEPTH)
        return too_large(planner);
    match_fields(writer, node, taken, given);
    if (!resolve_fields(planner, program, writer, layout, taken, base))
        return false;
    for (size_t k = 0; k < node->n_fields; k++) {
        if (given[k])
            continue;
        size_t len = path_push(&planner->path, ".", node->fields[k].name);
        if (!add_default(planner, program, layout->rows[k], &node->fields[k], base))
            return false;
        path_pop(&planner->path, len);
    }
    planner->depth--;
    return true;
}

/* ---- Single values --------------------------------------------------------------- */

static int32_t
position_of(const struct schema_node *node, const char *symbol)
{
    for (size_t i = 0; symbol && i < node->n_symbols; i++)
        if (strcmp(node->symbols[i], symbol) == 0)
            return (int32_t)i;
    return -1;
}

static bool
resolve_enum(struct planner *planner,
             struct program *program,
             const struct schema_node *writer,
             const struct schema_node *node,
             size_t offset)
{
    int32_t *positions =
        arena_calloc(planner->memory, writer->n_symbols, sizeof *positions);
    if (!positions)
        return too_large(planner);
    int32_t fallback = position_of(node, node->enum_default);
    bool same = true;
    for (size_t i = 0; i < writer->n_symbols; i++) {
        int32_t ours = position_of(node, writer->symbols[i]);
        positions[i] = ours < 0 ? fallback : ours;
        same = same && ours == (int32_t)i;
    }
    size_t at = 0;
    if (!add(planner, program, same ? OP_ENUM : OP_ENUM_BY_NAME, offset, &at))
        return false;
    program->ops[at].n = (uint32_t)writer->n_symbols;
    program->ops[at].positions = positions;
    return true;
}

/* Steps for types without parts, by ours and the writer's. */
static enum op_code
plain_code(enum schema_type writer, enum schema_type ours)
{
    static const enum op_code codes[SCHEMA_UNION + 1][SCHEMA_UNION + 1] = {
        [SCHEMA_BOOLEAN] = {[SCHEMA_BOOLEAN] = OP_BOOLEAN},
        [SCHEMA_INT] = {[SCHEMA_INT] = OP_INT,
                        [SCHEMA_LONG] = OP_INT_TO_LONG,
                        [SCHEMA_FLOAT] = OP_INT_TO_FLOAT,
                        [SCHEMA_DOUBLE] = OP_INT_TO_DOUBLE},
        [SCHEMA_LONG] = {[SCHEMA_LONG] = OP_LONG,
                         [SCHEMA_FLOAT] = OP_LONG_TO_FLOAT,
                         [SCHEMA_DOUBLE] = OP_LONG_TO_DOUBLE},
        [SCHEMA_FLOAT] =
            {[SCHEMA_FLOAT] = OP_FLOAT, [SCHEMA_DOUBLE] = OP_FLOAT_TO_DOUBLE},
        [SCHEMA_DOUBLE] = {[SCHEMA_DOUBLE] = OP_DOUBLE},
        /* What either side calls a string is UTF-8. */
        [SCHEMA_STRING] = {[SCHEMA_STRING] = OP_STRING, [SCHEMA_BYTES] = OP_STRING},
        [SCHEMA_BYTES] = {[SCHEMA_STRING] = OP_STRING, [SCHEMA_BYTES] = OP_BYTES},
        [SCHEMA_FIXED] = {[SCHEMA_FIXED] = OP_FIXED},
    };
    return codes[writer][ours];
}

static bool
resolve_plain(struct planner *planner,
              struct program *program,
              const struct schema_node *writer,
              const struct field *row,
              const struct schema_node *node,
              size_t base)
{
    size_t offset = base + row->offset;
    if (schema_fit(writer, node) == SCHEMA_FIT_NONE)
        return incompatible(planner, writer, node,
                            writer->type == SCHEMA_FIXED && node->type == SCHEMA_FIXED
                                ? "names or sizes differ"
                            : writer->type == node->type ? "names differ"
                                                         : "types differ");
    if (node->type == SCHEMA_NULL)
        return true;
    if (node->type == SCHEMA_RECORD)
        return resolve_record(planner, program, writer,
                              codec_layout(planner->codec, row->record, node), offset);
    if (node->type == SCHEMA_ARRAY || node->type == SCHEMA_MAP)
        return resolve_list(planner, program, writer, row, node, base);
    if (node->type == SCHEMA_ENUM)
        return resolve_enum(planner, program, writer, node, offset);
    size_t at = 0;
    if (!add(planner, program, plain_code(writer->type, node->type), offset, &at))
        return false;
    program->ops[at].n = (uint32_t)node->fixed_size;
    return true;
}

/* ---- Unions ---------------------------------------------------------------------- */

/* A value, not a union, into what is a union with null of ours. */
static bool
resolve_into_nullable(struct planner *planner,
                      struct program *program,
                      const struct schema_node *writer,
                      const struct field *row,
                      const struct schema_node *node,
                      size_t base)
{
    if (writer->type == SCHEMA_NULL)
        return true;
    if (!field_is_slice(row) &&
        !add(planner, program, OP_SET_PRESENT, base + row->present, NULL))
        return false;
    return resolve_plain(planner, program, writer, row, other_branch(node), base);
}

static bool
resolve_into_union(struct planner *planner,
                   struct program *program,
                   const struct schema_node *writer,
                   const struct field *row,
                   const struct schema_node *node,
                   size_t base)
{
    size_t i = schema_fit_branch(writer, node);
    if (i == node->n_branches)
        return incompatible(planner, writer, node, "no branch of it fits");
    size_t at = 0;
    if (!add(planner, program, OP_SET_TAG, base + row->offset, &at))
        return false;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): add() made room for it */
    program->ops[at].tag = row->of[i].tag;
    return resolve_plain(planner, program, writer, &row->of[i], node->branches[i],
                         base + row->offset);
}

static bool
resolve_value(struct planner *planner,
              struct program *program,
              const struct schema_node *writer,
              const struct field *row,
              const struct schema_node *node,
              size_t base)
{
    if (row->nullable)
        return resolve_into_nullable(planner, program, writer, row, node, base);
    if (row->type == FIELD_UNION)
        return resolve_into_union(planner, program, writer, row, node, base);
    return resolve_plain(planner, program, writer, row, node, base);
}

/* What a branch that can't be resolved must leave as it was. */
struct attempt {
    struct err *outer;
    struct err err;
    struct path path;
    size_t depth;
    size_t n;
};

static void
attempt_begin(struct planner *planner,
              const struct program *program,
              struct attempt *attempt)
{
    *attempt = (struct attempt){
        .outer = planner->err,
        .path = planner->path,
        .depth = planner->depth,
        .n = program->n,
    };
    planner->err = &attempt->err;
}

/*
 * Whether the plan can go on: a branch that could not be resolved is refused when it is
 * met, and `*n_refused` counts it.
 */
static bool
attempt_end(struct planner *planner,
            struct program *program,
            const struct attempt *attempt,
            bool done,
            size_t *n_refused)
{
    planner->err = attempt->outer;
    planner->path = attempt->path;
    planner->depth = attempt->depth;
    if (done)
        return true;
    *planner->err = attempt->err;
    if (attempt->err.kind != ERR_RECORD || program->failed ||
        planner->n_ops > PROGRAM_MAX_OPS)
        return false;
    program->n = attempt->n;
    ++*n_refused;
    return add(planner, program, OP_REFUSE, 0, NULL);
}

/* The writer's [null, T] into our nullable T: one step decides. */
static bool
resolve_pair(struct planner *planner,
             struct program *program,
             const struct schema_node *writer,
             const struct field *row,
             const struct schema_node *node,
             size_t base)
{
    const struct schema_node *theirs = other_branch(writer);
    const struct schema_node *ours = other_branch(node);
    bool is_slice = field_is_slice(row);
    enum op_code code = OP_OPT;
    if (is_slice)
        code = plain_code(theirs->type, ours->type) == OP_STRING ? OP_OPT_STRING
                                                                 : OP_OPT_BYTES;
    size_t at = 0;
    if (!add(planner, program, code, base + (is_slice ? row->offset : row->present), &at))
        return false;
    program->ops[at].null_index = writer->branches[0]->type == SCHEMA_NULL ? 0 : 1;
    if (is_slice)
        return true;
    struct attempt attempt;
    size_t n_refused = 0;
    attempt_begin(planner, program, &attempt);
    bool done = resolve_plain(planner, program, theirs, row, ours, base);
    if (!attempt_end(planner, program, &attempt, done, &n_refused))
        return false;
    program->ops[at].jump = (uint32_t)program->n;
    return true;
}

static bool
is_pair(const struct schema_node *writer,
        const struct field *row,
        const struct schema_node *node)
{
    return row->nullable && writer->n_branches == 2 &&
           (writer->branches[0]->type == SCHEMA_NULL ||
            writer->branches[1]->type == SCHEMA_NULL) &&
           schema_fit(other_branch(writer), other_branch(node)) != SCHEMA_FIT_NONE;
}

static bool
resolve_union(struct planner *planner,
              struct program *program,
              const struct schema_node *writer,
              const struct field *row,
              const struct schema_node *node,
              size_t base)
{
    struct fork fork;
    size_t n_refused = 0;
    if (!add_fork(planner, program, writer, &fork))
        return false;
    for (size_t i = 0; i < fork.n; i++) {
        struct attempt attempt;
        fork.branches[i].target = (uint32_t)program->n;
        attempt_begin(planner, program, &attempt);
        bool done = resolve_value(planner, program, writer->branches[i], row, node, base);
        if (!attempt_end(planner, program, &attempt, done, &n_refused) ||
            !add(planner, program, OP_JUMP, 0, &fork.ends[i]))
            return false;
    }
    join_branches(program, fork.ends, fork.n);
    if (n_refused == fork.n)
        return incompatible(planner, writer, node, "none of its branches fits");
    return true;
}

static bool
resolve(struct planner *planner,
        struct program *program,
        const struct schema_node *writer,
        const struct field *row,
        const struct schema_node *node,
        size_t base)
{
    if (writer->type != SCHEMA_UNION)
        return resolve_value(planner, program, writer, row, node, base);
    if (is_pair(writer, row, node))
        return resolve_pair(planner, program, writer, row, node, base);
    return resolve_union(planner, program, writer, row, node, base);
}

/* ---- Plans ----------------------------------------------------------------------- */

static bool
plan_root(struct planner *planner,
          struct program *program,
          const struct schema_node *writer)
{
    const struct codec *codec = planner->codec;
    const struct schema_node *node = schema_root(codec->schema);
    const struct field root = {.type = FIELD_RECORD, .record = codec->type};
    return resolve(planner, program, writer, &root, node, 0);
}

struct codec_plan *
codec_plan_new(const struct codec *codec, const struct schema *writer, struct err *err)
{
    struct err cause = {0};
    struct codec_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        err_no_memory(err, "a plan");
        return NULL;
    }
    plan->codec = codec;
    arena_init(&plan->memory, PROGRAM_MAX_BYTES);
    struct planner planner = {.codec = codec, .memory = &plan->memory, .err = &cause};
    struct program program = {.memory = &plan->memory};
    struct body *body = arena_calloc(&plan->memory, 1, sizeof *body);
    bool done = body && plan_root(&planner, &program, schema_root(writer));
    if (done && program_end(&program, body)) {
        plan->decode = body;
        return plan;
    }
    if (!cause.kind)
        err_no_memory(&cause, "a plan");
    if (err)
        *err = cause;
    codec_plan_free(plan);
    return NULL;
}

void
codec_plan_free(struct codec_plan *plan)
{
    if (!plan)
        return;
    arena_done(&plan->memory);
    free(plan);
}
