/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that an older splitter left, as the gate's input (gates.md 8). */
#pragma once

#include "arena.h"
#include "buf.h"
#include "err.h"
#include "input.h"

enum { GATE_FOLDER_DEPTH = 32, GATE_FOLDER_FILES = 1000000 };
/* Largest file that is read whole. */
#define GATE_FILE_MAX_BYTES ((size_t)1 << 30)

/* The whole file; "-": standard input. ERR_FATAL EXIT_USAGE "file_unreadable". */
enum err_kind gate_read_file(const char *path, struct buf *out, struct err *err);
/*
 * Chunk files, split_manifest.json and execution_details.csv of `dir`. Everything lies in
 * `arena`. ERR_FATAL EXIT_USAGE "folder_unreadable", "manifest_malformed"; what of the
 * table can't be read is said in `ret_remark` (null: nothing): its chunks are unmeasured.
 */
enum err_kind gate_folder_read(const char *dir,
                               struct arena *arena,
                               struct gate_split *ret_split,
                               struct slice *ret_remark,
                               struct err *err);
