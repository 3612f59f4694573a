/* SPDX-License-Identifier: Apache-2.0 */
/* Real traces in a folder, beside DIR/expected (splitting.md 15). */
#pragma once

#include <stddef.h>

/* Compares every run of every file below DIR/expected; failures are printed. */
void split_files_run(const char *dir, size_t *passed, size_t *failed);
