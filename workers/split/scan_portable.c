/* SPDX-License-Identifier: Apache-2.0 */
/* The structural index in plain C: for other machines, and as the rule for the others. */
#include "quotes_body.h"

static inline struct masks
line_masks(const char *text)
{
    struct masks masks = {0};
    for (unsigned i = 0; i < QUOTES_LINE; i++) {
        unsigned char byte = (unsigned char)text[i];
        masks.quote |= (uint64_t)(byte == '"') << i;
        masks.backslash |= (uint64_t)(byte == '\\') << i;
        masks.control |= (uint64_t)(byte < 0x20) << i;
        masks.high |= (uint64_t)(byte >> 7) << i;
    }
    return masks;
}

static inline uint64_t
prefix_xor(uint64_t bits)
{
    return prefix_xor_by_shifts(bits);
}

static inline uint32_t *
add_places(uint32_t *places, uint32_t base, uint64_t bits)
{
    return add_places_by_count(places, base, bits);
}

void
quotes_portable(const char *text,
                size_t from,
                size_t to,
                struct quotes_state *state,
                struct quotes *ret)
{
    index_lines(text, from, to, state, ret);
}
