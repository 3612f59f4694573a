/* SPDX-License-Identifier: Apache-2.0 */
/* Building programs: steps, bodies, and the path that messages name. */
#include "codec_program.h"

#include <stdio.h>

enum { FIRST_OPS = 16 };

static bool
grow(struct program *program)
{
    size_t cap = program->cap ? program->cap * 2 : FIRST_OPS;
    struct op *ops = NULL;
    if (cap <= PROGRAM_MAX_OPS)
        ops = arena_calloc(program->memory, cap, sizeof *ops);
    if (!ops)
        return false;
    if (program->n)
        memcpy(ops, program->ops, program->n * sizeof *ops);
    program->ops = ops;
    program->cap = cap;
    return true;
}

size_t
program_add(struct program *program,
            enum op_code code,
            size_t offset,
            const struct path *path)
{
    static const struct path nowhere = {.text = ""};
    const struct path *where = path ? path : &nowhere;
    if (program->failed || (program->n == program->cap && !grow(program))) {
        program->failed = true;
        return 0;
    }
    struct slice name =
        arena_copy(program->memory, (struct slice){where->text, where->len});
    if (!name.data || offset > UINT32_MAX) {
        program->failed = true;
        return 0;
    }
    program->ops[program->n] =
        (struct op){.code = (uint8_t)code, .offset = (uint32_t)offset, .path = name.data};
    return program->n++;
}

bool
program_end(struct program *program, struct body *body)
{
    program_add(program, OP_END, 0, NULL);
    if (program->failed)
        return false;
    body->ops = program->ops;
    return true;
}

size_t
path_push(struct path *path, const char *between, const char *name)
{
    size_t len = path->len;
    size_t room = sizeof path->text - len;
    int n = snprintf(path->text + len, room, "%s%s", len ? between : "", name);
    if (n > 0)
        path->len += (size_t)n < room ? (size_t)n : room - 1;
    return len;
}

void
path_pop(struct path *path, size_t len)
{
    path->len = len;
    path->text[len] = '\0';
}
