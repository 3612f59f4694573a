/* SPDX-License-Identifier: Apache-2.0 */
/* The worked example: which rows are slow, and what is said of them. */
#include "derive.h"

#include <math.h>

#include "unit.h"
#include "warning.h"

struct fixture {
    struct arena arena;
    struct emits out;
    struct tuner_entry tuners[2];
    struct audit_row row;
};

static const struct slow_config config = {.limit_ms = 60000};
static const struct provenance provenance = {0};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->out.arena = &f->arena;
    f->row = (struct audit_row){
        .run_key = SLICE("M/s/t#1"), .row = SLICE("{}"), .tuners = {f->tuners, 2}};
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    arena_done(&f->arena);
    free(f);
    return 0;
}

static void
took(struct fixture *f, double first_s, double second_s)
{
    f->tuners[0] = (struct tuner_entry){.has_elapsed_s = true, .elapsed_s = first_s};
    f->tuners[1] = (struct tuner_entry){.has_elapsed_s = true, .elapsed_s = second_s};
}

static enum err_kind
derive(struct fixture *f)
{
    return slow_derive(&f->row, &config, &provenance, 1000, &f->out, NULL);
}

static void
warns_when_the_tuners_together_are_over_the_limit(void **state)
{
    struct fixture *f = *state;
    took(f, 40, 20.5);

    assert_int_equal(derive(f), ERR_OK);

    assert_int_equal(f->out.n, 1);
    const struct warning *warning = f->out.items[0].value;
    assert_string_equal(f->out.items[0].topic, "heddle.warnings");
    assert_true(slice_is(f->out.items[0].key, "run_slow"));
    assert_int_equal(f->out.items[0].timestamp_ms, 1000);
    assert_true(slice_is(warning->subject, "M/s/t#1"));
    const struct warning_field *fields = warning->fields.items;
    assert_int_equal(warning->fields.n, 2);
    assert_true(slice_is(fields[0].json, "60.500"));
}

static void
says_nothing_at_the_limit(void **state)
{
    struct fixture *f = *state;
    took(f, 40, 20);

    assert_int_equal(derive(f), ERR_OK);

    assert_int_equal(f->out.n, 0);
}

static void
counts_no_time_that_is_no_time(void **state)
{
    struct fixture *f = *state;
    took(f, HUGE_VAL, nan(""));
    f->row.tuners.n = 2;

    assert_int_equal(derive(f), ERR_OK);
    took(f, -100, 59);
    assert_int_equal(derive(f), ERR_OK);

    assert_int_equal(f->out.n, 0);
}

static void
says_nothing_of_an_orphan_record(void **state)
{
    struct fixture *f = *state;
    took(f, 1000, 1000);
    f->row.row = (struct slice){0};

    assert_int_equal(derive(f), ERR_OK);

    assert_int_equal(f->out.n, 0);
}

static void
reports_that_memory_ran_out(void **state)
{
    struct fixture *f = *state;
    took(f, 1000, 1000);
    f->arena.max = 64;

    assert_int_equal(derive(f), ERR_FATAL);

    assert_int_equal(f->out.n, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(warns_when_the_tuners_together_are_over_the_limit,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_nothing_at_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counts_no_time_that_is_no_time, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(says_nothing_of_an_orphan_record, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reports_that_memory_ran_out, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("slow", tests, NULL, NULL);
}
