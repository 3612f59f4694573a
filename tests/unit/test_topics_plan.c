/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of topics: what is missing and what differs, and nothing when all is well. */
#include "topics.h"
#include "topics_plan.h"

#include <stdio.h>

#include "unit.h"

/* A cluster that has the table as it should be. */
static struct cluster_info
cluster_of(struct topic_info infos[TOPICS_MAX], bool mock)
{
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    for (size_t i = 0; i < n; i++)
        infos[i] = (struct topic_info){
            .name = (char *)(uintptr_t)all[i].name,
            .n_partitions = mock ? TOPIC_PARTITIONS_EMBEDDED : all[i].partitions,
        };
    static char name[] = "mockClusterx";
    return (struct cluster_info){
        .cluster_id = name, .mock = mock, .n_brokers = 1, .topics = infos, .n_topics = n};
}

static void
plans_nothing_for_a_cluster_that_fits(void **state)
{
    (void)state;
    for (int mock = 0; mock <= 1; mock++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct topic_info infos[TOPICS_MAX];
        struct cluster_info cluster = cluster_of(infos, mock);

        assert_false(topics_plan(&cluster, &out));

        assert_non_null(strstr(buf_text(&out), "\n0 of 14 topics differ"));
    }
}

static void
names_what_is_missing_and_what_differs(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct topic_info infos[TOPICS_MAX];
    struct cluster_info cluster = cluster_of(infos, false);
    infos[0].n_partitions = 3;
    infos[1].error = "Leader not available";
    cluster.n_topics -= 1; /* heddle.dead, the last of the table */

    assert_true(topics_plan(&cluster, &out));

    const char *text = buf_text(&out);
    assert_non_null(strstr(text, "~ heddle.tunings "));
    assert_non_null(strstr(text, "3 partitions, should be 8\n"));
    assert_non_null(strstr(text, "! heddle.audit.tunings "));
    assert_non_null(strstr(text, "Leader not available\n"));
    assert_non_null(strstr(text, "+ heddle.dead "));
    assert_non_null(strstr(text, "4 partitions, delete, 17 MiB\n"));
    assert_non_null(strstr(text, "\n3 of 14 topics differ; settings: unknown\n"));
}

static void
describes_every_topic_and_knows_no_setting(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct topic_info infos[TOPICS_MAX];
    struct cluster_info cluster = cluster_of(infos, true);
    cluster.n_topics -= 1;

    topics_describe(&cluster, &out);

    const char *text = buf_text(&out);
    size_t n = 0;
    const struct topic *all = topics_all(&n);
    for (size_t i = 0; i < n; i++)
        assert_non_null(strstr(text, all[i].name));
    assert_non_null(strstr(text, "unknown\n"));
    assert_non_null(strstr(text, "missing"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_nothing_for_a_cluster_that_fits),
        cmocka_unit_test(names_what_is_missing_and_what_differs),
        cmocka_unit_test(describes_every_topic_and_knows_no_setting),
    };
    return cmocka_run_group_tests_name("topics_plan", tests, NULL, NULL);
}
