/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test includes: cmocka with the headers it wants before itself. */
#pragma once

/* cmocka's assertions end the test by longjmp() without being declared noreturn, so an
   optimizing compiler takes the NULL that assert_non_null() rules out for possible. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

#include "cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __clang_analyzer__
/* To the analyzer a failed assertion goes on; here it ends. */
#undef assert_non_null
#undef assert_true
#undef assert_int_equal
#define assert_non_null(pointer) ((pointer) ? (void)0 : abort())
#define assert_true(condition)   ((condition) ? (void)0 : abort())
#define assert_int_equal(a, b)   ((a) == (b) ? (void)0 : abort())
#endif

/* Whole lines, so that what a test prints and what cmocka prints never mix. */
__attribute__((constructor)) static void
print_whole_lines(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
}
