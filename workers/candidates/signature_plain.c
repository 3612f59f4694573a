/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures from texts as the splitter writes them. */
#include "signature_plain.h"

#include <string.h>

/* A text that is walked once, and where it stands. */
struct walk {
    const char *at;
    const char *end;
};

static bool
step(struct walk *walk, char c)
{
    if (walk->at == walk->end || *walk->at != c)
        return false;
    walk->at++;
    return true;
}

/* A whole number without needless digits. */
static bool
step_number(struct walk *walk)
{
    const char *begin = walk->at;
    step(walk, '-');
    const char *digits = walk->at;
    while (walk->at < walk->end && *walk->at >= '0' && *walk->at <= '9')
        walk->at++;
    size_t n = (size_t)(walk->at - digits);
    return n > 0 && (*digits != '0' || (n == 1 && digits == begin));
}

/* "[1,2]"; `*ret_n` numbers. */
static bool
step_dims(struct walk *walk, size_t *ret_n)
{
    *ret_n = 0;
    if (!step(walk, '['))
        return false;
    if (step(walk, ']'))
        return true;
    do {
        if (!step_number(walk))
            return false;
        ++*ret_n;
    } while (step(walk, ','));
    return step(walk, ']');
}

/* A string without escapes. */
static bool
step_string(struct walk *walk, struct slice *ret_text)
{
    if (!step(walk, '"'))
        return false;
    const char *begin = walk->at;
    while (walk->at < walk->end && *walk->at != '"')
        if (*walk->at == '\\' || (unsigned char)*walk->at < 0x20 ||
            (unsigned char)*walk->at++ >= 0x80)
            return false;
    *ret_text = (struct slice){begin, (size_t)(walk->at - begin)};
    return step(walk, '"');
}

/* The type beside an operand; none left is no type. False: not written plainly. */
static bool
step_type(struct walk *types, bool *more, struct slice *ret_dtype)
{
    struct slice type = {0};
    if (*more) {
        if (!step_string(types, &type))
            return false;
        *more = step(types, ',');
    }
    *ret_dtype = operand_dtype(type);
    return true;
}

static char *
put(char *to, struct slice text)
{
    if (text.len)
        memcpy(to, text.data, text.len);
    return to + text.len;
}

/* The operand whose dims are `body`, "[1,2]", behind those before. */
static char *
put_operand(char *to, struct slice body, size_t n_dims, struct operand *operand)
{
    char *begin = to;
    to = put(to, body);
    begin[0] = '(';
    to[-1] = n_dims == 1 ? ',' : ')';
    if (n_dims == 1)
        *to++ = ')';
    if (operand->dtype.len) {
        *to++ = ' ';
        to = put(to, operand->dtype);
    }
    operand->text = (struct slice){begin, (size_t)(to - begin)};
    return to;
}

/* What is left of the types must be plain, too, for the text to be JSON. */
static bool
end_types(struct walk *types, bool more)
{
    struct slice ignored;
    while (more) {
        if (!step_string(types, &ignored))
            return false;
        more = step(types, ',');
    }
    return step(types, ']') && types->at == types->end;
}

/* Begins the list of types; `*more`: it has items. */
static bool
begin_types(struct walk *types, bool *more)
{
    *more = false;
    if (!types->at)
        return true;
    if (!step(types, '['))
        return false;
    *more = types->at < types->end && *types->at != ']';
    return true;
}

static size_t
count_operands(struct slice dims)
{
    size_t n = 0;
    for (size_t i = 0; i < dims.len; i++)
        n += dims.data[i] == '[';
    return n;
}

/* A separator, the suffix of a type and what a single dimension adds. */
enum { OPERAND_EXTRA_BYTES = 4 + 16 + 2 };

enum plain
signature_plain(struct slice dims,
                struct slice types,
                struct arena *arena,
                struct signature *ret_signature)
{
    struct walk walk = {dims.data, dims.data + dims.len};
    struct walk type_walk = {types.data, types.data ? types.data + types.len : NULL};
    size_t most = count_operands(dims);
    bool more_types = false;
    if (!step(&walk, '[') || !begin_types(&type_walk, &more_types))
        return PLAIN_NOT;
    char *text = arena_alloc(arena, dims.len + most * OPERAND_EXTRA_BYTES);
    struct operand *items = arena_alloc(arena, most * sizeof items[0]);
    if (!text || !items)
        return PLAIN_NO_MEMORY;
    char *to = text;
    size_t n = 0;
    bool more = !step(&walk, ']');
    bool closed = !more;
    while (more) {
        struct slice body = {walk.at, 0};
        size_t n_dims = 0;
        if (!step_dims(&walk, &n_dims) ||
            !step_type(&type_walk, &more_types, &items[n].dtype))
            return PLAIN_NOT;
        body.len = (size_t)(walk.at - body.data);
        if (n_dims) {
            to = n ? put(to, SLICE("<br>")) : to;
            to = put_operand(to, body, n_dims, &items[n]);
            n++;
        }
        more = step(&walk, ',');
        closed = !more && step(&walk, ']');
    }
    if (!closed || walk.at != walk.end ||
        (types.data && !end_types(&type_walk, more_types)))
        return PLAIN_NOT;
    *ret_signature = (struct signature){{text, (size_t)(to - text)}, items, n};
    return PLAIN_DONE;
}
