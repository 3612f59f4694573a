/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdicts of the end-to-end validation, which come later: `kept` of each entry, and
 * the counts in x (tuning-audit.md 9).
 */
#pragma once

#include "tuners.h"

struct validation {
    bool known; /* there is a verdict document */
    size_t n_kept, n_reverted, n_faults;
    struct carried decision;
    struct carried e2e_gain_pct;
    struct carried e2e_validated;
    struct carried micro_decision;
    struct carried status;
};

/*
 * Joins the verdict document, an object, with the entries by name and sets their `kept`.
 * Notes orphan_e2e, kept_ambiguous, kept_conflict. ERR_RECORD "record_too_large".
 */
enum err_kind kept_join(struct json_value e2e,
                        struct tuners *tuners,
                        struct notes *notes,
                        struct validation *ret_validation,
                        struct err *err);
/* Appends what x.e2e shows, without the braces around it. */
void validation_write_members(const struct validation *validation, struct buf *out);
