/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's input from a split record (gates.md 1.4). */
#pragma once

#include "input.h"
#include "split_record.h"

#include "arena.h"
#include "err.h"

/* Borrows from the record. ERR_FATAL "out_of_memory". */
enum err_kind gate_split_of_record(const struct split_record *record,
                                   struct arena *arena,
                                   struct gate_split *ret_split,
                                   struct err *err);
/* The request's own fields; framework and its kind as they are written. */
void gate_request_of_record(const struct request *request,
                            struct gate_request *ret_request);
