/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of dead letters: what its lines say, and what a run that died has left. */
#include "marks.h"

#include "dead_journal.h"
#include "temp_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

static const char cluster[] = "c1";

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static enum err_kind
read_text(struct marks *marks, const char *text, size_t *ret_len, struct err *err)
{
    return marks_read(marks, slice_of(text), cluster, ret_len, err);
}

static void
the_last_line_of_a_place_stands(void **state)
{
    (void)state;
    struct err err;
    size_t len = 0;
    CLEANUP(marks_done) struct marks marks = MARKS_INIT;
    static const char text[] = "heddle-dead 1 c1\nrun\nfrom t 0 5\n"
                               "sending 0 7 " ID_A "\nsending 1 7 " ID_A "\n"
                               "requeued 0 7 " ID_A "\ndropped 0 6 " ID_B "\n";

    assert_int_equal(read_text(&marks, text, &len, &err), ERR_OK);

    assert_int_equal(len, sizeof text - 1);
    assert_int_equal(marks_find(&marks, 0, 7, ID_A)->state, MARK_REQUEUED);
    assert_int_equal(marks_find(&marks, 1, 7, ID_A)->state, MARK_SENDING);
    assert_int_equal(marks_find(&marks, 0, 6, ID_B)->state, MARK_DROPPED);
    assert_null(marks_find(&marks, 0, 8, ID_A));
    assert_true(marks_unsure(&marks));
    assert_int_equal(marks_from(&marks, "t", 0), 5);
    assert_int_equal(marks_from(&marks, "t", 1), 0);
}

/* A topic that was made anew gives its offsets out again. */
static void
a_mark_is_of_one_record_only(void **state)
{
    (void)state;
    struct err err;
    size_t len = 0;
    CLEANUP(marks_done) struct marks marks = MARKS_INIT;

    assert_int_equal(
        read_text(&marks, "heddle-dead 1 c1\nrequeued 0 7 " ID_A "\n", &len, &err),
        ERR_OK);

    assert_null(marks_find(&marks, 0, 7, ID_B));
}

static void
a_line_cut_short_by_a_crash_is_left_out(void **state)
{
    (void)state;
    struct err err;
    size_t len = 0;
    CLEANUP(marks_done) struct marks marks = MARKS_INIT;

    assert_int_equal(
        read_text(&marks, "heddle-dead 1 c1\nrequeued 0 7 " ID_A "\nrequeued 0 8 bbb",
                  &len, &err),
        ERR_OK);

    assert_int_equal(marks.n, 1);
    assert_int_equal(len, strlen("heddle-dead 1 c1\nrequeued 0 7 " ID_A "\n"));
}

static void
refuses_a_journal_that_is_damaged(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "heddle-dead 1 other\n",
        "heddle-dead 2 c1\n",
        "heddle-dead 1 c1\nrequeued 0 7\n",
        "heddle-dead 1 c1\nrequeued 0 seven " ID_A "\n",
        "heddle-dead 1 c1\nrequeued 0 99999999999999999999 " ID_A "\n",
        "heddle-dead 1 c1\nrequeued 2147483648 7 " ID_A "\n",
        "heddle-dead 1 c1\nrequeued 0 7 short\n",
        "heddle-dead 1 c1\nforgotten 0 7 " ID_A "\n",
        "heddle-dead 1 c1\nrequeued 0 7 " ID_A " more\n",
        "heddle-dead 1 c1\nfrom t 0 x\n",
        "heddle-dead 1 c1\n\n",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        size_t len = 0;
        CLEANUP(marks_done) struct marks marks = MARKS_INIT;

        if (read_text(&marks, cases[i], &len, &err) == ERR_OK)
            fail_msg("taken: %s", cases[i]);

        assert_string_equal(err.code, "journal_damaged");
        assert_int_equal(err.exit_code, EXIT_CONFIG);
    }
}

static void
what_is_found_in_the_topic_was_sent(void **state)
{
    (void)state;
    struct err err;
    size_t len = 0;
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    CLEANUP(marks_done) struct marks marks = MARKS_INIT;
    assert_int_equal(read_text(&marks,
                               "heddle-dead 1 c1\nrun\nsending 0 1 " ID_A
                               "\nsending 0 2 " ID_B "\n",
                               &len, &err),
                     ERR_OK);

    assert_int_equal(marks_begin_claims(&marks, &err), ERR_OK);
    marks_claim(&marks, ID_A);
    marks_settle(&marks, &lines);

    assert_string_equal(buf_text(&lines), "requeued 0 1 " ID_A "\nopen 0 2 " ID_B "\n");
    assert_false(marks_unsure(&marks));
}

/* Equal records are as good as each other; only how many were sent counts. */
static void
equal_records_are_counted(void **state)
{
    (void)state;
    struct err err;
    size_t len = 0;
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    CLEANUP(marks_done) struct marks marks = MARKS_INIT;
    assert_int_equal(read_text(&marks,
                               "heddle-dead 1 c1\nrun\nsending 0 1 " ID_A
                               "\nsending 0 2 " ID_A "\nsending 0 3 " ID_A
                               "\nrequeued 0 1 " ID_A "\n",
                               &len, &err),
                     ERR_OK);

    assert_int_equal(marks_begin_claims(&marks, &err), ERR_OK);
    marks_claim(&marks, ID_A); /* that of 0:1, known before */
    marks_claim(&marks, ID_A);
    marks_settle(&marks, &lines);

    size_t n_open = 0;
    for (size_t i = 0; i < marks.n; i++)
        n_open += marks.items[i].state == MARK_OPEN;
    assert_int_equal(n_open, 1);
}

/* A record of an older run proves nothing about this one. */
static void
earlier_runs_claim_nothing(void **state)
{
    (void)state;
    struct err err;
    size_t len = 0;
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    CLEANUP(marks_done) struct marks marks = MARKS_INIT;
    assert_int_equal(read_text(&marks,
                               "heddle-dead 1 c1\nrun\nfrom t 0 1\nrequeued 0 1 " ID_A
                               "\nrun\nfrom t 0 9\nsending 0 2 " ID_A "\n",
                               &len, &err),
                     ERR_OK);

    assert_int_equal(marks_from(&marks, "t", 0), 9);
    assert_int_equal(marks_begin_claims(&marks, &err), ERR_OK);
    marks_claim(&marks, ID_A);
    marks_settle(&marks, &lines);

    assert_string_equal(buf_text(&lines), "requeued 0 2 " ID_A "\n");
}

static void
the_id_tells_null_from_empty_and_pieces_apart(void **state)
{
    (void)state;
    struct message ab = {.key = SLICE("a"), .value = SLICE("b")};
    struct message abx = {.key = SLICE("ab"), .value = SLICE("")};
    struct message null = {.key = SLICE("ab")};
    char ids[5][LETTER_ID_BYTES];

    assert_true(letter_id(SLICE("t"), &ab, 2, 9, ids[0]));
    assert_true(letter_id(SLICE("t"), &abx, 2, 9, ids[1]));
    assert_true(letter_id(SLICE("t"), &null, 2, 9, ids[2]));
    assert_true(letter_id(SLICE("t"), &ab, 3, 9, ids[3]));
    assert_true(letter_id(SLICE("u"), &ab, 2, 9, ids[4]));

    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(ids[i], ids[k]);
}

static void
the_file_keeps_what_was_appended(void **state)
{
    (void)state;
    struct err err = {0};
    struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    struct marks marks = MARKS_INIT;
    struct dead_journal *journal = dead_journal_open(dir.path, cluster, &marks, &err);
    assert_non_null(journal);
    assert_int_equal(marks.n, 0);

    marks_line(&lines, MARK_REQUEUED, 0, 1, ID_A);
    assert_int_equal(dead_journal_append(journal, &lines, &err), ERR_OK);
    marks_line(&lines, MARK_DROPPED, 0, 2, ID_B);
    assert_int_equal(dead_journal_append(journal, &lines, &err), ERR_OK);
    dead_journal_close(journal);

    assert_int_equal(dead_journal_read(dir.path, cluster, &marks, &err), ERR_OK);
    assert_int_equal(marks.n, 2);
    marks_done(&marks);
    assert_int_equal(dead_journal_read(dir.path, "other", &marks, &err), ERR_OK);
    assert_int_equal(marks.n, 0);
    temp_dir_done(&dir);
}

static void
half_a_line_does_not_spoil_what_comes_after(void **state)
{
    (void)state;
    struct err err = {0};
    struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    struct marks marks = MARKS_INIT;
    dead_journal_close(dead_journal_open(dir.path, cluster, &marks, &err));
    char *path = dead_journal_path(dir.path, cluster);
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "requeued 0 1 aa", 15), 15);
    close(fd);

    struct dead_journal *journal = dead_journal_open(dir.path, cluster, &marks, &err);
    marks_line(&lines, MARK_DROPPED, 0, 2, ID_B);
    assert_int_equal(dead_journal_append(journal, &lines, &err), ERR_OK);
    dead_journal_close(journal);

    assert_int_equal(dead_journal_read(dir.path, cluster, &marks, &err), ERR_OK);
    assert_int_equal(marks.n, 1);
    marks_done(&marks);
    free(path);
    temp_dir_done(&dir);
}

static void
only_one_command_acts_at_a_time(void **state)
{
    (void)state;
    struct err err = {0};
    struct temp_dir dir;
    assert_true(temp_dir_make(&dir));
    struct marks marks = MARKS_INIT;
    struct dead_journal *first = dead_journal_open(dir.path, cluster, &marks, &err);

    assert_null(dead_journal_open(dir.path, cluster, &marks, &err));

    assert_string_equal(err.code, "journal_busy");
    assert_int_equal(err.exit_code, EXIT_TRY_AGAIN);
    dead_journal_close(first);
    marks_done(&marks);
    temp_dir_done(&dir);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_of_a_place_stands),
        cmocka_unit_test(a_mark_is_of_one_record_only),
        cmocka_unit_test(a_line_cut_short_by_a_crash_is_left_out),
        cmocka_unit_test(refuses_a_journal_that_is_damaged),
        cmocka_unit_test(what_is_found_in_the_topic_was_sent),
        cmocka_unit_test(equal_records_are_counted),
        cmocka_unit_test(earlier_runs_claim_nothing),
        cmocka_unit_test(the_id_tells_null_from_empty_and_pieces_apart),
        cmocka_unit_test(the_file_keeps_what_was_appended),
        cmocka_unit_test(half_a_line_does_not_spoil_what_comes_after),
        cmocka_unit_test(only_one_command_acts_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
