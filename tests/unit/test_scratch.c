/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary file: nameless, read back as written, a full disk is said. */
#include "scratch.h"

#include "split_settings.h"
#include "temp_dir.h"
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

static size_t
count_files(const char *path)
{
    size_t n = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n - 2;
}

static void
gives_back_what_was_written_at_an_offset(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    CLEANUP(scratch_close) struct scratch scratch = {.fd = -1};
    struct err err = {0};
    char room[8] = "";
    assert_true(temp_dir_make(&dir));

    assert_int_equal(scratch_open(&scratch, dir.path, &err), ERR_OK);
    struct split_spill spill = scratch_spill(&scratch);
    assert_int_equal(spill.write(spill.state, UINT64_C(5) << 30, "later", 5, &err), 0);
    assert_int_equal(spill.write(spill.state, 3, "first", 5, &err), 0);

    assert_int_equal(spill.read(spill.state, UINT64_C(5) << 30, room, 5, &err), 0);
    assert_string_equal(room, "later");
    assert_int_equal(spill.read(spill.state, 3, room, 5, &err), 0);
    assert_string_equal(room, "first");
    assert_int_equal(count_files(dir.path), 0);
}

static void
opens_the_room_of_an_index_when_it_is_needed(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    assert_true(temp_dir_make(&dir));
    CLEANUP(scratch_close) struct scratch scratch = {.dir = dir.path, .fd = -1};
    struct split_spill spill = scratch_spill(&scratch);
    struct scratch nowhere = {.dir = "/no/such/folder", .fd = -1};
    struct split_spill none = scratch_spill(&nowhere);
    struct err err = {0};
    char room[3] = "";

    assert_int_equal(spill.write(spill.state, 0, "ab", 2, &err), ERR_OK);
    assert_int_equal(spill.read(spill.state, 0, room, 2, &err), ERR_OK);
    assert_string_equal(room, "ab");
    assert_int_equal(none.write(none.state, 0, "ab", 2, &err), ERR_RETRY);
}

static void
says_where_a_file_can_not_be_made(void **state)
{
    (void)state;
    struct scratch scratch = {.fd = -1};
    struct err err = {0};

    assert_int_equal(scratch_open(&scratch, "/no/such/folder", &err), ERR_RETRY);

    assert_string_equal(err.code, "scratch_failed");
    assert_non_null(strstr(err.msg, "/no/such/folder"));
    assert_int_equal(scratch.fd, -1);
    scratch_close(&scratch);
}

static void
takes_a_full_disk_for_passing_trouble(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    CLEANUP(scratch_close) struct scratch scratch = {.fd = -1};
    struct rlimit before;
    struct err err = {0};
    assert_true(temp_dir_make(&dir));
    assert_int_equal(scratch_open(&scratch, dir.path, &err), ERR_OK);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit small = {4, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);

    enum err_kind kind = scratch_write(&scratch, 0, "too long", 8, &err);

    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(kind, ERR_RETRY);
    assert_string_equal(err.code, "scratch_failed");
}

static void
does_not_read_behind_the_end(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    CLEANUP(scratch_close) struct scratch scratch = {.fd = -1};
    char room[8];
    assert_true(temp_dir_make(&dir));
    assert_int_equal(scratch_open(&scratch, dir.path, NULL), ERR_OK);
    assert_int_equal(scratch_write(&scratch, 0, "short", 5, NULL), ERR_OK);

    assert_int_equal(scratch_read(&scratch, 0, room, sizeof room, NULL), ERR_RETRY);
}

static void
has_the_limits_of_the_specification_by_default(void **state)
{
    (void)state;
    static struct {
        const char *rest;
        struct split_settings split;
    } values;
    static const struct option table[] = {
        SPLIT_SETTING_ROWS(__typeof__(values), split, 0),
    };
    struct option_table tables[] = {OPTION_TABLE(table, &values)};
    struct err err = {0};
    struct options *options = options_new(tables, 1, NULL, NULL, &err);
    assert_non_null(options);

    struct split_limits limits = split_settings_limits(&values.split);

    struct split_limits wanted = SPLIT_LIMITS_DEFAULT;
    assert_int_equal(limits.max_bytes, wanted.max_bytes);
    assert_int_equal(limits.max_ratio, wanted.max_ratio);
    assert_int_equal(limits.max_event_bytes, wanted.max_event_bytes);
    assert_int_equal(limits.max_strings, wanted.max_strings);
    assert_int_equal(limits.zstd_window_log, wanted.zstd_window_log);
    assert_int_equal(limits.index_memory, wanted.index_memory);
    assert_null(values.split.tmp_dir);
    assert_int_equal(values.split.max_spool_bytes, INT64_C(64) << 30);
    options_free(options);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_what_was_written_at_an_offset),
        cmocka_unit_test(opens_the_room_of_an_index_when_it_is_needed),
        cmocka_unit_test(says_where_a_file_can_not_be_made),
        cmocka_unit_test(takes_a_full_disk_for_passing_trouble),
        cmocka_unit_test(does_not_read_behind_the_end),
        cmocka_unit_test(has_the_limits_of_the_specification_by_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
