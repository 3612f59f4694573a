/* SPDX-License-Identifier: Apache-2.0 */
/* How much a test does, which the long run sets (tests/README.md). */
#pragma once

/* The number in the environment, or `usual` where it is not set. What is no number of at
 * least 1 ends the program: it would make a test that does nothing. */
int test_size(const char *variable, int usual);
