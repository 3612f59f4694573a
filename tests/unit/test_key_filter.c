/* SPDX-License-Identifier: Apache-2.0 */
/* The filter: what was added is never denied, whatever memory there is. */
#include "digest.h"
#include "key_filter.h"

#include "unit.h"

enum { FIRST_LAYER_BYTES = 16 * 1024, FIRST_LAYER_KEYS = 8192 };

static void
key_of(unsigned number, uint8_t ret[DIGEST_BYTES])
{
    digest_sha256((struct slice){(const char *)&number, sizeof number}, ret);
}

static void
add_keys(struct key_filter *filter, unsigned from, unsigned to)
{
    uint8_t key[DIGEST_BYTES];
    for (unsigned i = from; i < to; i++) {
        key_of(i, key);
        key_filter_add(filter, key);
        assert_true(key_filter_has(filter, key));
    }
}

static unsigned
count_known(const struct key_filter *filter, unsigned from, unsigned to)
{
    uint8_t key[DIGEST_BYTES];
    unsigned n = 0;
    for (unsigned i = from; i < to; i++) {
        key_of(i, key);
        n += key_filter_has(filter, key);
    }
    return n;
}

static void
knows_what_was_added_through_all_layers(void **state)
{
    (void)state;
    enum { N = 400000 };
    size_t budget = (size_t)8 << 20;
    struct key_filter filter;
    key_filter_init(&filter, &budget);

    add_keys(&filter, 0, N);

    assert_false(filter.full);
    assert_int_equal(count_known(&filter, 0, N), N);
    key_filter_clear(&filter);
    assert_int_equal(budget, (size_t)8 << 20);
}

static void
denies_nearly_all_that_was_not_added(void **state)
{
    (void)state;
    enum { N = 200000 };
    size_t budget = (size_t)8 << 20;
    struct key_filter filter;
    key_filter_init(&filter, &budget);
    assert_int_equal(count_known(&filter, 0, N), 0);

    add_keys(&filter, 0, N);

    assert_true(count_known(&filter, N, 2 * N) < N / 100);
    key_filter_clear(&filter);
}

static void
denies_nothing_once_its_budget_is_spent(void **state)
{
    (void)state;
    enum { N = 3 * FIRST_LAYER_KEYS };
    size_t budget = FIRST_LAYER_BYTES + 100;
    struct key_filter filter;
    key_filter_init(&filter, &budget);

    add_keys(&filter, 0, N);

    assert_true(filter.full);
    assert_int_equal(count_known(&filter, 0, 2 * N), 2 * N);
    assert_int_equal(budget, FIRST_LAYER_BYTES + 100); /* it has given up its memory */
    key_filter_clear(&filter);
    assert_int_equal(count_known(&filter, 0, N), 0);
}

static void
takes_no_memory_without_a_budget(void **state)
{
    (void)state;
    size_t budget = 0;
    struct key_filter filter;
    uint8_t key[DIGEST_BYTES];
    key_filter_init(&filter, &budget);
    key_of(1, key);

    assert_true(key_filter_add(&filter, key));

    assert_int_equal(filter.n_layers, 0);
    assert_true(key_filter_has(&filter, key));
}

static void
says_whether_a_key_was_there_before(void **state)
{
    (void)state;
    size_t budget = FIRST_LAYER_BYTES;
    struct key_filter filter;
    uint8_t key[DIGEST_BYTES];
    key_filter_init(&filter, &budget);
    key_of(1, key);

    assert_false(key_filter_add(&filter, key));
    assert_true(key_filter_add(&filter, key));
    assert_int_equal(filter.n, 1);
    key_filter_clear(&filter);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_what_was_added_through_all_layers),
        cmocka_unit_test(denies_nearly_all_that_was_not_added),
        cmocka_unit_test(denies_nothing_once_its_budget_is_spent),
        cmocka_unit_test(takes_no_memory_without_a_budget),
        cmocka_unit_test(says_whether_a_key_was_there_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
