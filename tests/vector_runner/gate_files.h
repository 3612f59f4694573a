/* SPDX-License-Identifier: Apache-2.0 */
/* Real traces through split, gate and candidate table, beside DIR/expected-e2e. */
#pragma once

#include <stddef.h>

/* Compares what comes of every trace that DIR/expected-e2e speaks of, if there is one;
 * failures are printed. */
void gate_files_run(const char *dir, size_t *passed, size_t *failed);
