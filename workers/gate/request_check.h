/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a request unusable for splitter and gate (gates.md 1.1). */
#pragma once

#include "err.h"
#include "request.h"

/*
 * ERR_RECORD "gate_request_malformed": a framework_kind that is not the one that
 * framework gives, an attempt that is neither 1 nor 2, a second one that does not say
 * what it follows.
 */
enum err_kind request_check(const struct request *request, struct err *err);
/* The second half alone: attempt and what it follows. */
enum err_kind request_check_attempt(int64_t attempt,
                                    struct slice retry_of,
                                    struct slice from_mode,
                                    struct slice source_warning_code,
                                    struct err *err);
