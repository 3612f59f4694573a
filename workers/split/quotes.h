/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structural index: where strings begin and end, found 64 bytes at a time. Beside it
 * the lines of 64 bytes that hold something a plain reading must not pass over: a
 * backslash, a byte that is no ASCII, a control character inside a string.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    QUOTES_LINE = 64,
    QUOTES_BATCH = 32 << 10, /* bytes that one call indexes at most */
    QUOTES_SLACK = 64,       /* places behind the last one that a variant may write */
};

/* What goes over from one line to the next. */
struct quotes_state {
    uint64_t in_string; /* all ones: the next byte lies in a string */
    uint64_t escaped;   /* 1: the next byte is escaped */
};

struct quotes {
    uint32_t n;
    uint32_t n_odd;
    uint32_t at[QUOTES_BATCH + QUOTES_SLACK];     /* opening and closing quotes in turn */
    uint32_t odd[QUOTES_BATCH / QUOTES_LINE + 1]; /* first byte of each odd line */
};

/*
 * Indexes text[from..to) in lines that begin at `from`; at most QUOTES_BATCH bytes. The
 * last line may read up to 63 bytes behind `to`, which must be NUL.
 */
typedef void quotes_index(const char *text,
                          size_t from,
                          size_t to,
                          struct quotes_state *state,
                          struct quotes *ret);

quotes_index quotes_portable;
#ifdef __x86_64__
quotes_index quotes_sse;
quotes_index quotes_avx2;
quotes_index quotes_avx512;
#endif

/* The variant that scan_variant_in_use() names. */
quotes_index *quotes_index_in_use(void);
