/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest of some names by edit distance. */
#include "options.h"

#include <string.h>

/* Longest word that is compared, and the most edits that still are near. */
enum { WORD_BYTES = 64, NEAR_EDITS = 4 };

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits between two words: insert, delete, replace, swap of neighbours. */
static size_t
distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][WORD_BYTES + 1];
    size_t *before = rows[0];
    size_t *above = rows[1];
    size_t *row = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1,
                           above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[b_len];
}

const char *
options_nearest(const char *word, const char *const *names, size_t n)
{
    size_t word_len = strlen(word);
    if (word_len == 0 || word_len > WORD_BYTES)
        return NULL;
    size_t best = least(NEAR_EDITS, word_len <= 3 ? 1 : word_len / 3 + 1) + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]);
        if (len > WORD_BYTES)
            continue;
        size_t edits = distance(word, word_len, names[i], len);
        /* Nothing of the word is left: any short name would be as near. */
        if (edits >= len)
            continue;
        if (edits < best || (edits == best && nearest && strcmp(names[i], nearest) < 0)) {
            best = edits;
            nearest = names[i];
        }
    }
    return nearest;
}
