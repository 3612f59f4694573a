/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIR/BASE.split of local mode: the chunks and split.json, put in place whole or not at
 * all (splitting.md 11.7).
 */
#pragma once

#include "document.h"
#include "split.h"

struct local_output;

/* Makes DIR when it is not there and a folder to work in. ERR_RECORD "output_failed". */
enum err_kind local_output_new(const char *dir,
                               struct slice base,
                               struct local_output **ret_output,
                               struct err *err);
/* Deletes what was not put in place. Takes NULL. */
void local_output_free(struct local_output *output);
/* Takes the chunks of `answer`, borrowed: it is filled while they come. */
struct split_sink local_output_sink(struct local_output *output,
                                    const struct split_answer *answer);
/* Ends the chunk files; *ret_files, one for each chunk, lives as long as the output. */
enum err_kind local_output_close(struct local_output *output,
                                 const struct document_file **ret_files,
                                 struct err *err);
/* Writes split.json and puts all in place; an earlier refusal of that name goes. */
enum err_kind
local_output_commit(struct local_output *output, struct slice document, struct err *err);
/* DIR/BASE.refused.json; an earlier split stays. */
enum err_kind local_output_refuse(const char *dir,
                                  struct slice base,
                                  struct slice document,
                                  struct err *err);
