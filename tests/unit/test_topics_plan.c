/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of topics: what is missing and what differs, and nothing when all is well. */
#include "topics.h"
#include "topics_plan.h"

#include <stdio.h>

#include "unit.h"

static const struct topics_wish nothing_special = {.retention_ms = -1};

/* Settings as a cluster tells them; the texts are borrowed. */
static struct topic_configs
configs_of(const struct topic *topic,
           struct topic_settings *storage,
           struct topic_config items[TOPIC_SETTINGS])
{
    topic_settings_wanted(topic, -1, storage);
    for (size_t i = 0; i < TOPIC_SETTINGS; i++)
        items[i] = (struct topic_config){
            .name = (char *)(uintptr_t)storage->items[i].name,
            .value = (char *)(uintptr_t)storage->items[i].value,
            .own = true,
        };
    return (struct topic_configs){items, TOPIC_SETTINGS};
}

static enum topic_change
compare(const char *name,
        int32_t n_partitions,
        const char *setting,
        const char *value,
        struct buf *out)
{
    const struct topic *topic = topic_find(name);
    struct topic_settings storage;
    struct topic_config items[TOPIC_SETTINGS];
    struct topic_configs configs = configs_of(topic, &storage, items);
    for (size_t i = 0; setting && i < TOPIC_SETTINGS; i++)
        if (strcmp(items[i].name, setting) == 0)
            items[i].value = (char *)(uintptr_t)value;
    struct topic_info info = {.name = (char *)(uintptr_t)name,
                              .n_partitions = n_partitions};
    return topics_compare(topic, &nothing_special, false, &info, &configs, out);
}

static void
says_nothing_of_a_topic_that_fits(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    size_t n = 0;
    const struct topic *all = topics_all(&n);

    for (size_t i = 0; i < n; i++)
        assert_int_equal(compare(all[i].name, all[i].partitions, NULL, NULL, &out),
                         TOPIC_FITS);

    assert_int_equal(out.len, 0);
}

static void
names_each_setting_that_differs(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    assert_int_equal(compare(TOPIC_TUNINGS, 8, "retention.ms", "604800000", &out),
                     TOPIC_DIFFERS);

    assert_string_equal(buf_text(&out),
                        "~ heddle.tunings             8 partitions, retention.ms is "
                        "604800000, should be -1\n");
}

static void
grows_a_topic_and_never_shrinks_one(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    assert_int_equal(compare(TOPIC_TUNINGS, 3, NULL, NULL, &out), TOPIC_TOO_FEW);
    assert_int_equal(compare(TOPIC_TUNINGS, 12, NULL, NULL, &out), TOPIC_TOO_MANY);

    assert_non_null(strstr(buf_text(&out), "~ heddle.tunings"));
    assert_non_null(strstr(buf_text(&out), "! heddle.tunings"));
}

static void
tells_missing_from_broken(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct topic *dead = topic_find(TOPIC_DEAD);
    struct topic_info broken = {.error = "Leader not available"};

    assert_int_equal(topics_compare(dead, &nothing_special, false, NULL, NULL, &out),
                     TOPIC_MISSING);
    assert_int_equal(topics_compare(dead, &nothing_special, false, &broken, NULL, &out),
                     TOPIC_HAS_ERROR);

    assert_non_null(strstr(buf_text(&out), "+ heddle.dead "));
    assert_non_null(strstr(buf_text(&out), "4 partitions, delete, 17 MiB\n"));
    assert_non_null(strstr(buf_text(&out), "Leader not available\n"));
}

static void
keeps_the_state_beside_its_input(void **state)
{
    (void)state;
    const char *items[] = {"heddle.tunings=24", "heddle.warnings=2"};
    struct topics_wish wish = {.retention_ms = -1, .partitions = {items, 2}};

    assert_int_equal(topics_wanted_partitions(&wish, topic_find(TOPIC_TUNINGS)), 24);
    assert_int_equal(topics_wanted_partitions(&wish, topic_find(TOPIC_STATE_AUDIT)), 24);
    assert_int_equal(topics_wanted_partitions(&wish, topic_find(TOPIC_WARNINGS)), 2);
    assert_int_equal(topics_wanted_partitions(&wish, topic_find(TOPIC_DEAD)), 4);
}

static void
refuses_a_wish_that_means_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "heddle.tunings",   "heddle.tunings=",   "foo=3",
        "heddle.tunings=0", "heddle.tunings=4x", "heddle.tunings=99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *items[] = {bad[i]};
        struct topics_wish wish = {.partitions = {items, 1}};
        struct err err = {0};
        assert_int_equal(topics_wish_check(&wish, &err), ERR_FATAL);
        assert_int_equal(err_exit_code(&err), EXIT_CONFIG);
    }
}

static void
knows_no_setting_of_the_embedded_broker(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct topic *tunings = topic_find(TOPIC_TUNINGS);
    struct topic_info info = {.n_partitions = TOPIC_PARTITIONS_EMBEDDED};

    assert_int_equal(topics_compare(tunings, &nothing_special, true, &info, NULL, &out),
                     TOPIC_FITS);
    topics_describe_one(tunings, &nothing_special, true, &info, NULL, &out);

    assert_non_null(strstr(buf_text(&out), "retention.ms: unknown (should be -1)"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_nothing_of_a_topic_that_fits),
        cmocka_unit_test(names_each_setting_that_differs),
        cmocka_unit_test(grows_a_topic_and_never_shrinks_one),
        cmocka_unit_test(tells_missing_from_broken),
        cmocka_unit_test(keeps_the_state_beside_its_input),
        cmocka_unit_test(refuses_a_wish_that_means_nothing),
        cmocka_unit_test(knows_no_setting_of_the_embedded_broker),
    };
    return cmocka_run_group_tests_name("topics_plan", tests, NULL, NULL);
}
