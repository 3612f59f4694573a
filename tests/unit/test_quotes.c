/* SPDX-License-Identifier: Apache-2.0 */
/* The structural index: every variant says what the portable one says. */
#include "quotes.h"
#include "scan.h"

#include "unit.h"

#include <stdlib.h>

enum { TEXTS = 400, MAX_LEN = 3000 };

static uint64_t seed;

static uint32_t
draw(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

static void
draw_text(char *text, size_t len)
{
    static const char bytes[] = "\"\"\"\\\\\\ab {}[],:\n\t\x01\xc3\xff";
    bool is_dense = draw(2);
    for (size_t i = 0; i < len; i++) {
        text[i] = 'x';
        if (is_dense || draw(8) == 0)
            text[i] = bytes[draw(sizeof bytes)];
    }
}

static void
assert_same_index(enum scan_variant variant, const char *text, size_t len)
{
    static struct quotes wanted;
    static struct quotes found;
    struct quotes_state a = {0};
    struct quotes_state b = {0};
    for (size_t from = 0; from < len; from += 1024) {
        size_t to = from + 1024 < len ? from + 1024 : len;
        scan_variant_force(SCAN_PORTABLE);
        quotes_index_in_use()(text, from, to, &a, &wanted);
        scan_variant_force(variant);
        assert_int_equal(scan_variant_in_use(), variant);
        quotes_index_in_use()(text, from, to, &b, &found);
        assert_int_equal(found.n, wanted.n);
        assert_int_equal(found.n_odd, wanted.n_odd);
        assert_memory_equal(found.at, wanted.at, wanted.n * sizeof *wanted.at);
        assert_memory_equal(found.odd, wanted.odd, wanted.n_odd * sizeof *wanted.odd);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void
agrees_with_the_portable_variant_on_random_text(void **state)
{
    const char *given = getenv("HEDDLE_SEED");
    char text[MAX_LEN + QUOTES_LINE];
    (void)state;
    seed = given ? strtoull(given, NULL, 10) : 20261130;
    print_message("HEDDLE_SEED=%llu\n", (unsigned long long)seed);

    for (int i = 0; i < TEXTS; i++) {
        size_t len = 1 + draw(MAX_LEN);
        memset(text, 0, sizeof text);
        draw_text(text, len);
        for (enum scan_variant v = SCAN_AVX512; v < SCAN_PORTABLE; v++)
            if (scan_variant_runs(v))
                assert_same_index(v, text, len);
    }

    scan_variant_force(SCAN_VARIANTS);
}

/* The rule of the portable variant itself, byte by byte. */
static void
finds_the_quotes_that_no_backslash_escapes(void **state)
{
    static struct quotes quotes;
    char text[256] = "{\"a\\\"b\": \"\\\\\", \"c\\\\\\\"\": 1}";
    struct quotes_state carry = {0};
    (void)state;

    quotes_portable(text, 0, strlen(text), &carry, &quotes);

    const uint32_t wanted[] = {1, 6, 9, 12, 15, 21};
    assert_int_equal(quotes.n, 6);
    assert_memory_equal(quotes.at, wanted, sizeof wanted);
    assert_int_equal(quotes.n_odd, 1);
    assert_int_equal(carry.in_string, 0);
}

static void
goes_on_with_a_string_and_an_escape_from_line_to_line(void **state)
{
    static struct quotes quotes;
    char text[256] = {0};
    struct quotes_state carry = {0};
    (void)state;
    memset(text, 'x', 128);
    text[3] = '"';
    text[63] = '\\';
    text[64] = '"';
    text[70] = '"';

    quotes_portable(text, 0, 64, &carry, &quotes);

    assert_int_equal(quotes.n, 1);
    assert_int_equal(carry.in_string, UINT64_MAX);
    assert_int_equal(carry.escaped, 1);

    quotes_portable(text, 64, 128, &carry, &quotes);

    assert_int_equal(quotes.n, 1);
    assert_int_equal(quotes.at[0], 70);
    assert_int_equal(carry.in_string, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_portable_variant_on_random_text),
        cmocka_unit_test(finds_the_quotes_that_no_backslash_escapes),
        cmocka_unit_test(goes_on_with_a_string_and_an_escape_from_line_to_line),
    };
    return cmocka_run_group_tests_name("quotes", tests, NULL, NULL);
}
