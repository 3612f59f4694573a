/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim check (events.md 2): bytes that lie outside their event, fetched and
 * verified. Schemes: file://, below the folders of the setting claim.roots only, symbolic
 * links followed before that is decided; http(s)://, up to three redirects, never from
 * https to http; s3://.
 *
 * Errors of all functions here, stage gather (splitting.md 13.1):
 * ERR_RECORD `limits->malformed` (unknown scheme, outside the roots, negative size, an
 * address that names nothing), "claim_denied", "claim_mismatch". ERR_RETRY
 * "claim_not_found", and "claim_unavailable" for all other trouble, which are the final
 * codes, too.
 */
#pragma once

#include "arena.h"
#include "digest.h"
#include "err.h"
#include "options.h"
#include "origin.h"
#include "remote.h"

#include <stdatomic.h>
#include <stdbool.h>

struct claim_limits {
    struct option_list roots;             /* empty: no file may be read */
    int64_t max_bytes;                    /* of one claim that is taken into memory */
    const char *malformed;                /* code of a claim that can't be one, static */
    const struct remote_settings *remote; /* NULL: no http(s):// and no s3:// */
    int64_t
        deadline_ms; /* of transfers, on clock_monotonic_ms(); 0: only a stall ends one */
    const char *tmp_dir;          /* of spools; NULL: $TMPDIR, else /var/tmp */
    int64_t max_spool_bytes;      /* of one spool */
    const atomic_bool *cancelled; /* ends transfers soon once it is set; NULL: never */
};

/*
 * Fetches `claim` into `arena`; `part` names it in messages. Further errors: a size above
 * `max_bytes` is `limits->malformed`, ERR_RECORD "record_too_large" without room.
 */
enum err_kind claim_fetch(const struct claim_limits *limits,
                          const struct claim *claim,
                          const char *part,
                          struct arena *arena,
                          struct slice *ret_bytes,
                          struct err *err);
