/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate of the trace of a split record (gates.md 9.1). */
#pragma once

#include "arena.h"
#include "err.h"
#include "split_record.h"
#include "verdict.h"

/*
 * The field of a verdict of attempt 1; `*ret_has` false: nothing of the trace was read.
 * `framework` is the chosen one, `version` that of the worker; both are borrowed.
 * ERR_FATAL "out_of_memory".
 */
enum err_kind certify_record(const struct split_record *record,
                             struct slice framework,
                             struct slice version,
                             struct arena *arena,
                             bool *ret_has,
                             struct selfcert *ret_selfcert,
                             struct err *err);
