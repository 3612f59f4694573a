/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as small numbers: an open hash table over a list. */
#include "names.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_CAP = 64, FIRST_SLOTS = 128 };

struct name {
    char *text;
    size_t len;
    uint64_t hash;
};

void
names_done(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->items[i].text);
    free(names->items);
    free(names->slots);
    *names = NAMES_INIT;
}

/* FNV-1a, its upper half folded in because the slots take the lower bits. */
static uint64_t
hash_of(struct slice text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

/* The slot that holds `text`, or the free one where it belongs. */
static uint32_t *
slot_of(const struct names *names, struct slice text, uint64_t hash)
{
    size_t mask = names->n_slots - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &names->slots[i];
        if (*slot == 0)
            return slot;
        const struct name *name = &names->items[*slot - 1];
        if (name->hash == hash &&
            slice_equal((struct slice){name->text, name->len}, text))
            return slot;
    }
}

static bool
grow_items(struct names *names)
{
    size_t cap = names->cap ? names->cap * 2 : FIRST_CAP;
    struct name *items = realloc(names->items, cap * sizeof *items);
    if (!items)
        return false;
    names->items = items;
    names->cap = cap;
    return true;
}

static bool
grow_slots(struct names *names)
{
    size_t n_slots = names->n_slots ? names->n_slots * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return false;
    free(names->slots);
    names->slots = slots;
    names->n_slots = n_slots;
    for (size_t i = 0; i < names->n; i++) {
        size_t at = names->items[i].hash & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

/* Room for one more, at most half full. */
static bool
make_room(struct names *names)
{
    if (2 * (names->n + 1) > names->n_slots && !grow_slots(names))
        return false;
    return names->n < names->cap || grow_items(names);
}

enum err_kind
names_put(struct names *names, struct slice text, uint32_t *ret_id, struct err *err)
{
    if (!make_room(names))
        return err_no_memory(err, "the table of names");
    uint64_t hash = hash_of(text);
    uint32_t *slot = slot_of(names, text, hash);
    if (*slot) {
        *ret_id = *slot - 1;
        return ERR_OK;
    }
    if (names->n == NAMES_MAX || text.len >= NAMES_MAX_BYTES - names->bytes)
        return err_fatal(err, EXIT_INTERNAL, "too_many_names",
                         "more than %d distinct names, or more than %zu bytes of them",
                         NAMES_MAX, NAMES_MAX_BYTES);
    char *copy = malloc(text.len + 1);
    if (!copy)
        return err_no_memory(err, "a name");
    if (text.len)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    names->items[names->n] = (struct name){copy, text.len, hash};
    names->bytes += text.len;
    *ret_id = (uint32_t)names->n++;
    *slot = *ret_id + 1;
    return ERR_OK;
}

struct slice
names_get(const struct names *names, uint32_t id)
{
    return (struct slice){names->items[id].text, names->items[id].len};
}
