/* SPDX-License-Identifier: Apache-2.0 */
/* heddle topics against a real Kafka: what it plans, makes, grows, sets and leaves. */
#include "kafka.h"
#include "kafka_admin.h"
#include "topics.h"

#include "real_kafka.h"
#include "run_heddle.h"

#include "unit.h"

enum { TIMEOUT_MS = 30000, EXIT_PENDING = 2 };

static struct real_kafka kafka;

static int
open_kafka(void **state)
{
    (void)state;
    return real_kafka_start(&kafka, false) ? 0 : -1;
}

static int
close_kafka(void **state)
{
    (void)state;
    real_kafka_stop(&kafka);
    return 0;
}

/* heddle topics with one more flag and its value (may be NULL), on the test's Kafka. */
static int
topics(struct process *process,
       const char *action,
       const char *execute,
       const char *partitions)
{
    const char *words[8] = {"topics", action, "--brokers", kafka.bootstrap};
    size_t n = 4;
    if (execute)
        words[n++] = execute;
    if (partitions) {
        words[n++] = "--partitions";
        words[n++] = partitions;
    }
    return heddle_run(process, NULL, words);
}

static struct kafka_settings
settings(void)
{
    return (struct kafka_settings){.brokers = kafka.bootstrap, .client_id = "test"};
}

static int32_t
partitions_of(const char *topic)
{
    struct kafka_settings to = settings();
    struct cluster_info info = {0};
    struct err err;
    int32_t n = 0;
    assert_int_equal(cluster_info_get(&to, TIMEOUT_MS, &info, &err), ERR_OK);
    for (size_t i = 0; i < info.n_topics; i++)
        if (strcmp(info.topics[i].name, topic) == 0)
            n = info.topics[i].n_partitions;
    cluster_info_done(&info);
    return n;
}

static void
makes_what_the_plan_names_and_plans_no_more(void **state)
{
    (void)state;
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    struct process process;

    assert_int_equal(topics(&process, "plan", NULL, NULL), EXIT_PENDING);
    for (size_t i = 0; i < n; i++)
        assert_non_null(strstr(process.text, all[i].name));
    process_close(&process);
    assert_int_equal(topics(&process, "apply", NULL, NULL), EXIT_PENDING);
    process_close(&process);
    assert_int_equal(partitions_of(all[0].name), 0);
    assert_int_equal(topics(&process, "apply", "--execute", NULL), 0);
    process_close(&process);

    for (size_t i = 0; i < n; i++)
        assert_int_equal(partitions_of(all[i].name), all[i].partitions);
    assert_int_equal(topics(&process, "plan", NULL, NULL), 0);
    assert_non_null(strstr(process.text, "\n0 of "));
    process_close(&process);
}

static void
grows_a_topic_and_never_shrinks_it(void **state)
{
    (void)state;
    struct process process;

    assert_int_equal(topics(&process, "apply", "--execute", "heddle.traces=11"), 0);
    process_close(&process);
    assert_int_equal(partitions_of("heddle.traces"), 11);

    assert_int_equal(topics(&process, "apply", "--execute", "heddle.traces=3"),
                     EXIT_PENDING);
    assert_non_null(strstr(process.text, "! heddle.traces"));
    process_close(&process);
    assert_int_equal(partitions_of("heddle.traces"), 11);
    assert_int_equal(topics(&process, "plan", NULL, "heddle.traces=11"), 0);
    process_close(&process);
}

/* What the topic is set to, malloc()ed. */
static char *
setting_of(struct kafka_admin *admin, const char *topic, const char *name)
{
    struct topic_configs configs = {0};
    struct err err;
    assert_int_equal(kafka_admin_configs(admin, topic, &configs, &err), ERR_OK);
    const char *value = topic_configs_get(&configs, name);
    char *copy = value ? strdup(value) : NULL;
    topic_configs_done(&configs);
    return copy;
}

static void
assert_setting(struct kafka_admin *admin,
               const char *topic,
               const char *name,
               const char *wanted)
{
    char *value = setting_of(admin, topic, name);
    assert_non_null(value);
    assert_string_equal(value, wanted);
    free(value);
}

static void
sets_what_somebody_changed_and_keeps_the_rest(void **state)
{
    (void)state;
    static const struct topic_setting changed[] = {{"retention.ms", "604800000"},
                                                   {"segment.ms", "3600000"}};
    struct kafka_settings to = settings();
    struct err err;
    struct process process;
    struct kafka_admin *admin = kafka_admin_new(&to, TIMEOUT_MS, &err);
    assert_non_null(admin);
    struct topic_configs present = {0};
    assert_int_equal(kafka_admin_configs(admin, TOPIC_WARNINGS, &present, &err), ERR_OK);
    assert_int_equal(kafka_admin_alter(admin, TOPIC_WARNINGS, &present, changed, 2, &err),
                     ERR_OK);
    topic_configs_done(&present);

    assert_int_equal(topics(&process, "plan", NULL, "heddle.traces=11"), EXIT_PENDING);
    assert_non_null(strstr(process.text, "retention.ms is 604800000, should be -1"));
    assert_null(strstr(process.text, "segment.ms"));
    process_close(&process);
    assert_int_equal(topics(&process, "apply", "--execute", "heddle.traces=11"), 0);
    process_close(&process);

    assert_setting(admin, TOPIC_WARNINGS, "retention.ms", "-1");
    assert_setting(admin, TOPIC_WARNINGS, "segment.ms", "3600000");
    kafka_admin_free(admin);
}

static void
describes_each_topic_as_it_is(void **state)
{
    (void)state;
    struct process process;

    assert_int_equal(topics(&process, "describe", NULL, NULL), 0);

    assert_non_null(
        strstr(process.text, "heddle.traces\n  partitions: 11 (should be 8)"));
    assert_non_null(strstr(process.text, "cleanup.policy: compact (should be compact)"));
    assert_null(strstr(process.text, "unknown"));
    process_close(&process);
}

static void
says_that_no_broker_answers_after_a_crash_and_goes_on_after_it(void **state)
{
    (void)state;
    struct process process;
    assert_true(real_kafka_kill(&kafka));

    assert_int_equal(topics(&process, "plan", NULL, NULL), EXIT_UNREACHABLE);
    assert_non_null(strstr(process.text, kafka.bootstrap));
    process_close(&process);

    assert_true(real_kafka_restart(&kafka));
    assert_int_equal(topics(&process, "plan", NULL, "heddle.traces=11"), 0);
    process_close(&process);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_what_the_plan_names_and_plans_no_more),
        cmocka_unit_test(grows_a_topic_and_never_shrinks_it),
        cmocka_unit_test(sets_what_somebody_changed_and_keeps_the_rest),
        cmocka_unit_test(describes_each_topic_as_it_is),
        cmocka_unit_test(says_that_no_broker_answers_after_a_crash_and_goes_on_after_it),
    };
    int status = 0;
    if (!real_kafka_here("kafka.topics", &status))
        return status;
    return cmocka_run_group_tests(tests, open_kafka, close_kafka);
}
