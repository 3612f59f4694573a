/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the text that is in memory. */
#include "scan_window.h"

#include <stdlib.h>
#include <string.h>

void
window_init(struct window *window, struct feed feed)
{
    *window = (struct window){.feed = feed, .index = quotes_index_in_use()};
    window_index_from(window, 0);
}

void
window_done(struct window *window)
{
    free(window->own);
    window->own = NULL;
}

static void
end_with_padding(struct window *window)
{
    if (window->text)
        memset(window->text + window->len, 0, FEED_PADDING);
    window_index_from(window, 0);
}

enum err_kind
window_rewind(struct window *window, struct err *err)
{
    window->text = NULL;
    window->len = 0;
    window->base = 0;
    window->is_last = false;
    window->piece = 0;
    window_index_from(window, 0);
    return window->feed.rewind(window->feed.state, err);
}

/* `len` bytes fit into `own`. The pages that are not used cost nothing. */
static enum err_kind
make_room(struct window *window, size_t len, struct err *err)
{
    if (len + FEED_PADDING <= window->own_cap)
        return ERR_OK;
    char *own = realloc(window->own, len + FEED_PADDING);
    if (!own)
        return err_no_memory(err, "an event of the trace");
    if (window->text == window->own)
        window->text = own;
    window->own = own;
    window->own_cap = len + FEED_PADDING;
    return ERR_OK;
}

static enum err_kind
append_piece(struct window *window, struct err *err)
{
    char *text;
    size_t len;
    enum err_kind kind = window->feed.next(window->feed.state, 0, &text, &len, err);
    if (kind)
        return kind;
    if ((kind = make_room(window, window->len + len, err)))
        return kind;
    if (len)
        memcpy(window->own + window->len, text, len);
    window->is_last = len == 0;
    window->len += len;
    window->piece = len;
    return ERR_OK;
}

/* What is kept is more than the feed can put in front of a piece. */
static enum err_kind
put_together(struct window *window, size_t from, struct err *err)
{
    enum { GROWTH = 4 };
    size_t keep = window->len - from;
    enum err_kind kind = make_room(window, keep + FEED_PIECE, err);
    if (kind)
        return kind;
    memmove(window->own, window->text + from, keep);
    window->text = window->own;
    window->len = keep;
    /* An event is read again after each refill: by a share of it, not by a piece. */
    while (!window->is_last && window->len - keep <= keep / GROWTH)
        if ((kind = append_piece(window, err)))
            return kind;
    return ERR_OK;
}

enum err_kind
window_refill(struct window *window, size_t from, struct err *err)
{
    size_t keep = window->len - from;
    enum err_kind kind;
    if (window->is_last)
        return ERR_OK;
    window->base += from;
    if (keep <= FEED_KEEP && keep <= window->piece) {
        size_t len;
        kind = window->feed.next(window->feed.state, keep, &window->text, &len, err);
        if (kind)
            return kind;
        window->is_last = len == keep;
        window->piece = len;
        window->len = len;
    } else if ((kind = put_together(window, from, err))) {
        return kind;
    }
    end_with_padding(window);
    return ERR_OK;
}

enum err_kind
window_seek(struct window *window, uint64_t offset, size_t *ret_at, struct err *err)
{
    enum err_kind kind = ERR_OK;
    if (offset < window->base)
        kind = window_rewind(window, err);
    while (!kind && !window->is_last && offset >= window->base + window->len)
        kind = window_refill(window, window->len, err);
    if (kind)
        return kind;
    size_t at = (size_t)(offset - window->base);
    *ret_at = at < window->len ? at : window->len;
    window_index_from(window, *ret_at);
    return ERR_OK;
}

void
window_index_from(struct window *window, size_t at)
{
    window->state = (struct quotes_state){0};
    window->indexed = at;
    window->odd_end = 0;
    window->quotes.n = 0;
    window->quotes.n_odd = 0;
    window->quote = window->quotes.at;
    window->quote_end = window->quotes.at;
}

bool
window_index_more(struct window *window)
{
    size_t from = window->indexed;
    struct quotes *quotes = &window->quotes;
    if (from >= window->len)
        return false;
    if (quotes->n_odd)
        window->odd_end = quotes->odd[quotes->n_odd - 1] + QUOTES_LINE;
    size_t to = window->len - from > QUOTES_BATCH ? from + QUOTES_BATCH : window->len;
    window->index(window->text, from, to, &window->state, quotes);
    window->indexed = to;
    window->quote = quotes->at;
    window->quote_end = quotes->at + quotes->n;
    return true;
}

void
window_index_pass(struct window *window, size_t at)
{
    for (;;) {
        while (window->quote < window->quote_end && *window->quote < at)
            window->quote++;
        if (window->quote < window->quote_end || window->indexed >= at)
            return;
        if (!window_index_more(window))
            return;
    }
}

bool
window_is_odd(const struct window *window, size_t from, size_t to)
{
    const struct quotes *quotes = &window->quotes;
    if (window->odd_end > from)
        return true;
    for (uint32_t i = quotes->n_odd; i > 0; i--) {
        size_t line = quotes->odd[i - 1];
        if (line < to)
            return line + QUOTES_LINE > from;
    }
    return false;
}
