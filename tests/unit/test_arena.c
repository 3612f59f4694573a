/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one record: aligned, bounded, taken back at once. */
#include "arena.h"

#include "unit.h"

static void
gives_aligned_memory_that_does_not_overlap(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    char *last = NULL;

    for (size_t size = 1; size < 5000; size += 7) {
        char *data = arena_alloc(&arena, size);
        assert_non_null(data);
        assert_int_equal((uintptr_t)data % 16, 0);
        memset(data, (int)(size & 0xFF), size);
        if (last)
            assert_true(data != last);
        last = data;
    }
}

static void
refuses_more_than_its_ceiling(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena;
    arena_init(&arena, 1000);

    assert_non_null(arena_alloc(&arena, 900));
    assert_null(arena_alloc(&arena, 200));
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_calloc(&arena, SIZE_MAX / 2, 4));

    arena_reset(&arena);
    assert_non_null(arena_alloc(&arena, 900));
}

static void
gives_back_the_memory_of_a_huge_record(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;

    assert_non_null(arena_alloc(&arena, (size_t)100 << 20));
    arena_reset(&arena);

    assert_null(arena.first);
}

static void
keeps_what_it_is_told_to(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;
    for (int i = 0; i < 10; i++)
        assert_non_null(arena_alloc(&arena, (size_t)60 << 10)); /* a block each */
    struct arena_block *first = arena.first;

    arena_reset_keeping(&arena, (size_t)300 << 10);
    assert_int_equal(arena.taken, 0);
    assert_ptr_equal(arena.first, first);
    arena_reset_keeping(&arena, 0);

    assert_null(arena.first);
}

static void
copies_and_prints_terminated_text(void **state)
{
    (void)state;
    CLEANUP(arena_done) struct arena arena = ARENA_INIT;

    assert_string_equal(arena_copy(&arena, SLICE("abc")).data, "abc");
    assert_string_equal(arena_printf(&arena, "%s-%d", "x", 7).data, "x-7");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_aligned_memory_that_does_not_overlap),
        cmocka_unit_test(refuses_more_than_its_ceiling),
        cmocka_unit_test(gives_back_the_memory_of_a_huge_record),
        cmocka_unit_test(keeps_what_it_is_told_to),
        cmocka_unit_test(copies_and_prints_terminated_text),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
