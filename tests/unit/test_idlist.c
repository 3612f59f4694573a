/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by id in a column: each id once, found in any order. */
#include "idlist.h"

#include "unit.h"

#include "cleanup.h"

enum { IDS = 20000 };

static void
free_pool(struct column_pool **pool)
{
    column_pool_free(*pool);
}

/* Ids that are far apart, close together, and come twice. */
static uint32_t
id_of(uint32_t i)
{
    return i % 3 == 0 ? i + 1 : i % 3 == 1 ? UINT32_MAX - i / 6 : (i + 1) << 12;
}

static void
finds_each_id_once_with_its_number(void **state)
{
    (void)state;
    CLEANUP(free_pool) struct column_pool *pool = column_pool_new(0, NULL);
    CLEANUP(idlist_done) struct idlist list;
    uint64_t place;
    uint32_t number;
    idlist_init(&list, pool);
    for (uint32_t i = 0; i < IDS; i++)
        assert_int_equal(idlist_add(&list, id_of(i), NULL), ERR_OK);

    assert_int_equal(idlist_close(&list, NULL), ERR_OK);
    for (uint32_t i = 0; i < IDS; i++) {
        assert_true(idlist_find(&list, id_of(i), &place, &number));
        idlist_set(&list, place, id_of(i), number + 1);
    }

    for (uint32_t i = 0; i < IDS; i++) {
        assert_true(idlist_find(&list, id_of(i), &place, &number));
        assert_in_range(number, 1, IDS);
        assert_in_range(place, 0, idlist_count(&list) - 1);
    }
    assert_in_range(idlist_count(&list), IDS / 2, IDS - 1);
    assert_false(idlist_find(&list, 2, &place, &number));
}

static void
is_empty_without_an_id(void **state)
{
    (void)state;
    CLEANUP(free_pool) struct column_pool *pool = column_pool_new(0, NULL);
    CLEANUP(idlist_done) struct idlist list;
    uint64_t place;
    uint32_t number;
    idlist_init(&list, pool);

    assert_int_equal(idlist_close(&list, NULL), ERR_OK);

    assert_int_equal(idlist_count(&list), 0);
    assert_false(idlist_find(&list, 1, &place, &number));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_id_once_with_its_number),
        cmocka_unit_test(is_empty_without_an_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
