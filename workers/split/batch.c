/* SPDX-License-Identifier: Apache-2.0 */
/* Batch sizes of steps, and which of them hold a prefill. */
#include "batch.h"

#include "wide.h"

#include <stdlib.h>

enum { MIN_SIZES = 4, DROPPED = 2, USUAL_SIZE = 64, FIRST_TALLIES = 16 };

/* --- labels ------------------------------------------------------------------------ */

static int
compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The distinct positive sizes, ascending. */
static size_t
list_sizes(const struct batch_size *sizes, size_t n, int64_t *list)
{
    size_t count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (sizes[i].is_known && sizes[i].size > 0)
            list[count++] = sizes[i].size;
    if (count > 0)
        qsort(list, count, sizeof *list, compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

/* The size below the widest gap, if that at least doubles. */
static struct batch_size
find_threshold(const int64_t *list, size_t n)
{
    if (n >= MIN_SIZES && list[DROPPED] <= USUAL_SIZE) {
        list += DROPPED;
        n -= DROPPED;
    }
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (best == 0 ||
            (int128)list[i] * list[best - 1] > (int128)list[best] * list[i - 1])
            best = i;
    if (best == 0 || list[best] < (int128)2 * list[best - 1])
        return (struct batch_size){0};
    return (struct batch_size){true, list[best - 1]};
}

enum err_kind
batch_label(const struct batch_size *sizes,
            size_t n,
            struct batch_size max_num_seq,
            struct arena *arena,
            bool *ret_is_prefill,
            struct batch_size *ret_threshold,
            struct err *err)
{
    *ret_threshold = max_num_seq;
    if (!max_num_seq.is_known) {
        int64_t *list = arena_calloc(arena, n, sizeof *list);
        if (!list)
            return err_no_memory(err, "the batch sizes of a trace");
        *ret_threshold = find_threshold(list, list_sizes(sizes, n, list));
    }
    for (size_t i = 0; i < n; i++)
        ret_is_prefill[i] = ret_threshold->is_known && sizes[i].is_known &&
                            sizes[i].size > ret_threshold->size;
    return ERR_OK;
}

bool
batch_is_memory_op(struct slice name)
{
    static const char *const ops[] = {
        "view",
        "_unsafe_view",
        "reshape",
        "_reshape_alias",
        "expand",
        "expand_as",
        "as_strided",
        "t",
        "transpose",
        "permute",
        "slice",
        "select",
        "narrow",
        "unsqueeze",
        "squeeze",
        "split",
        "split_with_sizes",
        "chunk",
        "unbind",
        "flatten",
        "alias",
        "detach",
        "contiguous",
        "clone",
        "copy_",
        "to",
        "_to_copy",
        "empty",
        "empty_like",
        "empty_strided",
        "zeros",
        "zeros_like",
        "zero_",
        "ones",
        "ones_like",
        "full",
        "full_like",
        "fill_",
        "resize_",
        "item",
        "_local_scalar_dense",
    };
    static const struct slice space = {"aten::", sizeof "aten::" - 1};
    if (name.len < space.len || memcmp(name.data, space.data, space.len) != 0)
        return false;
    struct slice op = {name.data + space.len, name.len - space.len};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (slice_is(op, ops[i]))
            return true;
    return false;
}

/* --- dims -------------------------------------------------------------------------- */

/* An integer that is all of the value at `text`. */
static struct batch_size
read_integer(struct slice text)
{
    size_t i = text.len > 0 && text.data[0] == '-';
    bool is_negative = i;
    uint64_t number = 0;
    size_t first = i;
    for (; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(text.data[i] - '0'), &number) ||
            number > INT64_MAX)
            return (struct batch_size){0};
    if (i == first || i == text.len || (text.data[i] != ',' && text.data[i] != ']'))
        return (struct batch_size){0};
    return (struct batch_size){true, is_negative ? -(int64_t)number : (int64_t)number};
}

/* The first element of the operand at `at`, when that is a list. */
static struct batch_size
operand_size(struct slice dims, size_t at)
{
    if (at >= dims.len || dims.data[at] != '[')
        return (struct batch_size){0};
    return read_integer((struct slice){dims.data + at + 1, dims.len - at - 1});
}

/* Offset behind the string that begins at `at`. */
static size_t
skip_string(struct slice text, size_t at)
{
    for (at++; at < text.len && text.data[at] != '"'; at++)
        at += text.data[at] == '\\';
    return at + 1;
}

/* Offset of the next element of the outer list behind the one at `at`; len: none. */
static size_t
next_operand(struct slice dims, size_t at)
{
    size_t depth = 1;
    while (at < dims.len) {
        char c = dims.data[at];
        if (c == '"') {
            at = skip_string(dims, at);
            continue;
        }
        depth += c == '[' || c == '{';
        depth -= c == ']' || c == '}';
        if (depth == 0)
            break;
        at++;
        if (c == ',' && depth == 1)
            return at;
    }
    return dims.len;
}

struct batch_tally {
    int64_t size;
    uint64_t n;
};

static enum err_kind
count_size(struct batch_count *count, int64_t size, struct err *err)
{
    for (size_t i = 0; i < count->n; i++)
        if (count->tallies[i].size == size) {
            count->tallies[i].n++;
            return ERR_OK;
        }
    if (count->n == count->cap) {
        size_t cap = count->cap ? count->cap * 2 : FIRST_TALLIES;
        struct batch_tally *more = arena_calloc(count->arena, cap, sizeof *more);
        if (!more)
            return err_no_memory(err, "the batch sizes of a step");
        if (count->n)
            memcpy(more, count->tallies, count->n * sizeof *more);
        count->tallies = more;
        count->cap = cap;
    }
    count->tallies[count->n++] = (struct batch_tally){size, 1};
    return ERR_OK;
}

enum err_kind
batch_count_dims(struct batch_count *count, struct slice dims, struct err *err)
{
    if (dims.len == 0 || dims.data[0] != '[')
        return ERR_OK;
    for (size_t at = 1; at < dims.len; at = next_operand(dims, at)) {
        struct batch_size size = operand_size(dims, at);
        if (size.is_known && count_size(count, size.size, err))
            return err->kind;
    }
    return ERR_OK;
}

struct batch_size
batch_count_take(struct batch_count *count)
{
    struct batch_tally best = {0, 0};
    for (size_t i = 0; i < count->n; i++)
        if (count->tallies[i].n > best.n)
            best = count->tallies[i];
    count->n = 0;
    return (struct batch_size){best.n > 0, best.size};
}

struct batch_size
batch_first_dim(struct slice dims)
{
    if (dims.len == 0 || dims.data[0] != '[')
        return (struct batch_size){0};
    return operand_size(dims, 1);
}
