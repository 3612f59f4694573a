/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the claim check share: what is fetched, and how its errors read. */
#pragma once

#include "claim.h"
#include "claim_stream.h"

enum { CLAIM_SHOWN_BYTES = 300 };

/* A claim on its way in. Borrows everything. */
struct fetch {
    const struct claim_limits *limits;
    const struct claim *claim;
    const char *part;
    char shown[CLAIM_SHOWN_BYTES + 1]; /* its address without user, password and query */
};

void fetch_init(struct fetch *fetch,
                const struct claim_limits *limits,
                const struct claim *claim,
                const char *part);

enum err_kind
fetch_malformed(const struct fetch *fetch, const char *what, struct err *err);
enum err_kind fetch_denied(const struct fetch *fetch, const char *why, struct err *err);
/* ERR_RETRY `code`, in the end `code`, too; static. */
enum err_kind fetch_again(const struct fetch *fetch,
                          const char *code,
                          const char *why,
                          struct err *err);
enum err_kind fetch_by_errno(const struct fetch *fetch, int error, struct err *err);
enum err_kind fetch_mismatch(const struct fetch *fetch,
                             const struct claim_found *found,
                             struct err *err);
/* Nobody waits for it any more: what is left to read is not worth reading. */
bool fetch_is_cancelled(const struct fetch *fetch);
bool fetch_is_claimed(const struct fetch *fetch, const struct claim_found *found);

enum claim_scheme { CLAIM_FILE, CLAIM_HTTP, CLAIM_S3 };
enum err_kind
fetch_scheme(const struct fetch *fetch, enum claim_scheme *ret_scheme, struct err *err);

/* --- claim_file.c ------------------------------------------------------------------ */

struct stat;

/*
 * Opens the file of a file:// claim, which has the claimed size; -1 in *ret_fd on
 * failure. `ret_found` says what lies there instead.
 */
enum err_kind claim_file_open(const struct fetch *fetch,
                              int *ret_fd,
                              struct stat *ret_status,
                              struct claim_found *ret_found,
                              struct err *err);

/* --- claim_remote.c ---------------------------------------------------------------- */

/* Takes the next of the claimed bytes; an errno, or 0. */
typedef int claim_take_fn(void *state, struct slice piece);

/*
 * Transfers an http(s):// or s3:// claim and verifies it: `take` has got exactly the
 * claimed bytes when this succeeds. What is larger is read on up to `ceiling`, so that
 * `ret_found` can say what lies there.
 */
enum err_kind claim_remote_get(const struct fetch *fetch,
                               enum claim_scheme scheme,
                               int64_t ceiling,
                               claim_take_fn *take,
                               void *state,
                               struct claim_found *ret_found,
                               struct err *err);
