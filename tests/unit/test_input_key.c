/* SPDX-License-Identifier: Apache-2.0 */
/* The input key: its order of sources, and what counts as a workspace path. */
#include "input_key.h"

#include "unit.h"

static void
assert_key(struct input_key_source source, const char *want)
{
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;

    struct slice key = input_key_make(&source, &arena);

    assert_int_equal(key.len, strlen(want));
    assert_memory_equal(key.data, want, key.len);
}

static void
takes_model_session_and_task_of_the_workspace(void **state)
{
    (void)state;
    assert_key(
        (struct input_key_source){
            SLICE("/nfs/claw/M/S/runs/gemm_tuning/t//"), SLICE("attempt"), {0}, {0}},
        "M/S/t");
    assert_key((struct input_key_source){.workspace = SLICE("M/S/runs/gemm_tuning/t")},
               "M/S/t");
}

static void
reads_a_line_feed_at_the_end_as_the_reference_does(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"M/S/runs/gemm_tuning/T\n", "M/S/T\n"},
        {"M/S/runs/gemm_tuning/T/\n", "M/S/T"},
        {"M/S/runs/gemm_tuning/T//\n", "M/S/T"},
        {"M/S/runs/gemm_tuning/\n", "M/S/\n"},
        {"M/S/runs/gemm_tuning/\n/", "M/S/\n"},
        {"\n/\n/runs/gemm_tuning/\n", "\n/\n/\n"},
        {"M/S/runs/gemm_tuning/T\n/\n", "M/S/T\n"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_key((struct input_key_source){.workspace = slice_of(pairs[i][0])},
                   pairs[i][1]);
}

static void
takes_the_whole_workspace_when_it_lies_elsewhere(void **state)
{
    (void)state;
    static const char *const others[] = {
        "/tmp/x",
        "S/runs/gemm_tuning/t",
        "/S/runs/gemm_tuning/t",
        "M//runs/gemm_tuning/t",
        "M/S/runs/gemm_tuning/",
        "M/S/runs/gemm_tuning//",
        "M/S//runs/gemm_tuning/t",
        "M/S/runs/gemm_tuning/t/u",
        "M/S/runs//gemm_tuning/t",
        "/",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_key((struct input_key_source){.workspace = slice_of(others[i]),
                                             .run_id = SLICE("r")},
                   others[i]);
}

static void
falls_back_to_the_ids_and_then_to_the_bytes(void **state)
{
    (void)state;
    struct slice sha = SLICE("0123456789abcdef0123456789abcdef"
                             "ffffffffffffffffffffffffffffffff");
    assert_key((struct input_key_source){SLICE(""), SLICE("a"), SLICE("r"), sha}, "a");
    assert_key((struct input_key_source){SLICE(""), SLICE(""), SLICE("r"), sha}, "r");
    assert_key((struct input_key_source){SLICE(""), {0}, {0}, sha},
               "sha256:0123456789abcdef0123456789abcdef");
}

static void
names_the_trace_by_model_and_session(void **state)
{
    (void)state;
    struct workspace_parts parts;

    assert_true(workspace_split(SLICE("/a/M/S/runs/gemm_tuning/t"), &parts));

    assert_true(slice_is(parts.trace, "M/S"));
    assert_true(slice_is(parts.task, "t"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_model_session_and_task_of_the_workspace),
        cmocka_unit_test(reads_a_line_feed_at_the_end_as_the_reference_does),
        cmocka_unit_test(takes_the_whole_workspace_when_it_lies_elsewhere),
        cmocka_unit_test(falls_back_to_the_ids_and_then_to_the_bytes),
        cmocka_unit_test(names_the_trace_by_model_and_session),
    };
    return cmocka_run_group_tests_name("input_key", tests, NULL, NULL);
}
