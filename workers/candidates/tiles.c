/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sizes in kernel names. */
#include "tiles.h"

#include "table.h"

/* A name holds no more: the mark, an axis, a digit. */
enum { MAX_TILES = DEVICE_NAME_BYTES / 14 };

/* Letters of an axis, an underscore, digits; 0 when they are not there. */
static size_t
tile_at(struct slice name, size_t at, size_t *ret_axis, size_t *ret_digits)
{
    size_t i = at;
    while (i < name.len && ((name.data[i] | 32) >= 'a' && (name.data[i] | 32) <= 'z'))
        i++;
    *ret_axis = i - at;
    if (i == at || i == name.len || name.data[i] != '_')
        return 0;
    size_t begin = ++i;
    while (i < name.len && name.data[i] >= '0' && name.data[i] <= '9')
        i++;
    *ret_digits = i - begin;
    return *ret_digits ? i - at : 0;
}

bool
tiles_read(struct slice name, struct arena *arena, struct list *ret_tiles)
{
    static const char mark[] = "BLOCK_SIZE_";
    struct slice found[MAX_TILES];
    size_t n = 0;
    const char *end = name.data + name.len;
    const char *at = name.data;
    while (n < MAX_TILES && at &&
           (at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1))) {
        size_t axis = 0;
        size_t digits = 0;
        at += sizeof mark - 1;
        size_t len = tile_at(name, (size_t)(at - name.data), &axis, &digits);
        if (len == 0)
            continue;
        found[n] =
            arena_printf(arena, "%.*s=%.*s", (int)axis, at, (int)digits, at + axis + 1);
        if (!found[n++].data)
            return false;
        at += len;
    }
    struct slice *kept = n ? arena_alloc(arena, n * sizeof kept[0]) : NULL;
    if (n && !kept)
        return false;
    if (n)
        memcpy(kept, found, n * sizeof kept[0]);
    *ret_tiles = (struct list){kept, n};
    return true;
}
