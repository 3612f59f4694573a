/* SPDX-License-Identifier: Apache-2.0 */
/* A feed that decodes when asked, in the scanner's own thread. */
#include "feed.h"

#include <stdlib.h>
#include <string.h>

struct feed_direct {
    struct unpack *unpack;
    size_t len; /* of the last piece, from `piece` on */
    char room[FEED_KEEP + FEED_PIECE + FEED_PADDING];
};

struct feed_direct *
feed_direct_new(struct unpack *unpack)
{
    struct feed_direct *direct = malloc(sizeof *direct);
    if (!direct)
        return NULL;
    direct->unpack = unpack;
    direct->len = 0;
    return direct;
}

void
feed_direct_free(struct feed_direct *direct)
{
    free(direct);
}

static enum err_kind
next(void *state, size_t keep, char **ret_text, size_t *ret_len, struct err *err)
{
    struct feed_direct *direct = state;
    char *piece = direct->room + FEED_KEEP;
    memmove(piece - keep, piece + direct->len - keep, keep);
    enum err_kind kind =
        unpack_read(direct->unpack, piece, FEED_PIECE, &direct->len, err);
    *ret_text = piece - keep;
    *ret_len = keep + direct->len;
    return kind;
}

static enum err_kind
rewind_feed(void *state, struct err *err)
{
    struct feed_direct *direct = state;
    direct->len = 0;
    return unpack_rewind(direct->unpack, err);
}

static const struct unpack_end *
end(void *state)
{
    const struct feed_direct *direct = state;
    return unpack_end(direct->unpack);
}

struct feed
feed_direct_feed(struct feed_direct *direct)
{
    return (struct feed){direct, next, rewind_feed, end};
}
