/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by id: every id is found again, however many there are. */
#include "idmap.h"

#include "unit.h"

enum { IDS = 20000 };

/* Ids that are far apart, close together, and alike in their low bits. */
static uint32_t
id_of(uint32_t i)
{
    return i % 3 == 0 ? i + 1 : i % 3 == 1 ? UINT32_MAX - i : (i + 1) << 12;
}

static void
finds_every_id_again(void **state)
{
    (void)state;
    CLEANUP(idmap_done) struct idmap map = {0};
    for (uint32_t i = 0; i < IDS; i++) {
        struct idmap_entry *entry = idmap_add(&map, id_of(i), NULL);
        assert_non_null(entry);
        entry->value = i;
        entry->mark++;
    }

    for (uint32_t i = 0; i < IDS; i++) {
        const struct idmap_entry *entry = idmap_find(&map, id_of(i));
        assert_non_null(entry);
        assert_int_equal(entry->id, id_of(i));
        assert_int_equal(entry->value, i);
        assert_int_equal(entry->mark, 1);
    }
    assert_int_equal(map.n, IDS);
    assert_null(idmap_find(&map, 2));
}

static void
gives_a_known_id_its_entry(void **state)
{
    (void)state;
    CLEANUP(idmap_done) struct idmap map = {0};

    idmap_add(&map, 7, NULL)->value = 70;

    assert_int_equal(idmap_add(&map, 7, NULL)->value, 70);
    assert_int_equal(map.n, 1);
}

static void
is_empty_at_first_and_after_a_reset(void **state)
{
    (void)state;
    CLEANUP(idmap_done) struct idmap map = {0};
    assert_null(idmap_find(&map, 1));
    idmap_reset(&map);
    idmap_add(&map, 1, NULL)->value = 5;

    idmap_reset(&map);

    assert_null(idmap_find(&map, 1));
    assert_int_equal(map.n, 0);
    assert_int_equal(idmap_add(&map, 1, NULL)->value, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_id_again),
        cmocka_unit_test(gives_a_known_id_its_entry),
        cmocka_unit_test(is_empty_at_first_and_after_a_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
