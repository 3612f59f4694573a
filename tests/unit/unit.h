/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test includes: cmocka with the headers it wants before itself. */
#pragma once

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

/* Whole lines, so that what a test prints and what cmocka prints never mix. */
__attribute__((constructor)) static void
print_whole_lines(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
}
