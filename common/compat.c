/* SPDX-License-Identifier: Apache-2.0 */
/* Compatibility of schemas, offline. */
#include "compat.h"

#include "arena.h"
#include "cleanup.h"
#include "schema_match.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PATH_BYTES = 16 * 1024, MAX_PROBLEM_BYTES = 1 << 20 };

static const char *const mode_names[COMPAT_MODES] = {
    [COMPAT_NONE] = "NONE",
    [COMPAT_BACKWARD] = "BACKWARD",
    [COMPAT_BACKWARD_TRANSITIVE] = "BACKWARD_TRANSITIVE",
    [COMPAT_FORWARD] = "FORWARD",
    [COMPAT_FORWARD_TRANSITIVE] = "FORWARD_TRANSITIVE",
    [COMPAT_FULL] = "FULL",
    [COMPAT_FULL_TRANSITIVE] = "FULL_TRANSITIVE",
};

const char *
compat_mode_name(enum compat_mode mode)
{
    return (unsigned)mode < COMPAT_MODES ? mode_names[mode] : NULL;
}

bool
compat_mode_parse(const char *name, enum compat_mode *ret_mode)
{
    for (int i = 0; i < COMPAT_MODES; i++)
        if (strcmp(mode_names[i], name) == 0) {
            *ret_mode = (enum compat_mode)i;
            return true;
        }
    return false;
}

struct walk {
    struct buf path;
    struct buf *problems;
    size_t n;
    /* Pairs that were looked at or are being: a recursive schema ends here, and a type
     * that is used twice is reported once. One byte each, writer-major. */
    unsigned char *seen;
    size_t n_readers;
};

static void walk_types(struct walk *walk,
                       const struct schema_node *writer,
                       const struct schema_node *reader);

static void report(struct walk *walk, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
report(struct walk *walk, const char *fmt, ...)
{
    char why[2 * SCHEMA_MAX_NAME_BYTES + 256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    walk->n++;
    buf_addf(walk->problems, "%s: %s\n", walk->path.len ? buf_text(&walk->path) : "/",
             why);
}

static size_t
push(struct walk *walk, const char *step, const char *name)
{
    size_t len = walk->path.len;
    buf_addf(&walk->path, "/%s%s%s", step, *name ? "/" : "", name);
    return len;
}

static void
pop(struct walk *walk, size_t len)
{
    walk->path.len = len;
}

static const char *
type_text(const struct schema_node *node)
{
    return node->name ? node->name : schema_type_name(node->type);
}

static void
walk_records(struct walk *walk,
             const struct schema_node *writer,
             const struct schema_node *reader)
{
    for (size_t i = 0; i < reader->n_fields; i++) {
        const struct schema_field *ours = &reader->fields[i];
        const struct schema_field *theirs = schema_fit_field(writer, reader, ours);
        size_t len = push(walk, "fields", ours->name);
        if (theirs)
            walk_types(walk, theirs->type, ours->type);
        else if (!ours->default_body.data)
            report(walk, "the field is not in the writer's %s and has no default",
                   type_text(writer));
        pop(walk, len);
    }
}

static bool
has_symbol(const struct schema_node *node, const char *symbol)
{
    for (size_t i = 0; i < node->n_symbols; i++)
        if (strcmp(node->symbols[i], symbol) == 0)
            return true;
    return false;
}

static void
walk_enums(struct walk *walk,
           const struct schema_node *writer,
           const struct schema_node *reader)
{
    if (reader->enum_default)
        return;
    for (size_t i = 0; i < writer->n_symbols; i++)
        if (!has_symbol(reader, writer->symbols[i]))
            report(walk,
                   "the writer's symbol %s is not among the reader's, and the enum %s "
                   "has no default",
                   writer->symbols[i], type_text(reader));
}

/* A value of `writer`, which is no union, read by the union `reader`. */
static void
walk_into_union(struct walk *walk,
                const struct schema_node *writer,
                const struct schema_node *reader)
{
    size_t at = schema_fit_branch(writer, reader);
    if (at == reader->n_branches) {
        report(walk, "the writer's %s fits no branch of the reader's union",
               type_text(writer));
        return;
    }
    size_t len = push(walk, "branch", type_text(reader->branches[at]));
    walk_types(walk, writer, reader->branches[at]);
    pop(walk, len);
}

static void
walk_plain(struct walk *walk,
           const struct schema_node *writer,
           const struct schema_node *reader)
{
    if (schema_fit(writer, reader) == SCHEMA_FIT_NONE) {
        report(walk, "the writer's %s can't be read as %s", type_text(writer),
               type_text(reader));
        return;
    }
    if (reader->type == SCHEMA_RECORD) {
        walk_records(walk, writer, reader);
    } else if (reader->type == SCHEMA_ENUM) {
        walk_enums(walk, writer, reader);
    } else if (reader->type == SCHEMA_ARRAY || reader->type == SCHEMA_MAP) {
        size_t len = push(walk, reader->type == SCHEMA_ARRAY ? "items" : "values", "");
        walk_types(walk, writer->items, reader->items);
        pop(walk, len);
    }
}

static void
walk_types(struct walk *walk,
           const struct schema_node *writer,
           const struct schema_node *reader)
{
    unsigned char *seen = &walk->seen[writer->index * walk->n_readers + reader->index];
    if (*seen)
        return;
    *seen = 1;
    if (writer->type == SCHEMA_UNION)
        for (size_t i = 0; i < writer->n_branches; i++)
            walk_types(walk, writer->branches[i], reader);
    else if (reader->type == SCHEMA_UNION)
        walk_into_union(walk, writer, reader);
    else
        walk_plain(walk, writer, reader);
}

size_t
compat_can_read(const struct schema *reader,
                const struct schema *writer,
                struct buf *problems)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct walk walk = {.problems = problems, .n_readers = schema_node_count(reader)};
    walk.seen = arena_calloc(&arena, schema_node_count(writer), walk.n_readers);
    if (!walk.seen) {
        buf_add_str(problems, "/: the schemas are too large to compare\n");
        return 1;
    }
    buf_init(&walk.path, MAX_PATH_BYTES);
    walk_types(&walk, schema_root(writer), schema_root(reader));
    buf_done(&walk.path);
    return walk.n;
}

static size_t
check_direction(const struct schema *reader,
                const struct schema *writer,
                size_t version,
                bool backward,
                struct buf *problems)
{
    CLEANUP(buf_done) struct buf found;
    buf_init(&found, MAX_PROBLEM_BYTES);
    size_t n = compat_can_read(reader, writer, &found);
    struct slice rest = buf_slice(&found);
    while (rest.len > 0) {
        const char *end = memchr(rest.data, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.data) + 1 : rest.len;
        buf_addf(problems,
                 backward ? "reading version %zu with the new schema: "
                          : "reading the new schema with version %zu: ",
                 version);
        buf_add(problems, rest.data, len);
        rest.data += len;
        rest.len -= len;
    }
    return n;
}

size_t
compat_check(enum compat_mode mode,
             const struct schema *candidate,
             const struct schema *const *released,
             size_t n_released,
             struct buf *problems)
{
    bool full = mode == COMPAT_FULL || mode == COMPAT_FULL_TRANSITIVE;
    bool backward = full || mode == COMPAT_BACKWARD || mode == COMPAT_BACKWARD_TRANSITIVE;
    bool forward = full || mode == COMPAT_FORWARD || mode == COMPAT_FORWARD_TRANSITIVE;
    bool transitive = mode == COMPAT_BACKWARD_TRANSITIVE ||
                      mode == COMPAT_FORWARD_TRANSITIVE || mode == COMPAT_FULL_TRANSITIVE;
    size_t n = 0;
    for (size_t i = transitive || n_released == 0 ? 0 : n_released - 1; i < n_released;
         i++) {
        if (backward)
            n += check_direction(candidate, released[i], i + 1, true, problems);
        if (forward)
            n += check_direction(released[i], candidate, i + 1, false, problems);
    }
    return n;
}
