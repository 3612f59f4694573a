/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's traces: whole documents but for the one that is cut, always the same. */
#include "buf.h"
#include "json_scan.h"
#include "trace_gen.h"

#include "unit.h"

struct seen {
    size_t files;
    size_t whole;
    size_t with_kernels;
    size_t elsewhere; /* in no folder of a framework */
    size_t requests;  /* no traces */
    size_t limit;     /* files that are taken */
    struct buf all;
};

static enum err_kind
look(void *state, const struct trace_file *file, struct err *err)
{
    struct seen *seen = state;
    enum json_type type;
    if (seen->files == seen->limit)
        return err_set(err, ERR_FATAL, "disk_full", "no more");
    seen->files++;
    seen->whole += json_scan_check(file->content, &type, NULL) == ERR_OK;
    seen->with_kernels +=
        memmem(file->content.data, file->content.len, "\"cat\": \"kernel\"", 15) != NULL;
    seen->elsewhere += strchr(file->path, '/') == NULL;
    seen->requests += file->story == NULL;
    buf_addf(&seen->all, "%s\n", file->path);
    buf_add_slice(&seen->all, file->content);
    return ERR_OK;
}

static void
gives_the_same_traces_each_time(void **state)
{
    (void)state;
    struct seen first = {.limit = 100};
    struct seen second = {.limit = 100};
    struct err err;
    size_t n = 0;

    assert_int_equal(trace_generate(look, &first, &n, &err), ERR_OK);
    assert_int_equal(trace_generate(look, &second, &n, &err), ERR_OK);

    assert_int_equal(n + first.requests, first.files);
    assert_true(slice_equal(buf_slice(&first.all), buf_slice(&second.all)));
    assert_int_equal(first.elsewhere, 0);
    buf_done(&first.all);
    buf_done(&second.all);
}

static void
cuts_one_and_leaves_one_without_kernels(void **state)
{
    (void)state;
    struct seen seen = {.limit = 100};
    struct err err;
    size_t n = 0;

    assert_int_equal(trace_generate(look, &seen, &n, &err), ERR_OK);

    assert_int_equal(n, 6);
    assert_int_equal(seen.requests, 3);
    assert_int_equal(seen.whole, 5 + 3);
    assert_int_equal(seen.with_kernels, 5);
    buf_done(&seen.all);
}

static void
ends_when_a_trace_can_not_be_written(void **state)
{
    (void)state;
    struct seen seen = {.limit = 5};
    struct err err;
    size_t n = 0;

    assert_int_equal(trace_generate(look, &seen, &n, &err), ERR_FATAL);

    assert_string_equal(err.code, "disk_full");
    assert_int_equal(n, 2);
    buf_done(&seen.all);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_same_traces_each_time),
        cmocka_unit_test(cuts_one_and_leaves_one_without_kernels),
        cmocka_unit_test(ends_when_a_trace_can_not_be_written),
    };
    return cmocka_run_group_tests_name("trace_gen", tests, NULL, NULL);
}
