/* SPDX-License-Identifier: Apache-2.0 */
/* A feed over text in memory. */
#include "text_feed.h"

#include <stdlib.h>
#include <string.h>

struct text_feed *
text_feed_new(struct slice text, size_t piece)
{
    struct text_feed *text_feed = malloc(sizeof *text_feed);
    if (!text_feed)
        abort();
    text_feed->text = text;
    text_feed->piece = piece ? piece : FEED_PIECE;
    text_feed->at = 0;
    text_feed->rewinds = 0;
    text_feed->end = (struct unpack_end){.kind = UNPACK_PLAIN};
    return text_feed;
}

void
text_feed_free(struct text_feed *text_feed)
{
    free(text_feed);
}

static enum err_kind
next(void *state, size_t keep, char **ret_text, size_t *ret_len, struct err *err)
{
    struct text_feed *feed = state;
    size_t left = feed->text.len - feed->at;
    size_t len = left < feed->piece ? left : feed->piece;
    (void)err;
    *ret_text = feed->room;
    *ret_len = keep + len;
    memcpy(feed->room, feed->text.data + feed->at - keep, keep + len);
    /* What stands behind a piece is nobody's. */
    memset(feed->room + keep + len, '"', FEED_PADDING);
    feed->at += len;
    feed->end.in_bytes = feed->end.out_bytes = feed->at;
    return ERR_OK;
}

static enum err_kind
rewind_feed(void *state, struct err *err)
{
    struct text_feed *feed = state;
    (void)err;
    feed->at = 0;
    feed->rewinds++;
    return ERR_OK;
}

static const struct unpack_end *
end(void *state)
{
    const struct text_feed *feed = state;
    return &feed->end;
}

struct feed
text_feed_feed(struct text_feed *text_feed)
{
    return (struct feed){text_feed, next, rewind_feed, end};
}
