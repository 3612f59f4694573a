/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a record. */
#include "notes.h"

#include "json.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_NOTES = 8, NUMBER_BYTES = 48 };

enum err_kind
audit_full(struct err *err)
{
    return err_set(err, ERR_RECORD, "record_too_large",
                   "deriving this event takes more memory than one record may; look for "
                   "a part of it that is no result, log or verdict");
}

static bool
grow(struct notes *notes)
{
    size_t cap = notes->cap ? notes->cap * 2 : FIRST_NOTES;
    struct slice *items = arena_alloc(notes->arena, cap * sizeof *items);
    if (!items)
        return false;
    if (notes->n)
        memcpy(items, notes->items, notes->n * sizeof *items);
    notes->items = items;
    notes->cap = cap;
    return true;
}

static int
compare(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

static void
drop_repeats(struct notes *notes)
{
    if (notes->n < 2)
        return;
    qsort(notes->items, notes->n, sizeof *notes->items, compare);
    size_t n = 1;
    size_t bytes = notes->items[0].len;
    for (size_t i = 1; i < notes->n; i++)
        if (!slice_equal(notes->items[i], notes->items[n - 1])) {
            bytes += notes->items[i].len;
            notes->items[n++] = notes->items[i];
        }
    notes->n = n;
    notes->bytes = bytes;
}

/* Repeats may take as much again before they are dropped, so each drop pays for itself.
 */
static bool
has_room(struct notes *notes, size_t len)
{
    if (len <= NOTES_MAX_BYTES && notes->bytes <= 2 * (size_t)NOTES_MAX_BYTES - len)
        return true;
    drop_repeats(notes);
    return len <= NOTES_MAX_BYTES && notes->bytes <= NOTES_MAX_BYTES - len;
}

enum err_kind
notes_add(struct notes *notes, const char *kind, struct slice name, struct err *err)
{
    size_t kind_len = strlen(kind);
    size_t len = kind_len + 1 + name.len;
    if (!has_room(notes, len))
        return audit_full(err);
    char *text = arena_alloc(notes->arena, len);
    if (!text || (notes->n == notes->cap && !grow(notes)))
        return audit_full(err);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): a slice */
    memcpy(text, kind, kind_len);
    text[kind_len] = ':';
    if (name.len)
        memcpy(text + kind_len + 1, name.data, name.len);
    notes->items[notes->n++] = (struct slice){text, len};
    notes->bytes += len;
    return ERR_OK;
}

enum err_kind
notes_add_number(struct notes *notes, const char *kind, size_t number, struct err *err)
{
    char text[NUMBER_BYTES];
    int len = snprintf(text, sizeof text, "%zu", number);
    return notes_add(notes, kind, (struct slice){text, (size_t)len}, err);
}

enum err_kind
notes_add_numbers(
    struct notes *notes, const char *kind, size_t a, size_t b, struct err *err)
{
    char text[NUMBER_BYTES];
    int len = snprintf(text, sizeof text, "%zu:%zu", a, b);
    return notes_add(notes, kind, (struct slice){text, (size_t)len}, err);
}

enum err_kind
notes_sort(struct notes *notes, struct err *err)
{
    drop_repeats(notes);
    return notes->bytes <= NOTES_MAX_BYTES ? ERR_OK : audit_full(err);
}

void
notes_write(const struct notes *notes, struct buf *out)
{
    buf_add_byte(out, '[');
    for (size_t i = 0; i < notes->n; i++) {
        if (i)
            buf_add(out, ", ", 2);
        json_write_string(out, notes->items[i]);
    }
    buf_add_byte(out, ']');
}
