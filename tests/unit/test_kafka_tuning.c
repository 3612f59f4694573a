/* SPDX-License-Identifier: Apache-2.0 */
/* What is set and worked around on which librdkafka. */
#include "kafka_tuning.h"

#include "unit.h"

enum { FLOOR = 0x020002ff, BEFORE_BACKOFF = 0x020101ff, CURRENT = 0x020c01ff };

static const char *
value_of(int version, enum kafka_role role, const char *name)
{
    struct kafka_property list[KAFKA_TUNING_MAX];
    size_t n = kafka_tuning(version, role, list);
    assert_null(list[n].name);
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].value;
    return NULL;
}

static void
bounds_the_fetch_queue_on_every_library(void **state)
{
    (void)state;
    assert_non_null(value_of(FLOOR, KAFKA_CONSUMES, "queued.max.messages.kbytes"));
    assert_non_null(value_of(CURRENT, KAFKA_CONSUMES, "queued.max.messages.kbytes"));
}

static void
keeps_the_queue_short_only_where_a_full_one_is_looked_at_again_at_once(void **state)
{
    (void)state;
    assert_null(value_of(FLOOR, KAFKA_CONSUMES, "queued.min.messages"));
    assert_null(value_of(BEFORE_BACKOFF, KAFKA_CONSUMES, "fetch.queue.backoff.ms"));
    assert_non_null(value_of(0x020200ff, KAFKA_CONSUMES, "fetch.queue.backoff.ms"));
    assert_non_null(value_of(CURRENT, KAFKA_CONSUMES, "queued.min.messages"));
}

static void
shortens_the_wait_between_transactions_on_old_libraries(void **state)
{
    (void)state;
    assert_string_equal(value_of(FLOOR, KAFKA_TRANSACTS, "retry.backoff.ms"), "5");
    assert_null(value_of(CURRENT, KAFKA_TRANSACTS, "retry.backoff.ms"));
    assert_null(value_of(FLOOR, KAFKA_PRODUCES, "retry.backoff.ms"));
}

static void
knows_which_library_has_which_defect(void **state)
{
    (void)state;
    assert_true(kafka_has_defect(0x020600ff, KAFKA_DEFECT_SCRAM));
    assert_false(kafka_has_defect(0x020601ff, KAFKA_DEFECT_SCRAM));
    assert_true(kafka_has_defect(FLOOR, KAFKA_DEFECT_EARLY_CLOSE));
    assert_false(kafka_has_defect(0x020400ff, KAFKA_DEFECT_EARLY_CLOSE));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_the_fetch_queue_on_every_library),
        cmocka_unit_test(
            keeps_the_queue_short_only_where_a_full_one_is_looked_at_again_at_once),
        cmocka_unit_test(shortens_the_wait_between_transactions_on_old_libraries),
        cmocka_unit_test(knows_which_library_has_which_defect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
