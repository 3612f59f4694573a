/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the text that is in memory, and the structural index over it. Places are
 * bytes from the start of the window; a refill moves the window, and with it all places.
 */
#pragma once

#include "feed.h"
#include "quotes.h"

#include <stdbool.h>
#include <stdint.h>

struct window {
    struct feed feed;
    char *text; /* followed by FEED_PADDING NULs */
    size_t len;
    uint64_t base; /* offset of text[0] */
    bool is_last;  /* nothing comes behind the window */
    size_t piece;  /* how many of the last bytes the feed still holds */
    /* An event larger than a piece is put together here. */
    char *own;
    size_t own_cap;
    /* structural index */
    quotes_index *index;
    struct quotes_state state;
    size_t indexed;        /* the index reaches to here */
    size_t odd_end;        /* end of the last odd line of the batches before */
    const uint32_t *quote; /* next place that was not passed */
    const uint32_t *quote_end;
    struct quotes quotes;
};

void window_init(struct window *window, struct feed feed);
void window_done(struct window *window);
/* Back to the first byte of the text. */
enum err_kind window_rewind(struct window *window, struct err *err);
/*
 * More text behind the window; the bytes before `from` leave it, so that the byte at
 * `from` is at 0 afterwards. Sets is_last when there is no more. The index starts at 0.
 */
enum err_kind window_refill(struct window *window, size_t from, struct err *err);
/* Back to a byte at an offset that was read before; it is at *ret_at then. */
enum err_kind
window_seek(struct window *window, uint64_t offset, size_t *ret_at, struct err *err);
/* The index starts anew at `at`, outside of a string. */
void window_index_from(struct window *window, size_t at);
/* Indexes the next batch; false: the window is indexed to its end. */
bool window_index_more(struct window *window);
/* Passes the quotes before `at`. */
void window_index_pass(struct window *window, size_t at);
/* May the bytes from `from` to `to`, which are indexed, hold what reads in an odd way? */
bool window_is_odd(const struct window *window, size_t from, size_t to);
