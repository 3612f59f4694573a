/* SPDX-License-Identifier: Apache-2.0 */
/* What a derived record says it came from. */
#include "origin.h"

#include "unit.h"

static const struct provenance base = {
    .worker = {"slow", 4},
    .version = {"0.1.0", 5},
    .generation = 3,
};
static const struct message message = {
    .topic = "heddle.tunings",
    .partition = 5,
    .offset = 77,
    .value = {"abc", 3},
};

static void
names_the_record_it_came_from(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    struct provenance provenance;

    assert_int_equal(provenance_of(&base, &message, &arena, &provenance, NULL), ERR_OK);

    const struct input_ref *ref = provenance.inputs.items;
    assert_int_equal(provenance.inputs.n, 1);
    assert_true(slice_is(ref->topic, "heddle.tunings"));
    assert_int_equal(ref->partition, 5);
    assert_int_equal(ref->offset, 77);
    assert_true(slice_is(
        ref->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    assert_true(slice_is(provenance.worker, "slow"));
    assert_int_equal(provenance.generation, 3);
}

static void
reports_that_memory_ran_out(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena;
    arena_init(&arena, 16);
    struct provenance provenance = {.generation = 9};
    struct err err;

    assert_int_equal(provenance_of(&base, &message, &arena, &provenance, &err),
                     ERR_FATAL);

    assert_string_equal(err.code, "out_of_memory");
    assert_int_equal(provenance.generation, 9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_record_it_came_from),
        cmocka_unit_test(reports_that_memory_ran_out),
    };
    return cmocka_run_group_tests_name("origin", tests, NULL, NULL);
}
