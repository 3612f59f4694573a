/* SPDX-License-Identifier: Apache-2.0 */
/* A set of source indices: members in order, across pages. */
#include "index_set.h"

#include "unit.h"

static const uint64_t page = UINT64_C(1) << INDEX_PAGE_BITS;

static void
add_all(struct index_set *set, const uint64_t *members, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(index_set_add(set, members[i], NULL), ERR_OK);
}

static void
assert_members(const struct index_set *set, const uint64_t *members, size_t n)
{
    uint64_t index = 0;
    assert_int_equal(set->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(index_set_next(set, index, &index));
        assert_int_equal(index, members[i]);
        assert_true(index_set_holds(set, index));
        index++;
    }
    assert_false(index_set_next(set, index, &index));
}

static void
tells_its_members_in_order(void **state)
{
    (void)state;
    CLEANUP(index_set_done) struct index_set set = {0};
    const uint64_t added[] = {9 * page + 3, 63, 64, 0, page, page - 1, 9 * page + 3};
    const uint64_t wanted[] = {0, 63, 64, page - 1, page, 9 * page + 3};

    add_all(&set, added, sizeof added / sizeof *added);

    assert_members(&set, wanted, sizeof wanted / sizeof *wanted);
    assert_false(index_set_holds(&set, 1));
    assert_false(index_set_holds(&set, 5 * page));
    assert_false(index_set_holds(&set, 100 * page));
}

static void
joins_another_and_counts_each_member_once(void **state)
{
    (void)state;
    CLEANUP(index_set_done) struct index_set set = {0};
    CLEANUP(index_set_done) struct index_set other = {0};
    const uint64_t mine[] = {1, page};
    const uint64_t others[] = {1, 2, 70, 4 * page + 5};
    const uint64_t wanted[] = {1, 2, 70, page, 4 * page + 5};
    add_all(&set, mine, 2);
    add_all(&other, others, 4);

    assert_int_equal(index_set_join(&set, &other, NULL), ERR_OK);

    assert_members(&set, wanted, 5);
    assert_members(&other, others, 4);
}

static void
holds_nothing_when_it_is_empty(void **state)
{
    (void)state;
    struct index_set empty = {0};
    CLEANUP(index_set_done) struct index_set set = {0};

    assert_int_equal(index_set_join(&set, &empty, NULL), ERR_OK);

    assert_members(&set, NULL, 0);
    assert_false(index_set_holds(&set, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_its_members_in_order),
        cmocka_unit_test(joins_another_and_counts_each_member_once),
        cmocka_unit_test(holds_nothing_when_it_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
