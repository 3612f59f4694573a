/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borrowed bytes: an Avro string or bytes value, a Kafka key, a piece of text. Never
 * owns; valid while whatever it was cut from is. `data == NULL` means "no value" (null),
 * which is not the same as an empty one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
    const char *data;
    size_t len;
};

/* A slice over a string literal. */
#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

/* For printf("%.*s", SLICE_ARG(s)). Lengths above INT_MAX can't be printed. */
#define SLICE_ARG(s) (int)(s).len, (s).data ? (s).data : ""

/* A slice over a C string; null for NULL. */
static inline struct slice
slice_of(const char *text)
{
    return (struct slice){text, text ? strlen(text) : 0};
}

static inline bool
slice_equal(struct slice a, struct slice b)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): null slices are empty */
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool
slice_is(struct slice s, const char *text)
{
    return s.data && slice_equal(s, slice_of(text));
}

/* Order by bytes, which for UTF-8 is the order by code point. */
static inline int
slice_compare(struct slice a, struct slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int d = n ? memcmp(a.data, b.data, n) : 0;
    return d ? d : (a.len > b.len) - (a.len < b.len);
}
