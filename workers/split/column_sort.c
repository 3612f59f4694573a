/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Radix sort in place ("American flag"): a trace comes as a few long runs in order, but
 * the bound on memory leaves no room for a merge.
 */
#include "column_sort.h"

#include "events.h"

#define INLINE static inline __attribute__((always_inline))

enum { SMALL = 24, DIGITS = 256, DIGIT_BITS = 8, WORD_BITS = 64 };

static const uint64_t sign_bit = UINT64_C(1) << 63;

struct link {
    uint32_t group;
    uint32_t position;
    uint64_t index;
};

INLINE struct sort_key
event_key(const void *record)
{
    struct event event;
    memcpy(&event, record, sizeof event);
    return (struct sort_key){(uint64_t)event.ts_ns ^ sign_bit, event_index(event)};
}

INLINE struct sort_key
mark_key(const void *record)
{
    struct event_mark mark;
    memcpy(&mark, record, sizeof mark);
    return (struct sort_key){(uint64_t)mark.key ^ sign_bit, mark.index};
}

INLINE struct sort_key
link_key(const void *record)
{
    struct link link;
    memcpy(&link, record, sizeof link);
    return (struct sort_key){link.group, link.index};
}

INLINE struct sort_key
ref_key(const void *record)
{
    uint32_t ref[2];
    memcpy(ref, record, sizeof ref);
    return (struct sort_key){(uint64_t)ref[0] << 32 | ref[1], 0};
}

typedef struct sort_key key_of(const void *record);

INLINE void
swap(char *a, char *b, size_t size)
{
    char kept[sizeof(struct event)];
    memcpy(kept, a, size);
    memcpy(a, b, size);
    memcpy(b, kept, size);
}

INLINE void
insertion_sort(char *records, uint64_t n, size_t size, key_of *key)
{
    char kept[sizeof(struct event)];
    for (uint64_t i = 1; i < n; i++) {
        char *at = records + i * size;
        struct sort_key here = key(at);
        if (!sort_key_less(here, key(at - size)))
            continue;
        memcpy(kept, at, size);
        do {
            memcpy(at, at - size, size);
            at -= size;
        } while (at > records && sort_key_less(here, key(at - size)));
        memcpy(at, kept, size);
    }
}

INLINE unsigned
digit_of(struct sort_key key, unsigned shift)
{
    uint64_t word = shift < WORD_BITS ? key.low : key.high;
    return (unsigned)(word >> (shift % WORD_BITS)) & (DIGITS - 1);
}

/* Shift of the highest digit in which keys differ; is the run in order as it is? */
INLINE bool
is_sorted(const char *records, uint64_t n, size_t size, key_of *key, unsigned *ret_shift)
{
    struct sort_key first = key(records);
    struct sort_key before = first;
    struct sort_key differ = {0};
    bool is_in_order = true;
    for (uint64_t i = 1; i < n; i++) {
        struct sort_key here = key(records + i * size);
        is_in_order &= !sort_key_less(here, before);
        differ.high |= here.high ^ first.high;
        differ.low |= here.low ^ first.low;
        before = here;
    }
    uint64_t word = differ.high ? differ.high : differ.low;
    unsigned top = word ? (unsigned)(WORD_BITS - 1 - __builtin_clzll(word)) : 0;
    *ret_shift = top / DIGIT_BITS * DIGIT_BITS + (differ.high ? WORD_BITS : 0);
    return is_in_order;
}

/* Puts each record into the bucket of its digit; ends[d] becomes the end of bucket d. */
INLINE void
spread(
    char *records, uint64_t n, size_t size, key_of *key, unsigned shift, uint64_t ends[])
{
    uint64_t next[DIGITS];
    uint64_t start = 0;
    memset(ends, 0, DIGITS * sizeof *ends);
    for (uint64_t i = 0; i < n; i++)
        ends[digit_of(key(records + i * size), shift)]++;
    for (unsigned d = 0; d < DIGITS; d++) {
        next[d] = start;
        start += ends[d];
        ends[d] = start;
    }
    for (unsigned d = 0; d < DIGITS; d++) {
        while (next[d] < ends[d]) {
            char *here = records + next[d] * size;
            unsigned wanted = digit_of(key(here), shift);
            if (wanted == d)
                next[d]++;
            else
                swap(here, records + next[wanted]++ * size, size);
        }
    }
}

typedef void sort_run(char *records, uint64_t n);

/* `again` is the same function for one order; at most 16 digits deep. */
INLINE void
flag_sort(char *records, uint64_t n, size_t size, key_of *key, sort_run *again)
{
    uint64_t ends[DIGITS];
    unsigned shift;
    if (n <= SMALL) {
        insertion_sort(records, n, size, key);
        return;
    }
    if (is_sorted(records, n, size, key, &shift))
        return;
    spread(records, n, size, key, shift, ends);
    for (unsigned d = 0; d < DIGITS; d++) {
        uint64_t start = d ? ends[d - 1] : 0;
        if (ends[d] - start > 1)
            again(records + start * size, ends[d] - start);
    }
}

static void
sort_events(char *records, uint64_t n)
{
    flag_sort(records, n, sizeof(struct event), event_key, sort_events);
}

static void
sort_marks(char *records, uint64_t n)
{
    flag_sort(records, n, sizeof(struct event_mark), mark_key, sort_marks);
}

static void
sort_links(char *records, uint64_t n)
{
    flag_sort(records, n, sizeof(struct link), link_key, sort_links);
}

static void
sort_refs(char *records, uint64_t n)
{
    flag_sort(records, n, 2 * sizeof(uint32_t), ref_key, sort_refs);
}

static const struct {
    key_of *key;
    sort_run *sort;
} orders[] = {
    [ORDER_EVENT] = {event_key, sort_events},
    [ORDER_MARK] = {mark_key, sort_marks},
    [ORDER_LINK] = {link_key, sort_links},
    [ORDER_REF] = {ref_key, sort_refs},
};

struct sort_key
column_key(enum column_order order, const void *record)
{
    return orders[order].key(record);
}

void
column_sort_memory(enum column_order order, void *records, uint64_t n)
{
    if (n > 1)
        orders[order].sort(records, n);
}
