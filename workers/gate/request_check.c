/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a request unusable for splitter and gate. */
#include "request_check.h"

#include "amount.h"
#include "mode.h"

static enum err_kind
malformed(struct err *err, const char *why)
{
    return err_set(err, ERR_RECORD, "gate_request_malformed", "%s", why);
}

static bool
is_blank(struct slice text)
{
    return amount_trim(text).len == 0;
}

enum err_kind
request_check_attempt(int64_t attempt,
                      struct slice retry_of,
                      struct slice from_mode,
                      struct slice source_warning_code,
                      struct err *err)
{
    if (attempt != 1 && attempt != 2)
        return err_set(err, ERR_RECORD, "gate_request_malformed",
                       "attempt %lld is neither 1 nor 2", (long long)attempt);
    if (attempt == 2 &&
        (is_blank(retry_of) || is_blank(from_mode) || is_blank(source_warning_code)))
        return malformed(err, "attempt 2 names no retry_of, from_mode or "
                              "source_warning_code; the bound of the retry travels in "
                              "them");
    return ERR_OK;
}

enum err_kind
request_check(const struct request *request, struct err *err)
{
    enum framework_kind kind = framework_kind_of_name(request->framework_kind);
    if (request->framework_kind.data &&
        (kind == KIND_UNKNOWN || kind != framework_kind_of(request->framework)))
        return malformed(err, "framework_kind is not the one that framework gives; leave "
                              "it out");
    return request_check_attempt(request->attempt, request->retry_of, request->from_mode,
                                 request->source_warning_code, err);
}
