/* SPDX-License-Identifier: Apache-2.0 */
/* The table of topics: complete, and its limits answer by name. */
#include "topics.h"

#include "unit.h"

static void
knows_every_topic_once(void **state)
{
    (void)state;
    size_t n = 0;

    const struct topic *all = topics_all(&n);

    assert_int_equal(n, 14);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(topic_find(all[i].name), &all[i]);
        assert_true(all[i].partitions > 0);
        assert_true(all[i].max_message_bytes >= (size_t)1 << 20);
    }
    assert_non_null(topic_find(TOPIC_TUNINGS));
    assert_non_null(topic_find(TOPIC_AUDIT_TUNINGS));
    assert_non_null(topic_find(TOPIC_WARNINGS));
    assert_non_null(topic_find(TOPIC_DEAD));
    assert_null(topic_find("heddle.tuning"));
}

static void
takes_the_largest_with_the_dead_letters(void **state)
{
    (void)state;
    const char *const names[] = {"heddle.audit.tunings", "heddle.warnings", NULL};

    assert_int_equal(topics_largest(names), (size_t)17 << 20);
}

static void
takes_the_smallest_of_the_named_topics(void **state)
{
    (void)state;
    const char *const names[] = {"heddle.splits", "heddle.audit.tunings", NULL};
    const char *const foreign[] = {"somebody.else", NULL};

    assert_int_equal(topics_smallest(names), (size_t)2 << 20);
    assert_int_equal(topics_smallest(foreign), (size_t)1 << 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_every_topic_once),
        cmocka_unit_test(takes_the_largest_with_the_dead_letters),
        cmocka_unit_test(takes_the_smallest_of_the_named_topics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
