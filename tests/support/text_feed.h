/* SPDX-License-Identifier: Apache-2.0 */
/* A feed over text in memory that comes in pieces of a chosen size. */
#pragma once

#include "feed.h"
#include "slice.h"

struct text_feed {
    struct slice text;
    size_t piece; /* bytes of a piece; 0: FEED_PIECE */
    size_t at;
    unsigned rewinds;
    struct unpack_end end;
    char room[FEED_KEEP + FEED_PIECE + FEED_PADDING];
};

/* `text` is borrowed. The feed ends as plain text does. */
struct text_feed *text_feed_new(struct slice text, size_t piece);
void text_feed_free(struct text_feed *text_feed);
struct feed text_feed_feed(struct text_feed *text_feed);
