/* SPDX-License-Identifier: Apache-2.0 */
/* Two JSON values by value. */
#include "compare.h"

#include "cleanup.h"

#include <math.h>

enum { SHOWN_BYTES = 400 };

/* A level of both values on the way to the difference. */
struct level {
    struct json_iter want, got; /* of arrays; members of `got` are looked up */
    struct json_value got_object;
    size_t path_len;
    size_t i;
};

/* How far numbers may be apart when close is good enough. */
#define CLOSE_ABSOLUTE 1e-9
#define CLOSE_RELATIVE 1e-12

static bool
numbers_close(struct json_value a, struct json_value b)
{
    double x;
    double y;
    if (!json_double(a, &x) || !json_double(b, &y))
        return false;
    double size = fmax(fabs(x), fabs(y));
    return fabs(x - y) <= fmax(CLOSE_ABSOLUTE, CLOSE_RELATIVE * size);
}

static bool
numbers_equal(struct json_value a, struct json_value b, enum compare_rule rule)
{
    if (slice_equal(json_number(a), json_number(b)))
        return true;
    if (rule == COMPARE_EXPECTED)
        return numbers_close(a, b);
    int64_t i;
    int64_t k;
    if (json_int(a, &i) && json_int(b, &k))
        return i == k;
    double x;
    double y;
    return json_double(a, &x) && json_double(b, &y) && !(x < y) && !(x > y);
}

/* A number that JSON lacks, and the string that stands for it (README-domain.md). */
static bool
is_spelled_out(struct json_value want, struct json_value got)
{
    struct slice token = json_number(want);
    struct slice text = json_string(got);
    return json_is_special(want) &&
           ((slice_is(token, "NaN") && slice_is(text, "nan")) ||
            (slice_is(token, "Infinity") && slice_is(text, "inf")) ||
            (slice_is(token, "-Infinity") && slice_is(text, "-inf")));
}

static bool
scalars_equal(struct json_value a, struct json_value b, enum compare_rule rule)
{
    switch (json_kind(a)) {
    case JSON_BOOLEAN:
        return json_is_true(a) == json_is_true(b);
    case JSON_NUMBER:
        return numbers_equal(a, b, rule);
    case JSON_STRING:
        return slice_equal(json_string(a), json_string(b));
    case JSON_ABSENT:
    case JSON_NULL:
        return true;
    case JSON_ARRAY:
    case JSON_OBJECT:
    default:
        return json_count(a) == json_count(b);
    }
}

static void
show(struct buf *where, struct json_value value)
{
    size_t begin = where->len;
    if (!value.doc)
        buf_add_str(where, "nothing");
    json_write_begin(where, value, SHOWN_BYTES);
    if (where->len - begin > SHOWN_BYTES) {
        where->len = begin + SHOWN_BYTES;
        buf_add_str(where, "...");
    }
}

static bool
differ(struct buf *where, struct buf *path, struct json_value want, struct json_value got)
{
    buf_add_str(where, path->len ? buf_text(path) : "the answer");
    buf_add_str(where, ": expected ");
    show(where, want);
    buf_add_str(where, ", got ");
    show(where, got);
    return false;
}

/* A member that only `got` has: of two objects of one size there is one on each side. */
static bool
differ_in_members(struct buf *where,
                  struct buf *path,
                  struct json_value want,
                  struct json_value got)
{
    struct json_iter iter = json_iter(got);
    struct slice key;
    struct json_value value;
    while (json_next(&iter, &key, &value))
        if (!json_get_slice(want, key).doc) {
            buf_add_byte(path, '.');
            buf_add_slice(path, key);
            return differ(where, path, JSON_NONE, value);
        }
    return differ(where, path, want, got);
}

/* The next pair to compare; false when there is none left. */
static bool
next_pair(struct level *levels,
          size_t *n,
          struct buf *path,
          struct json_value *want,
          struct json_value *got)
{
    while (*n) {
        struct level *level = &levels[*n - 1];
        struct slice key;
        struct slice ignored;
        path->len = level->path_len;
        if (!json_next(&level->want, &key, want)) {
            --*n;
            continue;
        }
        if (level->want.members) {
            buf_add_byte(path, '.');
            buf_add_slice(path, key);
            *got = json_get_slice(level->got_object, key);
        } else {
            buf_addf(path, "[%zu]", level->i++);
            if (!json_next(&level->got, &ignored, got))
                *got = JSON_NONE;
        }
        return true;
    }
    return false;
}

bool
values_equal(struct json_value want,
             struct json_value got,
             enum compare_rule rule,
             struct arena *arena,
             struct buf *where)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    size_t max_levels = json_depth(want);
    struct level *levels = arena_calloc(arena, max_levels, sizeof *levels);
    size_t n = 0;
    do {
        enum json_kind kind = json_kind(want);
        bool container = kind == JSON_ARRAY || kind == JSON_OBJECT;
        if (rule == COMPARE_EXPECTED && is_spelled_out(want, got))
            continue;
        if (kind != json_kind(got) || (!container && !scalars_equal(want, got, rule)))
            return differ(where, &path, want, got);
        if (!container)
            continue;
        if (!levels || n == max_levels) {
            buf_add_str(where, "no memory to compare what is nested so deep");
            return false;
        }
        /* Extra members would go unseen: every expected one has its match. */
        bool all = rule == COMPARE_EXACT || json_count(want) == 0;
        if (kind == JSON_OBJECT && all && json_count(got) > json_count(want))
            return differ_in_members(where, &path, want, got);
        if (kind == JSON_ARRAY && json_count(got) != json_count(want))
            return differ(where, &path, want, got);
        levels[n++] = (struct level){
            .want = json_iter(want),
            .got = json_iter(got),
            .got_object = got,
            .path_len = path.len,
        };
    } while (next_pair(levels, &n, &path, &want, &got));
    return true;
}
