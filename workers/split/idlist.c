/* SPDX-License-Identifier: Apache-2.0 */
/* A small number for each of many ids. */
#include "idlist.h"

struct entry {
    uint32_t id;
    uint32_t number;
};

/* Places behind the last one that are looked at before all are searched. */
enum { NEAR_STEPS = 4 };

void
idlist_init(struct idlist *list, struct column_pool *pool)
{
    *list = (struct idlist){.near = 0};
    column_init(&list->entries, pool, sizeof(struct entry), ORDER_REF);
}

void
idlist_done(struct idlist *list)
{
    column_done(&list->entries);
}

static struct entry
entry_at(const struct idlist *list, uint64_t place)
{
    struct entry entry;
    column_read(&list->entries, place, &entry);
    return entry;
}

enum err_kind
idlist_add(struct idlist *list, uint32_t id, struct err *err)
{
    const struct entry entry = {id, 0};
    if (list->entries.n && entry_at(list, list->entries.n - 1).id == id)
        return ERR_OK;
    return column_add(&list->entries, &entry, err);
}

enum err_kind
idlist_close(struct idlist *list, struct err *err)
{
    enum err_kind kind = column_sort(&list->entries, err);
    uint64_t kept = 0;
    struct entry before = {0};
    for (uint64_t i = 0; i < list->entries.n && !kind; i++) {
        struct entry entry = entry_at(list, i);
        if (kept && entry.id == before.id)
            continue;
        if (kept != i)
            column_write(&list->entries, kept, &entry);
        kept++;
        before = entry;
    }
    while (list->entries.n > kept && !kind)
        column_drop_last(&list->entries);
    return kind ? kind : column_pool_check(list->entries.pool, err);
}

uint64_t
idlist_count(const struct idlist *list)
{
    return list->entries.n;
}

static bool
find_near(const struct idlist *list, uint32_t id, uint64_t *ret_place)
{
    for (uint64_t i = list->near; i < list->near + NEAR_STEPS; i++) {
        if (i >= list->entries.n)
            return false;
        *ret_place = i;
        uint32_t here = entry_at(list, i).id;
        if (here >= id)
            return here == id;
    }
    return false;
}

static bool
find_anywhere(const struct idlist *list, uint32_t id, uint64_t *ret_place)
{
    uint64_t low = 0;
    uint64_t high = list->entries.n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (entry_at(list, middle).id < id)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_place = low;
    return low < list->entries.n && entry_at(list, low).id == id;
}

bool
idlist_find(struct idlist *list, uint32_t id, uint64_t *ret_place, uint32_t *ret)
{
    bool is_found = find_near(list, id, ret_place) || find_anywhere(list, id, ret_place);
    if (!is_found)
        return false;
    list->near = *ret_place;
    *ret = entry_at(list, *ret_place).number;
    return true;
}

void
idlist_set(struct idlist *list, uint64_t place, uint32_t id, uint32_t number)
{
    const struct entry entry = {id, number};
    column_write(&list->entries, place, &entry);
}
