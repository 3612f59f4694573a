/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that wait for an index, against an array without any order. */
#include "store_unindexed.h"

#include "unit.h"

#include <endian.h>
#include <string.h>

enum { KEY_BYTES = 12, GROUP_BYTES = 8, KEYS = 4000, BATCHES = 60, A_BATCH = 200 };

/* Four keys share what an entry keeps of them as a number. */
static void
key_of(unsigned i, uint8_t ret[KEY_BYTES])
{
    uint64_t group = htobe64((uint64_t)(i / 4) * UINT64_C(0x9E3779B97F4A7C15));
    uint32_t suffix = htobe32(i % 4);
    memcpy(ret, &group, sizeof group);
    memcpy(ret + sizeof group, &suffix, sizeof suffix);
}

static void
assert_ordered(const struct unindexed *unindexed, size_t n)
{
    assert_int_equal(unindexed->n, n);
    for (size_t i = 1; i < unindexed->n; i++)
        assert_true(memcmp(unindexed->entries[i - 1].key->key,
                           unindexed->entries[i].key->key, KEY_BYTES) < 0);
}

static void
assert_numbers(const struct unindexed *unindexed, const uint64_t *numbers)
{
    uint8_t key[KEY_BYTES];
    for (unsigned i = 0; i < KEYS; i++) {
        key_of(i, key);
        const struct unindexed_key *found = unindexed_at(
            unindexed, unindexed_find(unindexed, key, KEY_BYTES), key, KEY_BYTES);
        assert_true(numbers[i] ? found && found->number == numbers[i] : !found);
        bool any = numbers[i - i % 4] || numbers[i - i % 4 + 1] ||
                   numbers[i - i % 4 + 2] || numbers[i - i % 4 + 3];
        const struct unindexed_key *mate = unindexed_at(
            unindexed, unindexed_find(unindexed, key, GROUP_BYTES), key, GROUP_BYTES);
        assert_int_equal(mate != NULL, any);
    }
}

static void
agrees_with_a_plain_array(void **state)
{
    (void)state;
    static uint64_t numbers[KEYS];
    struct unindexed unindexed;
    uint8_t key[KEY_BYTES];
    unsigned random = 12345;
    size_t n = 0;
    unindexed_init(&unindexed, KEY_BYTES);
    for (unsigned batch = 1; batch <= BATCHES; batch++) {
        unsigned first = 0;
        for (unsigned i = 0; i < A_BATCH; i++) {
            random = random * 1103515245 + 12345;
            if (i == 0)
                first = random >> 8;
            unsigned k = (first + i * 7919) % KEYS; /* no key twice */
            n += numbers[k] == 0;
            numbers[k] = (uint64_t)batch << 32 | i;
            key_of(k, key);
            assert_true(unindexed_add(&unindexed, key, numbers[k], false));
        }
        assert_true(unindexed_merge(&unindexed));
        assert_ordered(&unindexed, n);
    }
    assert_numbers(&unindexed, numbers);
    assert_true(unindexed_bytes(&unindexed) > n * KEY_BYTES);

    unindexed_clear(&unindexed, 0);
    memset(numbers, 0, sizeof numbers);
    assert_numbers(&unindexed, numbers);
    assert_int_equal(unindexed_bytes(&unindexed), 0);
    unindexed_done(&unindexed);
}

/* The group was new to the index when its first entry came: that holds for what follows.
 */
static void
keeps_what_is_known_of_the_index(void **state)
{
    (void)state;
    struct unindexed unindexed;
    uint8_t key[KEY_BYTES];
    unindexed_init(&unindexed, KEY_BYTES);
    key_of(1, key);
    assert_true(unindexed_add(&unindexed, key, 7, true));
    assert_true(unindexed_merge(&unindexed));
    assert_true(unindexed_add(&unindexed, key, UNINDEXED_REMOVED, false));
    assert_true(unindexed_merge(&unindexed));

    const struct unindexed_key *found = unindexed_at(&unindexed, 0, key, KEY_BYTES);
    assert_non_null(found);
    assert_true(found->fresh);
    assert_int_equal(found->number, UNINDEXED_REMOVED);
    unindexed_done(&unindexed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_plain_array),
        cmocka_unit_test(keeps_what_is_known_of_the_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
