/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_plan.h"

#include "unit.h"

#define MIB ((int64_t)1 << 20)

static struct memory_wish
wish_of(int64_t limit)
{
    return (struct memory_wish){
        .limit = limit,
        .batch_bytes = 16 * MIB,
        .batch_records = 10000,
        .fetched_records = 100000,
    };
}

static void
stays_below_every_limit_that_is_allowed(void **state)
{
    (void)state;
    for (int64_t limit = MEMORY_MIN_BYTES; limit <= 8192 * MIB; limit += 16 * MIB) {
        struct memory_wish wish = wish_of(limit);

        struct memory_plan plan = memory_plan_make(&wish, NULL, 0);

        assert_true(plan.worst < limit);
        assert_true(plan.worst > limit / 2 || limit > 512 * MIB);
    }
}

static void
leaves_room_for_work_at_the_least_limit(void **state)
{
    (void)state;
    struct memory_wish wish = wish_of(MEMORY_MIN_BYTES);

    struct memory_plan plan = memory_plan_make(&wish, NULL, 0);

    assert_true(plan.fetch_bytes > MIB);
    assert_true(plan.fetched_records >= 1000);
    assert_true(plan.batch_bytes > MIB);
}

static void
never_widens_what_the_settings_bound(void **state)
{
    (void)state;
    struct memory_wish wish = wish_of(4096 * MIB);

    struct memory_plan plan = memory_plan_make(&wish, NULL, 0);

    assert_int_equal(plan.batch_bytes, wish.batch_bytes);
    assert_int_equal(plan.fetched_records, wish.fetched_records);
}

static void
counts_what_the_users_properties_ask_for(void **state)
{
    (void)state;
    static const struct option_property properties[] = {
        {"queued.max.messages.kbytes", "1048576", ORIGIN_FLAG, "test"},
        {"queue.buffering.max.kbytes", "2048", ORIGIN_FLAG, "test"},
        {"linger.ms", "5", ORIGIN_FLAG, "test"},
    };
    struct memory_wish wish = wish_of(256 * MIB);

    struct memory_plan plan = memory_plan_make(&wish, properties, 3);

    assert_int_equal(plan.fetched_bytes, 1024 * MIB);
    assert_int_equal(plan.sent_bytes, 2 * MIB);
    assert_true(plan.worst > 1024 * MIB);
}

static void
keeps_the_usual_bounds_without_a_limit(void **state)
{
    (void)state;
    struct memory_wish wish = wish_of(0);

    struct memory_plan plan = memory_plan_make(&wish, NULL, 0);

    assert_int_equal(plan.limit, 0);
    assert_int_equal(plan.batch_bytes, wish.batch_bytes);
    assert_int_equal(plan.fetched_records, wish.fetched_records);
    assert_true(plan.worst > 512 * MIB);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_below_every_limit_that_is_allowed),
        cmocka_unit_test(leaves_room_for_work_at_the_least_limit),
        cmocka_unit_test(never_widens_what_the_settings_bound),
        cmocka_unit_test(counts_what_the_users_properties_ask_for),
        cmocka_unit_test(keeps_the_usual_bounds_without_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
