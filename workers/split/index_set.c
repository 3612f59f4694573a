/* SPDX-License-Identifier: Apache-2.0 */
/* A set of source indices. */
#include "index_set.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

#define PAGE_MASK ((UINT64_C(1) << INDEX_PAGE_BITS) - 1)

void
index_set_done(struct index_set *set)
{
    for (size_t i = 0; i < set->n_pages; i++)
        free(set->pages[i]);
    free(set->pages);
    *set = (struct index_set){0};
}

static bool
make_room(struct index_set *set, size_t n_pages)
{
    if (n_pages <= set->n_pages)
        return true;
    size_t n = n_pages > set->n_pages * 2 ? n_pages : set->n_pages * 2;
    uint64_t **pages = reallocarray(set->pages, n, sizeof *pages);
    if (!pages)
        return false;
    memset(pages + set->n_pages, 0, (n - set->n_pages) * sizeof *pages);
    set->pages = pages;
    set->n_pages = n;
    return true;
}

static uint64_t *
make_page(struct index_set *set, size_t page)
{
    if (!make_room(set, page + 1))
        return NULL;
    if (!set->pages[page])
        set->pages[page] = calloc(INDEX_PAGE_WORDS, sizeof(uint64_t));
    return set->pages[page];
}

enum err_kind
index_set_add(struct index_set *set, uint64_t index, struct err *err)
{
    uint64_t *page = make_page(set, (size_t)(index >> INDEX_PAGE_BITS));
    if (!page)
        return err_no_memory(err, "the events of a chunk");
    uint64_t bit = index & PAGE_MASK;
    uint64_t mask = UINT64_C(1) << (bit % WORD_BITS);
    set->n += !(page[bit / WORD_BITS] & mask);
    page[bit / WORD_BITS] |= mask;
    return ERR_OK;
}

enum err_kind
index_set_join(struct index_set *set, const struct index_set *other, struct err *err)
{
    for (size_t i = 0; i < other->n_pages; i++) {
        if (!other->pages[i])
            continue;
        uint64_t *page = make_page(set, i);
        if (!page)
            return err_no_memory(err, "the events of a chunk");
        for (size_t k = 0; k < INDEX_PAGE_WORDS; k++) {
            uint64_t more = other->pages[i][k] & ~page[k];
            set->n += (uint64_t)__builtin_popcountll(more);
            page[k] |= more;
        }
    }
    return ERR_OK;
}

bool
index_set_next(const struct index_set *set, uint64_t index, uint64_t *ret_index)
{
    uint64_t bit = index & PAGE_MASK;
    for (size_t i = (size_t)(index >> INDEX_PAGE_BITS); i < set->n_pages; i++, bit = 0) {
        if (!set->pages[i])
            continue;
        uint64_t word = set->pages[i][bit / WORD_BITS] >> (bit % WORD_BITS)
                                                              << (bit % WORD_BITS);
        for (size_t k = bit / WORD_BITS; k < INDEX_PAGE_WORDS;) {
            if (word) {
                *ret_index = ((uint64_t)i << INDEX_PAGE_BITS) + k * WORD_BITS +
                             (uint64_t)__builtin_ctzll(word);
                return true;
            }
            if (++k < INDEX_PAGE_WORDS)
                word = set->pages[i][k];
        }
    }
    return false;
}
