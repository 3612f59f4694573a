/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small number for each of many ids, in pages as the index allows: first all ids are
 * listed, then they are found.
 */
#pragma once

#include "column.h"
#include "err.h"

#include <stdbool.h>
#include <stdint.h>

struct idlist {
    struct column entries; /* id, number; once closed ascending, each id once */
    uint64_t near;         /* where the last one was found: ids come in runs */
};

void idlist_init(struct idlist *list, struct column_pool *pool);
void idlist_done(struct idlist *list);
/* `id` may come several times. */
enum err_kind idlist_add(struct idlist *list, uint32_t id, struct err *err);
/* After the last id, once; the number of each is 0 then. */
enum err_kind idlist_close(struct idlist *list, struct err *err);
/* Distinct ids, once it is closed. */
uint64_t idlist_count(const struct idlist *list);
/* The place of an id and its number; false: it was not listed. */
bool idlist_find(struct idlist *list, uint32_t id, uint64_t *ret_place, uint32_t *ret);
void idlist_set(struct idlist *list, uint64_t place, uint32_t id, uint32_t number);
