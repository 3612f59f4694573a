/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim check (events.md 2): bytes that lie outside their event, fetched and
 * verified. Known scheme: file://, below the folders of the setting claim.roots only;
 * symbolic links are followed before that is decided.
 */
#pragma once

#include "arena.h"
#include "err.h"
#include "options.h"
#include "origin.h"

struct claim_limits {
    struct option_list roots; /* empty: no file may be read */
    int64_t max_bytes;        /* of one claim */
    const char *malformed;    /* code of a claim that can't be one, static */
};

/*
 * Fetches `claim` into `arena`; `part` names it in messages.
 *
 * ERR_RECORD: `limits->malformed` (unknown scheme, outside the roots, negative size or
 * one above the limit), "claim_denied", "claim_mismatch" (size or SHA-256),
 * "record_too_large". ERR_RETRY: "claim_not_found", "claim_unavailable", which are the
 * final codes, too. The stage is gather.
 */
enum err_kind claim_fetch(const struct claim_limits *limits,
                          const struct claim *claim,
                          const char *part,
                          struct arena *arena,
                          struct slice *ret_bytes,
                          struct err *err);
