/* SPDX-License-Identifier: Apache-2.0 */
/* Delays between attempts: doubled, bounded, spread. */
#include "backoff.h"

#include "unit.h"

static const struct backoff usual = {.first_ms = 100, .max_ms = 1000};

static void
doubles_up_to_the_ceiling(void **state)
{
    (void)state;
    static const int64_t expected[] = {100, 200, 400, 800, 1000, 1000};

    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(backoff_delay_ms(&usual, i + 2, 0), expected[i]);
}

static void
spreads_between_half_and_all(void **state)
{
    (void)state;
    uint64_t seed = 7;
    int64_t least = 400;
    int64_t most = 0;

    for (int i = 0; i < 10000; i++) {
        int64_t delay_ms = backoff_delay_ms(&usual, 4, backoff_random(&seed));
        least = delay_ms < least ? delay_ms : least;
        most = delay_ms > most ? delay_ms : most;
    }

    assert_int_equal(least, 200);
    assert_int_equal(most, 400);
}

static void
stays_bounded_for_any_attempt(void **state)
{
    (void)state;
    const struct backoff odd = {.first_ms = 0, .max_ms = INT64_MAX};

    assert_true(backoff_delay_ms(&usual, UINT32_MAX, 0) == 1000);
    assert_true(backoff_delay_ms(&odd, UINT32_MAX, 0) > 0);
    assert_true(backoff_delay_ms(&usual, 0, 0) == 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_up_to_the_ceiling),
        cmocka_unit_test(spreads_between_half_and_all),
        cmocka_unit_test(stays_bounded_for_any_attempt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
