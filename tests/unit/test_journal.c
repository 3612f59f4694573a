/* SPDX-License-Identifier: Apache-2.0 */
/* What a journal counts, and what it forgets. */
#include "journal.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temp_dir.h"

#include "unit.h"

static struct temp_dir home;

static int
make_home(void **state)
{
    (void)state;
    return temp_dir_make(&home) ? 0 : -1;
}

static int
drop_home(void **state)
{
    (void)state;
    temp_dir_done(&home);
    return 0;
}

static struct journal *
open_journal(const char *topic)
{
    struct err err;
    struct journal *journal = journal_open(home.path, "i", topic, &err);
    assert_non_null(journal);
    return journal;
}

/* A process of its own works on a record and is killed at once. */
static void
die_over(int lane, int32_t partition, int64_t offset, bool left)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct journal *journal = journal_open(home.path, "i", "t", NULL);
        journal_enter(journal, lane, partition, offset);
        if (left)
            journal_leave(journal, lane);
        raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void
counts_each_death_over_a_record(void **state)
{
    (void)state;
    for (int i = 0; i < JOURNAL_CRASH_LIMIT; i++)
        die_over(0, 3, 77, false);
    die_over(1, 4, 5, false);

    struct journal *journal = open_journal("t");

    assert_int_equal(journal_crashes(journal, 3, 77), JOURNAL_CRASH_LIMIT);
    assert_int_equal(journal_crashes(journal, 4, 5), 1);
    assert_int_equal(journal_crashes(journal, 3, 78), 0);
    journal_close(journal);
}

/* A job that was dropped may still be at the record when the next one begins it. */
static void
counts_one_death_once_for_a_record_in_two_lanes(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct journal *journal = journal_open(home.path, "i", "t", NULL);
        journal_enter(journal, 1, 3, 77);
        journal_enter(journal, 2, 3, 78);
        journal_enter(journal, 3, 3, 77);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);

    struct journal *journal = open_journal("t");

    assert_int_equal(journal_crashes(journal, 3, 77), 1);
    assert_int_equal(journal_crashes(journal, 3, 78), 1);
    journal_close(journal);
    journal = open_journal("t");
    assert_int_equal(journal_crashes(journal, 3, 77), 1);
    journal_close(journal);
}

static void
keeps_no_mark_of_a_death_between_records(void **state)
{
    (void)state;
    die_over(0, 3, 77, true);

    struct journal *journal = open_journal("t");

    assert_int_equal(journal_crashes(journal, 3, 77), 0);
    journal_close(journal);
}

static void
forgets_what_has_committed(void **state)
{
    (void)state;
    die_over(0, 3, 77, false);
    die_over(0, 4, 77, false);
    struct journal *journal = open_journal("t");

    journal_forget(journal, 3, 77);
    assert_int_equal(journal_crashes(journal, 3, 77), 1);
    journal_forget(journal, 3, 78);

    assert_int_equal(journal_crashes(journal, 3, 77), 0);
    assert_int_equal(journal_crashes(journal, 4, 77), 1);
    journal_close(journal);
}

static void
starts_anew_for_another_topic_or_a_broken_file(void **state)
{
    (void)state;
    die_over(0, 3, 77, false);

    struct journal *journal = open_journal("other");
    assert_int_equal(journal_crashes(journal, 3, 77), 0);
    journal_close(journal);

    assert_true(temp_write(&home, "journals/i.journal", "rubbish", 0));
    journal = open_journal("t");
    assert_int_equal(journal_crashes(journal, 3, 77), 0);
    journal_close(journal);
}

static void
keeps_the_worst_when_there_are_too_many(void **state)
{
    (void)state;
    die_over(0, 0, 1000, false);
    die_over(0, 0, 1000, false);
    for (int i = 0; i <= JOURNAL_CRASHES; i++)
        die_over(0, 1, i, false);

    struct journal *journal = open_journal("t");

    assert_int_equal(journal_crashes(journal, 0, 1000), 2);
    assert_int_equal(journal_crashes(journal, 1, JOURNAL_CRASHES), 1);
    journal_close(journal);
}

static void
says_where_it_can_not_write(void **state)
{
    (void)state;
    struct err err;
    assert_true(temp_write(&home, "journals", "", 0));

    assert_null(journal_open(home.path, "i", "t", &err));

    assert_int_equal(err.exit_code, EXIT_CONFIG);
    assert_string_equal(err.code, "state_dir_unusable");
}

static void
does_nothing_without_a_journal(void **state)
{
    (void)state;

    journal_enter(NULL, 0, 1, 2);
    journal_leave(NULL, 0);
    journal_forget(NULL, 1, 3);

    assert_int_equal(journal_crashes(NULL, 1, 2), 0);
    journal_close(NULL);
}

#define IN_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, drop_home)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_HOME(counts_each_death_over_a_record),
        IN_HOME(counts_one_death_once_for_a_record_in_two_lanes),
        IN_HOME(keeps_no_mark_of_a_death_between_records),
        IN_HOME(forgets_what_has_committed),
        IN_HOME(starts_anew_for_another_topic_or_a_broken_file),
        IN_HOME(keeps_the_worst_when_there_are_too_many),
        IN_HOME(says_where_it_can_not_write),
        IN_HOME(does_nothing_without_a_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
