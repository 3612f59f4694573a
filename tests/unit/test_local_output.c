/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a split: whole, or as it was before. */
#include "local_output.h"

#include "temp_dir.h"
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE SLICE("trace")

/* Names in a folder, but for . and ..; -1: there is no such folder. */
static int
count_names(const char *path)
{
    int n = -2;
    DIR *dir = opendir(path);
    if (!dir)
        return -1;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static bool
holds(const struct temp_dir *dir, const char *name)
{
    char *path = temp_path(dir, name);
    bool is_there = access(path, F_OK) == 0;
    free(path);
    return is_there;
}

static struct split_answer
answer_of_two_chunks(void)
{
    struct split_answer answer = {.n_chunks = 2};
    answer.chunks[0].file = SLICE("a.json.gz");
    answer.chunks[1].file = SLICE("b.json.gz");
    return answer;
}

/* Both chunks written in turn, and put in place unless something fails. */
static enum err_kind
write_split(const char *dir, struct slice piece, struct err *err)
{
    struct local_output *output = NULL;
    struct split_answer answer = answer_of_two_chunks();
    const struct document_file *files = NULL;
    enum err_kind kind = local_output_new(dir, BASE, &output, err);
    struct split_sink sink = {0};
    if (!kind)
        sink = local_output_sink(output, &answer);
    for (size_t i = 0; i < 4 && !kind; i++)
        kind = sink.write(sink.state, i % 2, piece, err);
    if (!kind)
        kind = local_output_close(output, &files, err);
    if (!kind) {
        assert_int_equal(files[0].bytes, 2 * piece.len);
        assert_string_equal(files[0].sha256, files[1].sha256);
        kind = local_output_commit(output, SLICE("{}\n"), err);
    }
    local_output_free(output);
    return kind;
}

static void
puts_chunks_and_answer_in_place(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    assert_true(temp_dir_make(&dir));
    char *out = temp_path(&dir, "out");

    assert_int_equal(write_split(out, SLICE("content"), NULL), ERR_OK);

    assert_true(holds(&dir, "out/trace.split/a.json.gz"));
    assert_true(holds(&dir, "out/trace.split/b.json.gz"));
    assert_true(holds(&dir, "out/trace.split/split.json"));
    assert_int_equal(count_names(out), 1);
    free(out);
}

static void
takes_the_place_of_an_earlier_split_and_refusal(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    assert_true(temp_dir_make(&dir));
    assert_true(temp_write(&dir, "trace.split/old", "x", 0));
    assert_int_equal(local_output_refuse(dir.path, BASE, SLICE("{}"), NULL), ERR_OK);
    assert_true(holds(&dir, "trace.refused.json"));
    assert_true(holds(&dir, "trace.split/old"));

    assert_int_equal(write_split(dir.path, SLICE("content"), NULL), ERR_OK);

    assert_false(holds(&dir, "trace.split/old"));
    assert_false(holds(&dir, "trace.refused.json"));
    assert_int_equal(count_names(dir.path), 1);
}

static void
leaves_nothing_of_a_split_that_was_given_up(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    struct local_output *output = NULL;
    struct split_answer answer = answer_of_two_chunks();
    assert_true(temp_dir_make(&dir));
    assert_int_equal(local_output_new(dir.path, BASE, &output, NULL), ERR_OK);
    struct split_sink sink = local_output_sink(output, &answer);
    assert_int_equal(sink.write(sink.state, 0, SLICE("half"), NULL), ERR_OK);
    assert_int_equal(count_names(dir.path), 1);

    local_output_free(output);

    assert_int_equal(count_names(dir.path), 0);
}

static void
says_that_a_folder_can_not_be_made(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    struct err err = {0};
    assert_true(temp_dir_make(&dir));
    assert_true(temp_write(&dir, "file", "x", 0));
    char *inside = temp_path(&dir, "file/out");

    assert_int_equal(write_split(inside, SLICE("x"), &err), ERR_RECORD);

    assert_string_equal(err.code, "output_failed");
    assert_non_null(strstr(err.msg, "file/out"));
    assert_int_equal(local_output_refuse(inside, BASE, SLICE("{}"), &err), ERR_RECORD);
    free(inside);
}

/* What a full disk does, too: writing stops in the middle of a file. */
static void
keeps_the_earlier_split_when_the_disk_is_full(void **state)
{
    (void)state;
    CLEANUP(temp_dir_done) struct temp_dir dir = {0};
    CLEANUP(buf_done) struct buf noise;
    struct err err = {0};
    struct rlimit before;
    uint64_t seed = 1;
    buf_init(&noise, SIZE_MAX);
    for (int i = 0; i < 100000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        buf_add(&noise, (const char *)&seed + 4, 4);
    }
    assert_true(temp_dir_make(&dir));
    assert_true(temp_write(&dir, "trace.split/old", "x", 0));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit small = {10000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);

    enum err_kind kind = write_split(dir.path, buf_slice(&noise), &err);

    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(kind, ERR_RECORD);
    assert_string_equal(err.code, "output_failed");
    assert_true(holds(&dir, "trace.split/old"));
    assert_int_equal(count_names(dir.path), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_chunks_and_answer_in_place),
        cmocka_unit_test(takes_the_place_of_an_earlier_split_and_refusal),
        cmocka_unit_test(leaves_nothing_of_a_split_that_was_given_up),
        cmocka_unit_test(says_that_a_folder_can_not_be_made),
        cmocka_unit_test(keeps_the_earlier_split_when_the_disk_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
