/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's profiler traces, as torch.profiler writes them: serving runs of vLLM and
 * SGLang, a diffusion loop, and captures that went wrong. Each is made so that one story
 * of splitter and gate can be seen in it. Pure: the caller writes the files.
 */
#pragma once

#include "err.h"
#include "slice.h"

#include <stddef.h>

struct trace_file {
    const char *path;  /* below the root: FRAMEWORK/NAME.pt.trace.json; static */
    const char *story; /* what it shows, one line; static. NULL: it is no trace but the
                        * folder's request.json */
    struct slice content;
};

/* Takes one file, borrowed for the call; an error ends the generation. */
typedef enum err_kind
trace_file_fn(void *state, const struct trace_file *file, struct err *err);

/* Gives every file to `write`, always the same bytes. `*ret_n`: traces among them.
 * ERR_FATAL "out_of_memory", or what `write` returns. */
enum err_kind
trace_generate(trace_file_fn *write, void *state, size_t *ret_n, struct err *err);
