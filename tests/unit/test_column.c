/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in memory and in pages: what was put in comes out, wherever it lies. */
#include "column.h"

#include "unit.h"

#include "cleanup.h"
#include "scratch.h"

enum { RECORDS = 300000, SHORT = 10 };

struct setup {
    struct scratch scratch;
    struct split_spill spill;
    struct column_pool *pool;
};

static void
setup_make(struct setup *setup)
{
    setup->scratch = (struct scratch){.dir = "/tmp", .fd = -1};
    setup->spill = scratch_spill(&setup->scratch);
    setup->pool = column_pool_new(1, &setup->spill);
    assert_non_null(setup->pool);
}

static void
setup_done(struct setup *setup)
{
    column_pool_free(setup->pool);
    scratch_close(&setup->scratch);
}

static uint64_t
value_at(const struct column *column, uint64_t i)
{
    uint64_t value;
    column_read(column, i, &value);
    return value;
}

static void
fill(struct column *column, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value = i * i;
        assert_int_equal(column_add(column, &value, NULL), ERR_OK);
    }
}

static void
keeps_a_short_list_in_memory_and_a_long_one_in_pages(void **state)
{
    (void)state;
    CLEANUP(setup_done) struct setup setup;
    CLEANUP(column_done) struct column column = {0};
    setup_make(&setup);
    column_init(&column, setup.pool, sizeof(uint64_t), ORDER_NONE);

    fill(&column, SHORT);
    assert_non_null(column.chunks);
    column_reset(&column);
    fill(&column, RECORDS);

    assert_null(column.chunks);
    for (uint64_t i = 0; i < RECORDS; i++)
        assert_int_equal(value_at(&column, i), i * i);
    assert_int_equal(column_pool_check(setup.pool, NULL), ERR_OK);
}

static void
is_short_again_after_a_reset(void **state)
{
    (void)state;
    CLEANUP(setup_done) struct setup setup;
    CLEANUP(column_done) struct column column = {0};
    setup_make(&setup);
    column_init(&column, setup.pool, sizeof(uint64_t), ORDER_NONE);
    fill(&column, RECORDS);

    column_reset(&column);
    fill(&column, SHORT);

    assert_int_equal(column.n, SHORT);
    assert_non_null(column.chunks);
    assert_int_equal(value_at(&column, SHORT - 1), (size_t)(SHORT - 1) * (SHORT - 1));
}

static void
moves_with_its_pages(void **state)
{
    (void)state;
    CLEANUP(setup_done) struct setup setup;
    CLEANUP(column_done) struct column from = {0};
    CLEANUP(column_done) struct column to = {0};
    setup_make(&setup);
    column_init(&from, setup.pool, sizeof(uint64_t), ORDER_NONE);
    fill(&from, RECORDS);

    column_move(&to, &from);
    fill(&from, RECORDS / 2);

    assert_int_equal(to.n, RECORDS);
    for (uint64_t i = 0; i < RECORDS; i++)
        assert_int_equal(value_at(&to, i), i * i);
}

static void
fills_with_zeros_that_can_be_written(void **state)
{
    (void)state;
    CLEANUP(setup_done) struct setup setup;
    CLEANUP(column_done) struct column column = {0};
    uint64_t value = 7;
    setup_make(&setup);
    column_init(&column, setup.pool, sizeof(uint64_t), ORDER_NONE);
    fill(&column, SHORT);

    assert_int_equal(column_fill(&column, RECORDS, NULL), ERR_OK);
    column_write(&column, RECORDS - 1, &value);
    fill(&column, 1);

    assert_int_equal(column.n, RECORDS + 1);
    assert_int_equal(value_at(&column, SHORT - 1), (size_t)(SHORT - 1) * (SHORT - 1));
    for (uint64_t i = SHORT; i < RECORDS - 1; i++)
        assert_int_equal(value_at(&column, i), 0);
    assert_int_equal(value_at(&column, RECORDS - 1), 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_a_short_list_in_memory_and_a_long_one_in_pages),
        cmocka_unit_test(is_short_again_after_a_reset),
        cmocka_unit_test(moves_with_its_pages),
        cmocka_unit_test(fills_with_zeros_that_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
