/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers of 256 bits: exact, and one rounding on the way to a double. */
#include "wide.h"

#include "unit.h"

/* A fixed sequence; what it gives is spread over all sizes. */
static uint64_t
draw(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *seed >> (*seed >> 58);
}

static uint128
draw_128(uint64_t *seed)
{
    return (uint128)draw(seed) << 64 | draw(seed);
}

static void
assert_double(double value, double wanted)
{
    assert_memory_equal(&value, &wanted, sizeof value);
}

static void
multiplies_adds_and_subtracts_without_loss(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 1000; i++) {
        uint128 a = draw_128(&seed);
        uint128 b = draw_128(&seed);

        struct wide product = wide_multiply(a, b);

        struct wide more = wide_multiply(a, b + 1);
        if (b + 1 != 0)
            assert_int_equal(wide_compare(wide_subtract(more, product), wide_of(a)), 0);
        assert_int_equal(wide_compare(wide_multiply(b, a), product), 0);
        assert_true(wide_is_zero(wide_subtract(product, product)));
        assert_int_equal(wide_compare(wide_scale(product, 3),
                                      wide_add(product, wide_add(product, product))),
                         0);
    }
}

static void
carries_through_all_parts(void **state)
{
    (void)state;
    uint128 most = ~(uint128)0;

    struct wide square = wide_multiply(most, most);

    /* (2^128 - 1)^2 = 2^256 - 2^129 + 1 */
    assert_int_equal(square.part[0], 1);
    assert_int_equal(square.part[1], 0);
    assert_true(square.part[2] == UINT64_MAX - 1);
    assert_true(square.part[3] == UINT64_MAX);
    assert_true(wide_compare(square, wide_of(most)) > 0);
    assert_true(wide_compare(wide_of(most), square) < 0);
}

static void
rounds_to_the_nearest_double_as_the_processor_does(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 20000; i++) {
        uint128 value = draw_128(&seed);
        if (i % 3 == 0) /* ties and their neighbours */
            value = ((uint128)(draw(&seed) | UINT64_C(1) << 63) << 20) + (uint128)(i % 9);

        assert_double(wide_double(wide_of(value)), (double)value);
    }
}

static void
divides_with_one_rounding(void **state)
{
    (void)state;
    static const struct {
        int64_t part, whole;
        double ratio;
    } known[] = {
        {1, 3, 0x1.5555555555555p-2},
        {INT64_MAX, INT64_MAX - 1, 0x1.0000000000000p+0},
        {(INT64_C(1) << 62) + 1, 3, 0x1.5555555555555p+60},
        {INT64_C(9007199254740993), 1, 0x1.0000000000000p+53},
        {1, INT64_MAX, 0x1.0000000000000p-63},
        {0, 7, 0.0},
    };
    uint64_t seed = 3;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_double(wide_ratio(known[i].part, known[i].whole), known[i].ratio);
        assert_double(wide_ratio(-known[i].part, known[i].whole),
                      known[i].part ? -known[i].ratio : 0.0);
    }
    for (int i = 0; i < 20000; i++) {
        int64_t part = (int64_t)(draw(&seed) >> 12);
        int64_t whole = (int64_t)(draw(&seed) >> 12) + 1;

        assert_double(wide_ratio(part, whole), (double)part / (double)whole);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplies_adds_and_subtracts_without_loss),
        cmocka_unit_test(carries_through_all_parts),
        cmocka_unit_test(rounds_to_the_nearest_double_as_the_processor_does),
        cmocka_unit_test(divides_with_one_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
